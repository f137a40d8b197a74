"""Running passes: each one checks what it needs, and the module is verified after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note
from metainfer.passes.base import STAGE, MetaPass
from metainfer.passes.instruments.base import Check, Instrument, Step
from metainfer.passes.instruments.checks import Verify

__all__ = ["STAGE", "run_passes", "stage_of"]


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    instruments: Sequence[Instrument] = (),
    checks: Sequence[Check] | None = None,
) -> None:
    """Run `passes` in order on `module`, in place, under the eyes of `instruments`.

    `checks` (default: `Verify`) are asked about the input and after every pass. Raises
    DiagnosticError if one refuses; where a pass is at fault, a note names it.
    """
    checks = [Verify()] if checks is None else checks
    # Checks outside: what they prepare is not part of the pass that an instrument times.
    watchers = [*checks, *instruments]
    for one_check in checks:
        one_check.input(module, ctx)
    for watcher in watchers:
        watcher.start(module, passes)
    for number in range(1, len(passes) + 1):
        _run_step(Step(number, tuple(passes), module, ctx), watchers, checks)


def _run_step(step: Step, watchers: Sequence[Instrument], checks: Sequence[Check]) -> None:
    for watcher in watchers:
        watcher.before(step)
    try:
        step.one.apply(step.ctx, step.module)
        if isinstance(step.one, MetaPass):
            step.module.attributes[STAGE] = StringAttr(step.name)
        for watcher in reversed(watchers):
            watcher.ran(step)
        _check(step, checks)
    except Exception as problem:
        for watcher in reversed(watchers):
            watcher.failed(step, problem)
        raise
    for watcher in reversed(watchers):
        watcher.after(step)


def _check(step: Step, checks: Sequence[Check]) -> None:
    try:
        for check in checks:
            check.check(step)
    except DiagnosticError as problem:
        raise type(problem)(*(_blame(d, step.one) for d in problem.diagnostics)) from problem


def stage_of(module: ModuleOp) -> str | None:
    """Name of the pass that left the module as it is; None before the first one."""
    stage = module.attributes.get(STAGE)
    return stage.data if isinstance(stage, StringAttr) else None


def _blame(diagnostic: Diagnostic, one: ModulePass) -> Diagnostic:
    note = Note(f"the module was sound before pass {one.name}")
    return replace(diagnostic, notes=(*diagnostic.notes, note))
