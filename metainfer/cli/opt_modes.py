"""What `metainfer-opt` does with a module besides printing it: bisect, reduce, run, compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.cli.boundary import DONE, REJECTED
from metainfer.cli.opt_instruments import check_flags, checks, to_stderr
from metainfer.ir.diagnostics import DiagnosticError, error, render

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from metainfer.driver.bisect import Checks, Failure
    from metainfer.passes.context import CompilerContext


def bisect(
    arguments: argparse.Namespace,
    ctx: CompilerContext,
    module: ModuleOp,
    passes: Sequence[ModulePass],
) -> int:
    """Print which pass fails first, and where; REJECTED if one does."""
    from metainfer.driver.bisect import bisect_passes

    found = bisect_passes(ctx, module, passes, _checks(arguments, last_only=False))
    if found is None:
        print(f"no pass fails: {len(passes)} ran and every check held")
        return DONE
    failure = found.failure
    if failure.step is None:
        print("the input fails before any pass")
    else:
        print(f"pass {failure.step.number} of {len(passes)} fails first: {failure.step.one}")
    print(_problem(failure))
    if found.rewrite is not None:
        where = f" at {found.rewrite.place}" if found.rewrite.place else ""
        print(
            f"rewrite {found.rewrite.number} of {found.rewrites} is the first that breaks it: "
            f"'{found.rewrite.rule}'{where}"
        )
    return REJECTED


def _checks(arguments: argparse.Namespace, *, last_only: bool) -> Checks:
    """Makes the checks that the flags ask for, with the user's own command among them."""
    from metainfer.driver.bisect import Command

    if arguments.check_command is None:
        return lambda: checks(arguments)
    return lambda: [*checks(arguments), Command(arguments.check_command, last_only)]


SHOWN = 3
"""Diagnostics of one failure that are shown."""


def _problem(failure: Failure) -> str:
    problem = failure.problem
    if not isinstance(problem, DiagnosticError):
        return f"{type(problem).__name__}: {problem}".split("\n", 1)[0]
    lines = [render(one) for one in problem.diagnostics[:SHOWN]]
    more = len(problem.diagnostics) - SHOWN
    return "\n".join([*lines, f"... and {more} more"] if more > 0 else lines)


def reduce(
    arguments: argparse.Namespace,
    ctx: CompilerContext,
    module: ModuleOp,
    passes: Sequence[ModulePass],
) -> str:
    """The text of the smallest module that fails alike, under the command that shows it."""
    from metainfer.driver.reduce import failing_text, reduce_failure
    from metainfer.passes.instruments.reproducer import reproducer_text

    make_checks = _checks(arguments, last_only=True)
    found = reduce_failure(ctx, module, passes, make_checks)
    body = failing_text(ctx, found, make_checks)
    to_stderr(f"{found.ops_before} ops reduced to {found.ops_after} in {found.tries} tries\n")
    summary = _problem(found.failure).splitlines()[0]
    if arguments.check_command is not None:
        summary += f"\nchecked by: {arguments.check_command}"
    return reproducer_text(body, found.passes, check_flags(arguments), summary)


def run(arguments: argparse.Namespace, ctx: CompilerContext, module: ModuleOp) -> None:
    """Interpret `--run @f` and print its results, or save them to a `.npz` file."""
    from metainfer.driver.running import Call, Traced, describe, result_arrays, run_function

    call = Call(
        arguments.run,
        arguments.arg,
        arguments.mode,
        arguments.layer,
        dict(arguments.dim),
        arguments.seed,
        arguments.weights == "random",
    )
    trace: list[Traced] | None = [] if arguments.trace else None
    results = run_function(module, ctx, call, trace)
    for line in trace or ():
        to_stderr(f"{line}\n")
    if arguments.output is None:
        for number, value in enumerate(results):
            print(f"result {number}: {describe(value)}")
        return
    import numpy as np

    try:
        with open(arguments.output, "wb") as file:
            np.savez(file, **result_arrays(results))  # type: ignore[arg-type]
    except OSError as problem:
        raise error(f"cannot write {arguments.output}: {problem.strerror}") from problem


def barriers(module: ModuleOp) -> None:
    """Print a row for each barrier of the program."""
    from metainfer.cli.table import format_table
    from metainfer.verify.engine.barriers import barrier_table
    from metainfer.verify.engine.steps import programs_of

    if not programs_of(module):
        raise error("the module has no program", help="run schedule first")
    print(format_table([row.as_dict() for row in barrier_table(module)]))


def equivalence(
    arguments: argparse.Namespace,
    left: ModuleOp,
    right: ModuleOp,
    names: tuple[Path, Path],
) -> None:
    """Print what was compared, or raise with the first op that differs in each function."""
    from metainfer.driver.equivalence import compare_modules

    wanted = [arguments.run] if arguments.run else []
    found = compare_modules(left, right, wanted, arguments.seed)
    if not found.pairs:
        raise error(f"{names[0]} and {names[1]} have no function in common")
    if found.differences:
        told = {d.op or d: d.diagnostic() for d in found.differences}
        raise DiagnosticError(*told.values())
    shown = ", ".join(f"@{a}" if a == b else f"@{a} and @{b}" for a, b in found.pairs)
    sys.stdout.write(f"equal on {found.calls} calls: {shown}\n")
