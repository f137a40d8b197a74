"""Deciding whether a resolved spec can be built: shrink demands that may shrink, then refuse.

before: spec.demand context "<=" 2048 tokens   spec.degrade context [2048, 1024] tokens
after:  spec.demand context "<=" 1024 tokens   spec.degrade context [2048, 1024] tokens chosen 1024

What is infeasible is reported before what is unsupported: it stays true in any version. Before a
model is fetched nothing is known of it; `refuse_early` then says what no model could change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note
from metainfer.ir.dialects import spec
from metainfer.knowledge.base import Knowledge
from metainfer.passes.feasibility import infeasibilities
from metainfer.passes.kept import Kept, facts_of, size_text
from metainfer.passes.support import has_source, unsupported
from metainfer.spec.view import SpecView, place_of

Shrunk = tuple[tuple[spec.DegradeOp, int], ...]


def settle(module: ModuleOp, knowledge: Knowledge) -> None:
    """Take the first values of the spec's `degrade` lines with which it is feasible.

    Fills in `chosen` of `spec.degrade`, `gap` of `spec.want` and the demands that shrink. Raises
    `DiagnosticError` with every conflict if no values help, else with all that is unsupported.
    """
    conflicts = infeasibilities(module, knowledge)
    if conflicts:
        _degrade(module, knowledge, conflicts)
    refused = unsupported(module)
    if refused:
        raise DiagnosticError(*refused)
    _record_gaps(module, knowledge)


def refuse_early(module: ModuleOp, cached: Callable[[], object]) -> None:
    """Refuse what no model could change, where the model cannot be had or costs much to fetch.

    A source in parts is gigabytes, a single package file is not; `cached` raises `DiagnosticError`
    where the model is not here yet.
    """
    refused = unsupported(module)
    uri = SpecView(module).model.uri.data
    if refused and (not has_source(uri) or ("{" in uri and not _holds(cached))):
        raise DiagnosticError(*refused)


def _holds(check: Callable[[], object]) -> bool:
    try:
        check()
    except DiagnosticError:
        return False
    return True


def warnings_of(module: ModuleOp) -> list[Diagnostic]:
    """What a settled module's user should know: demands that shrank, wishes that are not met."""
    view = SpecView(module)
    found = [_shrank(op) for op in view.all(spec.DegradeOp) if op.chosen is not None]
    return found + [_unmet(op) for op in view.all(spec.WantOp) if op.gap is not None]


# === Shrinking demands ===


def _degrade(module: ModuleOp, knowledge: Knowledge, conflicts: list[Diagnostic]) -> None:
    view = SpecView(module)
    demands = {op.what: op for op in view.all(spec.DemandOp) if op.operator == "<="}
    before = {what: op.value_attr for what, op in demands.items()}
    for values in _offers(view):
        for degrade, value in values:
            demands[degrade.what].value_attr = IntegerAttr(value, i64)
        if not infeasibilities(module, knowledge):
            _take(values, before)
            return
        for what, op in demands.items():
            op.value_attr = before[what]
    raise DiagnosticError(*conflicts)


def _offers(view: SpecView) -> Iterator[Shrunk]:
    """Combinations of values, the first `degrade` of the file falling last."""
    bounds = {op.what: op.amount for op in view.all(spec.DemandOp) if op.operator == "<="}
    lists = [
        [(op, value) for value in op.values if value <= bounds[op.what]]
        for op in view.all(spec.DegradeOp)
        if op.what in bounds
    ]
    yield from product(*lists) if lists else ()


def _take(values: Shrunk, before: Mapping[str, Attribute]) -> None:
    for degrade, value in values:
        if IntegerAttr(value, i64) != before[degrade.what]:
            degrade.chosen = IntegerAttr(value, i64)


def _shrank(op: spec.DegradeOp) -> Diagnostic:
    assert op.chosen is not None
    unit = f" {op.unit}" if op.unit else ""
    message = f"{op.what} is {op.chosen.value.data}{unit}: the whole demand is not feasible"
    return Diagnostic(message, place_of(op), severity="warning")


# === Wishes ===


def _record_gaps(module: ModuleOp, knowledge: Knowledge) -> None:
    """`kv` is all that can be wished for yet: it is known before anything is built."""
    view = SpecView(module)
    kept = Kept(view, facts_of(view, knowledge))
    for op in view.all(spec.WantOp):
        if kept.bytes() > op.amount:
            op.gap = StringAttr(f"{size_text(kept.bytes() - op.amount)} more: {kept.arithmetic()}")


def _unmet(op: spec.WantOp) -> Diagnostic:
    assert op.gap is not None
    gap, _, arithmetic = op.gap.data.partition(": ")
    message = f"{op.what} takes {gap} than is wanted"
    notes = (Note(arithmetic),) if arithmetic else ()
    return Diagnostic(message, place_of(op), notes, severity="warning")
