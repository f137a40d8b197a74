"""Where two values of the interpreter differ by more than they may."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from metainfer.interp.matrix import DenseMatrix, QuantMatrix
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import Array, Bounded, bound_of, value_of
from metainfer.interp.state import State


@dataclass(frozen=True)
class Gap:
    """Where two values differ: element, both numbers, and what their bounds allow."""

    index: str
    left: float
    right: float
    allowed: float

    def __str__(self) -> str:
        return f"at {self.index}: {self.left:.6g} and {self.right:.6g}, allowed {self.allowed:.2g}"


def gap(left: Value, right: Value) -> Gap | None:
    """Where two values differ beyond their bounds, None if they do not.

    Bare arrays must be equal. A bound that is infinite or NaN allows everything but another class
    of number.
    """
    match left, right:
        case State(), State():
            return _state_gap(left, right)
        case ((QuantMatrix() | DenseMatrix()), (QuantMatrix() | DenseMatrix())):
            return _weight_gap(left, right)
        case ((np.ndarray() | Bounded()), (np.ndarray() | Bounded())):
            return _array_gap(_bounded(left), _bounded(right))
    return None


def _bounded(x: Array | Bounded) -> Bounded:
    return Bounded(value_of(x), bound_of(x))


def undecided(results: Iterable[Value]) -> bool:
    """Whether bounds have grown so far, down a deep model, that they allow any result."""
    arrays = [r for r in results if isinstance(r, Bounded) and r.value.size]
    return any(not np.max(a.bound) < np.max(np.abs(a.value)) for a in arrays)


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
