"""`metainfer-gui`: xDSL's terminal program for trying passes, with our dialects, passes and specs.

Needs `pip install 'metainfer[gui]'`. xDSL's own `xdsl-gui` does not look at entry points.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.cli.boundary import DONE, guarded
from metainfer.ir.diagnostics import error

if TYPE_CHECKING:
    from xdsl.interactive.app import InputApp


def main(argv: Sequence[str] | None = None) -> int:
    """Open the program on a file; the exit code."""
    parser = argparse.ArgumentParser(prog="metainfer-gui", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="FILE.mispec or FILE.mlir")
    parser.add_argument("-p", "--passes", default="", help="passes to start with")
    given = parser.parse_args(argv)
    sources: dict[str, str] = {}

    def show() -> int:
        application(given.file, given.passes, sources).run()
        return DONE

    return guarded(show, sources=sources)


def application(path: Path | None, passes: str, sources: dict[str, str]) -> InputApp:
    """The program with everything that `xdsl-opt` would know too; a spec is shown as its IR."""
    try:
        from xdsl.interactive.app import InputApp
    except ImportError as problem:
        raise error(
            f"metainfer-gui needs the package {problem.name}", help="pip install 'metainfer[gui]'"
        ) from problem

    from xdsl.universe import XDSL_UNIVERSE

    from metainfer.cli.pipeline import SOURCE, parse_passes
    from metainfer.cli.universe import UNIVERSE
    from metainfer.driver.session import reading_context
    from metainfer.driver.source import read_module
    from metainfer.ir.text import print_module
    from metainfer.passes.pipelines import PASSES, PIPELINES

    sources[SOURCE] = passes
    known = XDSL_UNIVERSE.all_passes | UNIVERSE.all_passes
    return InputApp(
        tuple((XDSL_UNIVERSE.all_dialects | UNIVERSE.all_dialects).items()),
        tuple((name, load()) for name, load in sorted(known.items())),
        None if path is None else str(path),
        None if path is None else print_module(read_module(path, reading_context())),
        parse_passes(passes, PASSES, PIPELINES) if passes else (),
    )


if __name__ == "__main__":
    sys.exit(main())
