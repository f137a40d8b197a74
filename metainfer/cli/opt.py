"""`metainfer-opt`: read `.mispec` or IR, run passes, print IR. Quiet unless something is wrong."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.cli.boundary import DONE, Reproducer, end_on_signals, guarded
from metainfer.ir.diagnostics import error

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

STDIN = "<stdin>"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `metainfer-opt` on `argv` (default: the process's); the exit code."""
    end_on_signals()
    arguments = _argument_parser().parse_args(argv)
    run = _Run(arguments)
    return guarded(run, sources=run.sources, reproducer=run.reproducer, traceback=True)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="metainfer-opt",
        description="Run passes on a .mispec file or on IR, and print the IR that results.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        nargs="?",
        default="-",
        help="FILE.mispec, FILE.mlir, or - for IR on standard input (default)",
    )
    parser.add_argument(
        "-p",
        "--passes",
        default="",
        metavar="PASSES",
        help="the passes to run, in order: 'pass,pass{option=1 other=a,b}'",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="write here, not to stdout"
    )
    parser.add_argument("--list-passes", action="store_true", help="name every pass and exit")
    parser.add_argument(
        "--print-op-generic", action="store_true", help="print every op in generic form"
    )
    parser.add_argument("--print-debuginfo", action="store_true", help="print locations")
    parser.add_argument("--ckb", type=Path, metavar="DIR", help="contracts to use (default: ours)")
    return parser


class _Run:
    """One run of the tool; remembers what it read, for diagnostics and the reproducer."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.sources: dict[str, str] = {}
        self.input: str | None = None

    def __call__(self) -> int:
        from metainfer.cli.pipeline import SOURCE, describe_passes, parse_passes
        from metainfer.passes.pipelines import PASSES

        if self.arguments.list_passes:
            print(describe_passes(PASSES))
            return DONE

        from metainfer.driver.session import compiler_context
        from metainfer.passes.manager import run_passes

        self.sources[SOURCE] = self.arguments.passes
        passes = parse_passes(self.arguments.passes, PASSES)
        ctx = compiler_context(self.arguments.ckb)
        module = self._read(ctx)
        run_passes(ctx, module, passes)
        self._write(module)
        return DONE

    def _read(self, ctx: Context) -> ModuleOp:
        from metainfer.driver.source import decode_source, parse_source, read_source

        name = self.arguments.file
        if name == "-":
            name, raw = STDIN, sys.stdin.buffer.read()
        else:
            raw = read_source(Path(name))
        self.input = text = decode_source(raw, name)
        if name == STDIN:
            self.sources[STDIN] = text
        return parse_source(text, name, ctx)

    def _write(self, module: ModuleOp) -> None:
        from metainfer.ir.text import print_module

        text = print_module(
            module,
            generic=self.arguments.print_op_generic,
            locations=self.arguments.print_debuginfo,
        )
        if self.arguments.output is None:
            sys.stdout.write(text)
            return

        from metainfer.files import write_atomic

        try:
            write_atomic(self.arguments.output, text)
        except OSError as problem:
            raise error(f"cannot write {self.arguments.output}: {problem.strerror}") from problem

    def reproducer(self) -> Reproducer | None:
        """The input and the command that met the internal error, unless nothing was read yet."""
        if self.input is None:
            return None
        command = ["metainfer-opt", "%s", "-p", self.arguments.passes]
        if self.arguments.ckb:
            command += ["--ckb", str(self.arguments.ckb)]
        suffix = ".mispec" if Path(self.arguments.file).suffix == ".mispec" else ".mlir"
        return Reproducer(suffix, self.input, shlex.join(command))


if __name__ == "__main__":
    sys.exit(main())
