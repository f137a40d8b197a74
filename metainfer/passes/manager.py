"""Running passes: each one checks what it needs, and the module is verified after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note
from metainfer.ir.verify import verify_module
from metainfer.passes.base import MetaPass

STAGE = "metainfer.stage"
"""Attribute of a module: the pass of our pipeline that ran last, for a dump to resume after."""

Observer = Callable[[int, ModulePass, ModuleOp], None]
"""Called after each pass with its number (from 1), itself and the module."""


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    observer: Observer | None = None,
) -> None:
    """Run `passes` in order on `module`, in place.

    Raises DiagnosticError if the input or the result of a pass is not sound IR, or if a pass made
    an op without a location; where the pass is at fault, a note names it.
    """
    verify_module(module)
    for number, one in enumerate(passes, 1):
        lost = _unplaced(module)
        one.apply(ctx, module)
        if isinstance(one, MetaPass):
            module.attributes[STAGE] = StringAttr(one.name)
        try:
            verify_module(module)
            _check_places(module, lost)
        except DiagnosticError as problem:
            raise DiagnosticError(*(_blame(d, one) for d in problem.diagnostics)) from problem
        if observer is not None:
            observer(number, one, module)


def _unplaced(module: ModuleOp) -> set[Operation]:
    return {op for op in module.walk() if isinstance(op.location, UnknownLoc)}


def _check_places(module: ModuleOp, before: set[Operation]) -> None:
    """A pass gives what it makes the place of what it replaces."""
    for op in _unplaced(module) - before:
        raise DiagnosticError(Diagnostic(f"a new {op.name} has no location"))


def stage_of(module: ModuleOp) -> str | None:
    """Name of the pass that left the module as it is; None before the first one."""
    stage = module.attributes.get(STAGE)
    return stage.data if isinstance(stage, StringAttr) else None


def _blame(diagnostic: Diagnostic, one: ModulePass) -> Diagnostic:
    note = Note(f"the module was sound before pass {one.name}")
    return Diagnostic(
        diagnostic.message, diagnostic.place, (*diagnostic.notes, note), diagnostic.help
    )
