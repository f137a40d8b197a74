"""Passes from a Python file that the user names: `--load-pass-plugin FILE.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import error

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def load_plugin(path: Path) -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes in the `PASSES` of a file, as a table of passes; the file's code is run.

    Raises DiagnosticError for a file that is not there or lists no passes. What its code raises
    comes through.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    from xdsl.passes import ModulePass

    if not path.is_file():
        raise error(f"--load-pass-plugin {path}: no such file")
    spec = spec_from_file_location(f"metainfer_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise error(f"--load-pass-plugin {path}: no Python file")
    module = module_from_spec(spec)
    # dataclasses and the help of passes look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    listed = getattr(module, "PASSES", None)
    if not isinstance(listed, list | tuple) or not all(
        isinstance(one, type) and issubclass(one, ModulePass) for one in listed
    ):
        raise error(
            f"--load-pass-plugin {path}: it lists no passes", help="write PASSES = [MyPass, ...]"
        )
    return {one.name: partial(_same, one) for one in listed}


def _same(one: type[ModulePass]) -> type[ModulePass]:
    return one
