"""From flags to what watches the passes: dumps, measures, reproducer, checks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.ir.printing import View

if TYPE_CHECKING:
    from metainfer.cli.pipeline import PassTable
    from metainfer.passes.counters import Rewrites
    from metainfer.passes.instruments.base import Check, Instrument
    from metainfer.passes.instruments.statistics import CountOps
    from metainfer.passes.instruments.timing import Timer


def to_stderr(text: str) -> None:
    """Where dumps and reports go."""
    sys.stderr.write(text)


def view_of(arguments: argparse.Namespace) -> View:
    """How modules are printed, in dumps as in the output."""
    return View(
        generic=arguments.print_op_generic,
        locations=arguments.print_debuginfo,
        only=arguments.only,
        elide_bodies=arguments.elide_bodies,
        users=arguments.print_value_users,
    )


@dataclass
class Watchers:
    """The instruments of one run; those that report keep what they report here."""

    instruments: list[Instrument] = field(default_factory=list)
    timer: Timer | None = None
    statistics: CountOps | None = None

    def report(self) -> None:
        """Print what was measured."""
        if self.statistics is not None:
            to_stderr(self.statistics.report())
        if self.timer is not None:
            to_stderr(self.timer.report())


def watchers(arguments: argparse.Namespace, rewrites: Rewrites, table: PassTable) -> Watchers:
    """The instruments that the flags ask for; none is imported that is not."""
    found = Watchers()
    found.instruments += _dumps(arguments, table)
    if arguments.crash_reproducer:
        from metainfer.passes.instruments.reproducer import Reproduce

        write = _writer(arguments.crash_reproducer)
        found.instruments.append(Reproduce(write, check_flags(arguments)))
    if arguments.statistics:
        from metainfer.passes.instruments.statistics import CountOps

        found.statistics = CountOps(rewrites)
        found.instruments.append(found.statistics)
    if arguments.timing:
        from metainfer.passes.instruments.timing import TimePasses, Timer

        found.timer = Timer()
        found.instruments.append(TimePasses(found.timer))
    return found


def _dumps(arguments: argparse.Namespace, table: PassTable) -> Iterable[Instrument]:
    before = _selection(arguments.print_ir_before, arguments.print_ir_before_all, table)
    after = _selection(arguments.print_ir_after, arguments.print_ir_after_all, table)
    changes = arguments.print_ir_after_change
    if before or after or changes or arguments.print_ir_after_failure:
        from metainfer.passes.instruments.dumps import Everything, PrintIR

        yield PrintIR(
            view_of(arguments),
            to_stderr,
            before,
            Everything() if changes and not after else after,
            only_changes=changes,
            on_failure=arguments.print_ir_after_failure,
        )
    if arguments.print_ir_diff:
        from metainfer.passes.instruments.dumps import PrintDiff

        yield PrintDiff(view_of(arguments), to_stderr)
    if arguments.print_ir_tree_dir:
        from metainfer.passes.instruments.dumps import DumpTree

        yield DumpTree(arguments.print_ir_tree_dir, view_of(arguments))


def _selection(names: Sequence[str], everything: bool, table: PassTable) -> Container[str]:
    for name in names:
        if name not in table:
            raise error(f"unknown pass '{name}' to print around", help=did_you_mean(name, table))
    if everything:
        from metainfer.passes.instruments.dumps import Everything

        return Everything()
    return names


def checks(arguments: argparse.Namespace) -> list[Check]:
    """Fresh checks for one run."""
    found: list[Check] = []
    if arguments.verify_each:
        from metainfer.driver.program_check import CheckProgram
        from metainfer.passes.instruments.checks import Verify

        found += [Verify(), CheckProgram()]
    if arguments.verify_roundtrip:
        from metainfer.passes.instruments.checks import RoundTrip

        found.append(RoundTrip())
    if arguments.validate:
        from metainfer.driver.validation import Validate

        found.append(Validate(arguments.seed))
    return found


def check_flags(arguments: argparse.Namespace) -> list[str]:
    """The flags that make a run fail where another would not, for a reproducer's header."""
    flags = [] if arguments.verify_each else ["--verify-each=0"]
    flags += ["--verify-roundtrip"] if arguments.verify_roundtrip else []
    flags += ["--validate"] if arguments.validate else []
    flags += [f"--seed={arguments.seed}"] if arguments.seed else []
    if arguments.rewrite_limit is not None:
        flags.append(f"--rewrite-limit={arguments.rewrite_limit}")
    if arguments.allow_unregistered_dialect:
        flags.append("--allow-unregistered-dialect")
    return flags


REPRODUCER_FLAGS = (
    "-p",
    "--verify-each",
    "--verify-roundtrip",
    "--validate",
    "--seed",
    "--rewrite-limit",
    "--allow-unregistered-dialect",
    "--ckb",
)
"""What the header of a reproducer may say; no flag of them writes a file or runs a program."""


def _writer(path: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        from metainfer.files import write_atomic

        try:
            write_atomic(path, text)
        except OSError as problem:
            raise error(f"cannot write {path}: {problem.strerror}") from problem
        to_stderr(
            f"wrote {path}; to meet the failure again: metainfer-opt --run-reproducer {path}\n"
        )

    return write
