"""`metainfer-opt`: read `.mispec` or IR, run passes, print IR. Quiet unless something is wrong."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.cli.boundary import DONE, Reproducer, end_on_signals, guarded
from metainfer.cli.opt_arguments import SPLIT, argument_parser, mlir_spelling
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, error

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from metainfer.cli.opt_instruments import Watchers
    from metainfer.cli.pipeline import PassTable
    from metainfer.passes.context import CompilerContext

STDIN = "<stdin>"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `metainfer-opt` on `argv` (default: the process's); the exit code."""
    end_on_signals()
    given = sys.argv[1:] if argv is None else argv
    run = _Run(argument_parser().parse_args([mlir_spelling(a) for a in given]))
    return guarded(run, sources=run.sources, reproducer=run.reproducer, traceback=True)


class _Run:
    """One run of the tool; remembers what it read, for diagnostics and the reproducer."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.sources: dict[str, str] = {}
        self.input: str | None = None

    def __call__(self) -> int:
        if (text := self._information()) is not None:
            print(text)
            return DONE
        if self.arguments.equiv:
            return self._compare()
        name, text = self._read()
        self.input = text
        if self.arguments.run_reproducer:
            self._take_reproducer(text, name)
        if self.arguments.verify_diagnostics:
            return self._verify_diagnostics(name, text)
        return self._process_all(name, text)

    def _information(self) -> str | None:
        """What a flag asks about the tool itself; None if nothing."""
        from metainfer.cli import opt_information as information

        arguments = self.arguments
        if arguments.list_passes:
            return information.list_passes(self._table)
        if arguments.list_pipelines:
            from metainfer.passes.pipelines import PIPELINES, SUMMARIES

            return information.list_pipelines(PIPELINES, SUMMARIES)
        if arguments.help_pass:
            return information.help_pass(arguments.help_pass, self._table)
        return information.show_dialects() if arguments.show_dialects else None

    # === Input ===

    def _read(self) -> tuple[str, str]:
        """Name and text of the input."""
        from metainfer.driver.source import decode_source, read_source

        name = self.arguments.file
        if name != "-":
            return name, decode_source(read_source(Path(name)), name)
        text = decode_source(sys.stdin.buffer.read(), STDIN)
        self.sources[STDIN] = text
        return STDIN, text

    def _take_reproducer(self, text: str, name: str) -> None:
        """Let the input's header say what to run; it may name passes and checks, nothing else."""
        from metainfer.cli.opt_instruments import REPRODUCER_FLAGS
        from metainfer.passes.instruments.reproducer import reproducer_arguments

        given = reproducer_arguments(text, name)
        for argument in given:
            flag = argument.partition("=")[0]
            if argument.startswith("-") and flag not in REPRODUCER_FLAGS:
                raise error(f"a reproducer may not use {flag}", Place(name, 1, 1))
        self.arguments = argument_parser().parse_args([*given, name], self.arguments)

    def _chunks(self, text: str) -> list[str]:
        """The inputs in `text`, each after as many empty lines as stand before it in the file."""
        if not self.arguments.split_input_file:
            return [text]
        chunks, first = [], 0
        lines = text.split("\n")
        ends = [n for n, line in enumerate(lines) if line.rstrip() == SPLIT]
        for end in [*ends, len(lines)]:
            chunks.append("\n" * first + "\n".join(lines[first:end]))
            first = end + 1
        return chunks

    # === Work ===

    @cached_property
    def _table(self) -> PassTable:
        from metainfer.passes.pipelines import PASSES

        table = dict(PASSES)
        if self.arguments.load_pass_plugin:
            from metainfer.cli.opt_plugin import load_plugin

            for path in self.arguments.load_pass_plugin:
                table |= load_plugin(path)
        return table

    def _passes(self) -> tuple[ModulePass, ...]:
        from metainfer.cli.pipeline import SOURCE, parse_passes
        from metainfer.passes.pipelines import PIPELINES

        if not self.arguments.passes:
            return ()
        self.sources[SOURCE] = self.arguments.passes
        passes = parse_passes(self.arguments.passes, self._table, PIPELINES)
        if self.arguments.dump_pass_pipeline:
            text = ",".join(str(one.spec(include_default=True)) for one in passes)
            print(f"Pass pipeline:\n  {text}", file=sys.stderr)
        return passes

    def _context(self, passes: Sequence[ModulePass]) -> CompilerContext:
        from metainfer.driver.session import compiler_context, reading_context
        from metainfer.passes.counters import Rewrites

        # Only a pass that fills kernels asks for those who write and judge them.
        fills = any(one.name == "fill-kernels" for one in passes)
        ckb = self.arguments.ckb
        ctx = compiler_context(ckb, self.arguments.cc) if fills else reading_context(ckb)
        ctx.allow_unregistered = self.arguments.allow_unregistered_dialect
        ctx.rewrites = Rewrites(self.arguments.rewrite_limit)
        return ctx

    def _process_all(self, name: str, text: str) -> int:
        """Each part of the input in turn; one that is wrong does not keep the others back."""
        outputs: list[str] = []
        problems: list[Diagnostic] = []
        code = DONE
        for chunk in self._chunks(text):
            try:
                code = max(code, self._process(name, chunk, outputs))
            except DiagnosticError as problem:
                problems += problem.diagnostics
        if outputs:
            self._write(f"{SPLIT}\n".join(outputs))
        if problems:
            raise DiagnosticError(*problems)
        return code

    def _process(self, name: str, text: str, outputs: list[str]) -> int:
        """Do what the flags ask with one input; what is to be written goes to `outputs`."""
        from metainfer.cli import opt_modes as modes
        from metainfer.cli.opt_instruments import watchers

        passes = self._passes()
        ctx = self._context(passes)
        watching = watchers(self.arguments, ctx.rewrites, self._table)
        module = self._parse(text, name, ctx, watching)
        if self.arguments.bisect_passes:
            return modes.bisect(self.arguments, ctx, module, passes)
        if self.arguments.reduce:
            outputs.append(modes.reduce(self.arguments, ctx, module, passes))
            return DONE
        try:
            self._run_passes(ctx, module, passes, watching)
            if self.arguments.run:
                modes.run(self.arguments, ctx, module)
            elif self.arguments.barriers:
                modes.barriers(module)
            else:
                outputs.append(self._print(module, watching))
        finally:
            watching.report()
        return DONE

    def _parse(self, text: str, name: str, ctx: CompilerContext, watching: Watchers) -> ModuleOp:
        from metainfer.driver.source import parse_source

        if watching.timer is None:
            return parse_source(text, name, ctx)
        with watching.timer.phase("Parser"):
            return parse_source(text, name, ctx)

    def _run_passes(
        self,
        ctx: CompilerContext,
        module: ModuleOp,
        passes: Sequence[ModulePass],
        watching: Watchers,
    ) -> None:
        from metainfer.cli.opt_instruments import checks
        from metainfer.passes.manager import run_passes

        run_passes(
            ctx,
            module,
            passes,
            instruments=watching.instruments,
            checks=checks(self.arguments),
        )

    def _print(self, module: ModuleOp, watching: Watchers) -> str:
        from metainfer.cli.opt_instruments import view_of
        from metainfer.ir.diagnostics import did_you_mean
        from metainfer.ir.printing import symbol_names

        known = symbol_names(module) if self.arguments.only else ()
        for name in self.arguments.only:
            if name not in known:
                raise error(f"--only @{name}: no such symbol", help=did_you_mean(name, known))
        if watching.timer is None:
            return view_of(self.arguments).text(module)
        with watching.timer.phase("Output"):
            return view_of(self.arguments).text(module)

    def _verify_diagnostics(self, name: str, text: str) -> int:
        """Process every part, print nothing, and refuse what was not expected to come."""
        from metainfer.ir.expected import expected_diagnostics, mismatches

        found: list[Diagnostic] = []
        for chunk in self._chunks(text):
            came: tuple[Diagnostic, ...] = ()
            try:
                self._process(name, chunk, [])
            except DiagnosticError as problem:
                came = problem.diagnostics
            found += mismatches(expected_diagnostics(chunk, name), came, name)
        if found:
            raise DiagnosticError(*found)
        return DONE

    def _compare(self) -> int:
        from metainfer.cli import opt_modes as modes
        from metainfer.driver.source import read_module
        from metainfer.passes.manager import run_passes

        def read(path: Path) -> ModuleOp:
            passes = self._passes()
            ctx = self._context(passes)
            module = read_module(path, ctx)
            run_passes(ctx, module, passes)
            return module

        left, right = self.arguments.equiv
        modes.equivalence(self.arguments, read(left), read(right), (left, right))
        return DONE

    def _write(self, text: str) -> None:
        if self.arguments.output is None:
            sys.stdout.write(text)
            sys.stdout.flush()  # before what standard error may get
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

        from metainfer.cli.opt_instruments import check_flags

        command = ["metainfer-opt", "%s", "-p", self.arguments.passes]
        command += check_flags(self.arguments)
        if self.arguments.ckb:
            command += ["--ckb", str(self.arguments.ckb)]
        suffix = ".mispec" if Path(self.arguments.file).suffix == ".mispec" else ".mlir"
        return Reproducer(suffix, self.input, shlex.join(command))


if __name__ == "__main__":
    sys.exit(main())
