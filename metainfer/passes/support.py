"""What a spec may ask for and this version cannot build yet.

Nothing that a spec says is ignored: what has no meaning yet is refused, at its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.diagnostics import Diagnostic, Place
from metainfer.ir.dialects import spec
from metainfer.spec.view import SpecView, place_of

PINS: Mapping[str, tuple[str, ...] | None] = {
    "isa": ("auto", "avx2", "avx512_vnni"),
    "threads": None,
    "weights": ("as_stored",),
    "acts": ("f32",),
    "kv": ("f32", "f16"),
    "tensor": ("1",),
}
"""what: the values that can be built; None for any."""

DEVICES = ("cpu",)
BOUNDS = ("context", "batch")
"""Demands that are served up to their bound; typical values need the planner's cost model."""
MAX_BATCH = 1
REQUIREMENTS = ("kv",)
FEATURES = frozenset(
    f"sampling.{word}" for word in ("greedy", "temperature", "top_k", "top_p", "seed")
)


INSTEAD: Mapping[str, str] = {
    "degrade": "state one bound: workload { context <= 2048 tokens }",
    "use": "write its lines into this file",
    "serve": "remove it: the engine answers on its command line and as a Python package",
    "kernels": "remove it: every kernel is made by rule",
    "prefer": "remove it: no choice depends on it yet",
    "target.arch": "supported: target cpu",
    "quantize.except": "remove it: as_stored keeps every tensor's own format",
    "parallel.pipeline": "supported: tensor 1",
    "parallel.expert": "supported: tensor 1",
}
"""What to do instead of a reserved construct; any other is to be removed."""


def unsupported(module: ModuleOp) -> list[Diagnostic]:
    """One diagnostic for each constraint that cannot be built yet, in the order of the source."""
    ops = SpecView(module).engine_op.body.block.ops
    found = [problem for op in ops for problem in _refusals(op)]
    return sorted(found, key=lambda problem: problem.place or Place("", 0, 0))


def _refusals(op: Operation) -> Iterator[Diagnostic]:
    match op:
        case spec.ReservedOp():
            word = op.what.split(".", 1)[-1]
            yield _refuse(op, f"'{word}'", INSTEAD.get(op.what, "remove it"))
        case spec.PinOp():
            yield from _pin(op)
        case spec.TargetOp() if op.device not in DEVICES:
            yield _refuse(op, f"target {op.device}", f"supported: {_list(DEVICES)}")
        case spec.DemandOp():
            yield from _demand(op)
        case spec.RequireOp() if op.what not in REQUIREMENTS:
            yield _refuse(op, f"a bound on {op.what}", f"supported: {_list(REQUIREMENTS)}")
        case spec.FeatureOp() if op.feature not in FEATURES:
            yield _refuse(op, f"'{op.feature}'", f"supported: {_list(sorted(FEATURES))}")


def _pin(op: spec.PinOp) -> Iterator[Diagnostic]:
    allowed = PINS.get(op.what, ())
    if op.operator != "==":
        yield _refuse(op, f"a bound on {op.what}", f"pin it: {op.what} {op.value}")
    elif allowed is not None and op.value not in allowed and not _belongs_to_refused(op):
        supported = f"supported: {op.what} {_list(allowed)}" if allowed else None
        yield _refuse(op, f"{op.what} {op.value}", supported)


def _belongs_to_refused(op: spec.PinOp) -> bool:
    """An option, as `weights.group`, is not refused again where its `weights w4a16` is."""
    base, _, option = op.what.partition(".")
    block = op.parent_block()
    pins = [pin for pin in block.ops if isinstance(pin, spec.PinOp)] if block else []
    values = [pin.value for pin in pins if pin.what == base]
    return bool(option) and any(value not in (PINS.get(base) or ()) for value in values)


def _demand(op: spec.DemandOp) -> Iterator[Diagnostic]:
    if op.operator == "~":
        yield _refuse(op, f"a typical {op.what}", "remove it: nothing is tuned for it yet")
    elif op.what not in BOUNDS:
        yield _refuse(op, f"a bound on {op.what}", f"supported: {_list(BOUNDS)}")
    elif op.what == "batch" and op.amount > MAX_BATCH:
        yield _refuse(op, f"batch <= {op.amount}", f"supported: batch <= {MAX_BATCH}")


def _refuse(op: Operation, what: str, help: str | None) -> Diagnostic:
    return Diagnostic(f"{what} is not supported yet", place_of(op), help=help)


def _list(values: tuple[str, ...] | list[str]) -> str:
    return ", ".join(values)
