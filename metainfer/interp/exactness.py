"""Which results no correct implementation may round: bound 0 there, infinite everywhere else.

The same functions as `bounds`, for mode `exact`. A number is a multiple of its quantum, the value
of its lowest set bit. Sums and products of multiples of a quantum are multiples of it, so where
the terms of a sum are together at most `2^24` quanta, every partial sum in any order has a float32
of its own, and so has every decoded weight: an implementation that is off by one bit is wrong.
Integers with scales that are powers of two reach far. What an operand may be off, its result may.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metainfer.interp import ops
from metainfer.interp.attention import Heads
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import Matrix, chunks
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics, quantum
from metainfer.interp.rules import Rules
from metainfer.interp.state import State


def linear(x: Bounded, w: Matrix, rows: Ints | None, numerics: Numerics) -> Array:
    """Terms of all products, against the smallest quantum of x times that of the weight's row."""
    bound = np.full((len(x.value), w.rows), np.nan)
    size, steps = np.abs(x.value), quantum(x.value).min(axis=-1, keepdims=True)
    known = _none_off(x.bound).all(axis=-1, keepdims=True)
    for part in chunks(w) if rows is None else [rows]:
        together = size @ w.terms(part).T
        step = steps * w.quanta(part).min(axis=-1)
        bound[:, part] = _bound(_fits(together, step, numerics) & known)
    return bound


def decoded(w: Matrix, rows: Ints, numerics: Numerics) -> Array:
    """The terms of an element against its quantum."""
    return _bound(_fits(w.terms(rows), w.quanta(rows), numerics))


def add(a: Bounded, b: Bounded, numerics: Numerics) -> Array:
    """The sum against the smaller quantum."""
    step = np.minimum(quantum(a.value), quantum(b.value))
    known = _none_off(a.bound) & _none_off(b.bound)
    return _bound(_fits(np.abs(a.value + b.value), step, numerics) & known)


def scale(x: Bounded, factor: float, numerics: Numerics) -> Array:
    """The product against the product of the quanta; the factor must be a float32 itself."""
    step = quantum(np.asarray(factor, np.float64))
    kept = _fits(np.abs(np.asarray(factor)), step, numerics)
    fits = _fits(np.abs(factor * x.value), quantum(x.value) * step, numerics)
    return _bound(fits & kept & _none_off(x.bound))


def rope(
    x: Bounded, pos: Ints, head_dim: int, theta: float, pairing: str, numerics: Numerics
) -> Array:
    """Position 0 is not turned; all other angles are rounded."""
    return _bound((pos == 0)[:, None] & _none_off(x.bound))


def stored(x: Bounded, element: str) -> Array:
    """What the element type has room for."""
    if element == "f32":
        return x.bound
    half = Numerics(unit=2.0**-11, tiny=2.0**-24)
    small = np.abs(x.value) <= float(np.finfo(np.float16).max)
    return _bound(_fits(np.abs(x.value), quantum(x.value), half) & small & _none_off(x.bound))


def rms_norm(x: Bounded, w: Bounded, eps: float, numerics: Numerics) -> Array:
    """A root is rounded."""
    return np.full_like(x.value, np.inf)


def gated_act(gate: Bounded, up: Bounded, act: ops.Gate, numerics: Numerics) -> Array:
    """An exponential is rounded."""
    return np.full_like(gate.value, np.inf)


def attend(
    q: Bounded, state: State, layer: int | None, batch: Batch, heads: Heads, numerics: Numerics
) -> Array:
    """A softmax is rounded."""
    return np.full_like(q.value, np.inf)


def _fits(size: Array, step: Array, numerics: Numerics) -> NDArray[np.bool_]:
    """Whether multiples of `step` up to `size` are floats, none of them subnormal or infinite."""
    top = 1 / numerics.tiny
    return (size * numerics.unit <= step) & (step >= numerics.tiny) & (size <= top)


def _none_off(bound: Array) -> NDArray[np.bool_]:
    return np.asarray(bound == 0)


def _bound(exact: NDArray[np.bool_]) -> Array:
    return np.where(exact, 0.0, np.inf)


RULES = Rules(linear, decoded, rms_norm, rope, gated_act, scale, add, attend, stored)
"""Where nothing is rounded."""
