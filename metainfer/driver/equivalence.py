"""Do two modules mean the same? Both are interpreted on drawn inputs, in float64 with error bounds.

Where results differ by more than the bounds of both sides allow, the first op that differs is
named: executed ops of both sides are put side by side, and the first pair that disagrees, or an op
without a partner that feeds it, is the one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.driver.samples import Case, RandomWeights, arguments, cases
from metainfer.interp.matrix import DenseMatrix, QuantMatrix
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import F64, Array, Bounded
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State
from metainfer.ir.diagnostics import Diagnostic, Note, did_you_mean, error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import ScheduleAttr
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.passes.fuse import base_name

CACHE_BYTES = 256 << 20
"""Decoded weights that a call keeps: a graph may read one weight many times."""
_HOLDERS = (infer.GroupOp, infer.LayersOp, kernel.CallOp, func.CallOp)
"""Ops whose results are those of ops inside; these are compared instead."""


@dataclass(frozen=True)
class Gap:
    """Where two values differ: element, both numbers, and what their bounds allow."""

    index: str
    left: float
    right: float
    allowed: float

    def __str__(self) -> str:
        return f"at {self.index}: {self.left:.6g} and {self.right:.6g}, allowed {self.allowed:.2g}"


@dataclass(frozen=True)
class Difference:
    """A function whose results differ, and the op that is to blame, if one could be found."""

    left: str
    right: str
    case: Case
    op: Operation | None
    layer: int | None
    gap: Gap

    def diagnostic(self) -> Diagnostic:
        """The finding for a reader, at the op's place."""
        names = f"@{self.left}" + (f" and @{self.right}" if self.right != self.left else "")
        notes = [Note(f"inputs: {self.case}")]
        if self.op is None:
            return Diagnostic(f"{names}: the results differ {self.gap}", None, tuple(notes))
        hint = self.op.results[0].name_hint if self.op.results else None
        value = f" (%{hint})" if hint else ""
        layer = "" if self.layer is None else f" of layer {self.layer}"
        return Diagnostic(
            f"{names}: the first difference is in {self.op.name}{value}{layer} {self.gap}",
            place_of(self.op),
            tuple(notes),
        )


@dataclass
class Comparison:
    """What was compared, and the first difference of each pair of functions."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    differences: list[Difference] = field(default_factory=list)


def compare_modules(
    left: ModuleOp, right: ModuleOp, names: Sequence[str] = (), seed: int = 0
) -> Comparison:
    """Interpret the functions that both modules have (or `names` of them) on drawn inputs.

    A function `layer` of the left side is compared with every specialised copy of it, such as
    `decode_layer`, where the right side has no function of its name. Raises DiagnosticError for a
    name that is not there and for signatures that differ. Of layers that one function runs in a
    row, the first two stand for all.
    """
    left, right = _twins(left, right)
    found = Comparison()
    for ours, theirs in _pairs(left, right, names):
        found.pairs.append((ours.sym_name.data, theirs.sym_name.data))
        _check_signatures(ours, theirs)
        for case in cases(theirs, right, seed):
            found.calls += 1
            difference = _compare(left, ours, right, theirs, case)
            if difference is not None:
                found.differences.append(difference)
                break
    return found


def _twins(left: ModuleOp, right: ModuleOp) -> tuple[ModuleOp, ModuleOp]:
    """Copies of both modules whose schedules keep the first two layers of every run of either."""
    twins = left.clone(), right.clone()
    schedules = [op for twin in twins for op in twin.walk() if isinstance(op, infer.LayersOp)]
    steps = [step for op in schedules for step in op.schedule.steps()]
    kept = {layer for _, first, last in steps for layer in range(first, min(first + 1, last) + 1)}
    for op in schedules:
        op.properties["schedule"] = ScheduleAttr.of(
            (function, layer, layer)
            for function, first, last in op.schedule.steps()
            for layer in range(first, last + 1)
            if layer in kept
        )
    return twins


def _pairs(
    left: ModuleOp, right: ModuleOp, names: Sequence[str]
) -> Iterator[tuple[func.FuncOp, func.FuncOp]]:
    mine = {f.sym_name.data: f for f in all_of(left, func.FuncOp)}
    other = {f.sym_name.data: f for f in all_of(right, func.FuncOp)}
    for name in names:
        if name not in mine:
            raise error(f"no function @{name} on the left side", help=did_you_mean(name, mine))
    for name in names or mine:
        if name in other:
            yield mine[name], other[name]
            continue
        copies = [f for f in other.values() if base_name(f) == name]
        if names and not copies:
            raise error(f"no function @{name} on the right side", help=did_you_mean(name, other))
        yield from ((mine[name], copy) for copy in copies)


def _check_signatures(left: func.FuncOp, right: func.FuncOp) -> None:
    shown = [[str(t) for t in f.function_type.inputs] for f in (left, right)]
    if shown[0] != shown[1]:
        raise error(
            f"@{left.sym_name.data} takes other arguments on each side",
            place_of(right),
            notes=[Note(f"left: {', '.join(shown[0])}"), Note(f"right: {', '.join(shown[1])}")],
        )


@dataclass(frozen=True)
class _Ran:
    """An executed op with its results."""

    op: Operation
    layer: int | None
    results: tuple[Value, ...]

    @property
    def kind(self) -> tuple[object, ...]:
        """What makes two executed ops partners; attributes may differ."""
        return self.op.name, self.layer, tuple(str(r.type) for r in self.op.results)


def _run(module: ModuleOp, function: func.FuncOp, case: Case) -> tuple[list[Value], list[_Ran]]:
    """Results and executed ops, those that only hold others left out."""
    ran: list[_Ran] = []

    def keep(op: Operation, layer: int | None, results: tuple[Value, ...]) -> None:
        if not isinstance(op, _HOLDERS):
            # A state's storage is shared with later values of it: what it holds now is copied.
            ran.append(_Ran(op, layer, tuple(map(_frozen, results))))

    interpreter = Interpreter(
        module,
        RandomWeights(module, case.seed),
        "magnitude",
        numerics=F64,
        trace=keep,
        cache_bytes=CACHE_BYTES,
    )
    given = arguments(function, module, case)
    with np.errstate(all="ignore"):  # a bound of nothing is infinite, and says nothing
        results = interpreter.run(function.sym_name.data, *given, layer=case.layer)
    return [_frozen(r) for r in results], ran


def _frozen(value: Value) -> Value:
    return value.copy() if isinstance(value, State) else value


def _compare(
    left: ModuleOp, ours: func.FuncOp, right: ModuleOp, theirs: func.FuncOp, case: Case
) -> Difference | None:
    results, ran = _run(left, ours, case)
    other_results, other_ran = _run(right, theirs, case)
    names = (ours.sym_name.data, theirs.sym_name.data)
    if len(results) != len(other_results):
        raise error(f"@{names[0]} has another number of results on each side", place_of(theirs))
    gaps = [gap(a, b) for a, b in zip(results, other_results, strict=True)]
    first = next((g for g in gaps if g is not None), None)
    if first is None and not (_undecided(results) and _same_ops(ran, other_ran)):
        return None
    blamed = _first_difference(ran, other_ran)
    if blamed is None:
        return None if first is None else Difference(*names, case, None, None, first)
    where, seen = blamed
    return Difference(*names, case, where.op, where.layer, seen)


def _undecided(results: list[Value]) -> bool:
    """Whether bounds have grown so far, down a deep model, that they allow any result."""
    arrays = [r for r in results if isinstance(r, Bounded) and r.value.size]
    return any(not np.max(a.bound) < np.max(np.abs(a.value)) for a in arrays)


def _same_ops(left: list[_Ran], right: list[_Ran]) -> bool:
    """Whether both sides ran the same ops, which can then be compared one by one."""
    return [r.kind for r in left] == [r.kind for r in right]


def _first_difference(left: list[_Ran], right: list[_Ran]) -> tuple[_Ran, Gap] | None:
    """The first executed op of the right side whose results differ from its partner's, or the op
    without a partner that feeds it."""
    agreed = 0
    for i, j in _partners(left, right):
        for a, b in zip(left[i].results, right[j].results, strict=True):
            found = gap(a, b)
            if found is not None:
                return _feeding(right, agreed, j), found
        agreed = j + 1
    return None


def _feeding(ran: list[_Ran], first: int, last: int) -> _Ran:
    """The earliest op without a partner that the op number `last` depends on, else that op."""
    wanted, earliest = set(ran[last].op.operands), last
    for number in range(last - 1, first - 1, -1):
        if wanted & set(ran[number].op.results):
            wanted |= set(ran[number].op.operands)
            earliest = number
    return ran[earliest]


def _partners(left: list[_Ran], right: list[_Ran]) -> Iterator[tuple[int, int]]:
    """Pairs of executed ops of one kind in the order of both sides."""
    a, b = [r.kind for r in left], [r.kind for r in right]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        yield start, start
        start += 1
    tail = 0
    while tail < min(len(a), len(b)) - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(
        None, a[start : len(a) - tail], b[start : len(b) - tail], autojunk=False
    )
    for match in middle.get_matching_blocks():
        for offset in range(match.size):
            yield start + match.a + offset, start + match.b + offset
    for number in range(tail):
        yield len(a) - tail + number, len(b) - tail + number


def gap(left: Value, right: Value) -> Gap | None:
    """Where two values differ beyond their bounds, None if they do not.

    A bound that is infinite or NaN allows everything but another class of number.
    """
    match left, right:
        case State(), State():
            return _state_gap(left, right)
        case ((QuantMatrix() | DenseMatrix()), (QuantMatrix() | DenseMatrix())):
            return _weight_gap(left, right)
        case Bounded(), Bounded():
            return _array_gap(left, right)
    return None


def _array_gap(left: Bounded, right: Bounded) -> Gap | None:
    if left.value.shape != right.value.shape:
        shapes = f"{left.value.shape} and {right.value.shape}"
        return Gap(f"shapes {shapes}", float("nan"), float("nan"), 0.0)
    with np.errstate(invalid="ignore"):
        allowed = left.bound + right.bound
        apart = np.abs(left.value - right.value) > allowed
    apart |= np.isfinite(left.value) != np.isfinite(right.value)
    if not apart.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))
    numbers = (left.value[index], right.value[index], allowed[index])
    return Gap(str(list(index)), *map(float, numbers))


def _weight_gap(left: QuantMatrix | DenseMatrix, right: QuantMatrix | DenseMatrix) -> Gap | None:
    """Weights are exact. Some rows are enough: tensors of different names differ everywhere."""
    rows = slice(0, min(left.rows, right.rows, 4))
    values = [Bounded.exact(np.asarray(m.values(rows), np.float64)) for m in (left, right)]
    return _array_gap(*values)


def _state_gap(left: State, right: State) -> Gap | None:
    held = set(right.keys())
    for key in sorted(left.keys(), key=str):
        if key not in held:
            return Gap(f"layer, sequence {key}", float("nan"), float("nan"), 0.0)
        a, b = left.slots(*key), right.slots(*key)
        for part in ("k", "v"):
            sides = [Bounded(getattr(s, part), _state_bound(s, part)) for s in (a, b)]
            found = _array_gap(*sides)
            if found is not None:
                where = f"{part}{found.index} of layer, sequence {key}"
                return Gap(where, found.left, found.right, found.allowed)
    return None


def _state_bound(slots: object, part: str) -> Array:
    bound = getattr(slots, f"{part}_bound")
    value: Array = getattr(slots, part)
    return np.zeros_like(value) if bound is None else bound
