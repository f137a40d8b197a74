"""Values with error bounds, and the arithmetic that the bounds are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]


@dataclass(frozen=True)
class Numerics:
    """Rounding of the implementation that a bound is for: round to nearest, gradual underflow.

    Model: `fl(a op b) = (a op b)(1 + d) + e` with `|d| <= unit` and `|e| < tiny` (Higham, Accuracy
    and Stability of Numerical Algorithms, 2nd ed., §2.2 and §3.1).
    """

    unit: float
    """Unit roundoff."""
    tiny: float
    """Smallest normal number: covers what a result loses to underflow, flushed to zero or not."""

    def gamma(self, roundings: Array | float) -> Array:
        """Relative error of `roundings` successive ones: `n u / (1 - n u)` (Higham, lemma 3.1)."""
        drift = np.asarray(roundings, np.float64) * self.unit
        return over_rest(drift, drift)


F32 = Numerics(unit=2.0**-24, tiny=2.0**-126)
"""IEEE binary32: the storage and accumulation of every `f32` numeric path."""
F64 = Numerics(unit=2.0**-53, tiny=2.0**-1022)
"""IEEE binary64: the interpreter's own arithmetic."""


def over_rest(x: Array, share: Array) -> Array:
    """`x / (1 - share)`, infinite from a share of 1 on: an error relative to what it disturbs."""
    quotient: Array = np.full(np.broadcast_shapes(x.shape, share.shape), np.inf)
    np.divide(x, 1 - share, out=quotient, where=np.broadcast_to(share < 1, quotient.shape))
    return quotient


def quantum(x: Array) -> Array:
    """The value of the lowest set bit of each number, infinite for 0: each is a multiple of it."""
    mantissa, exponent = np.frexp(x)
    bits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.ldexp((bits & -bits).astype(np.float64), exponent - 53)
    return np.where(x == 0, np.inf, lowest)


@dataclass(frozen=True)
class Bounded:
    """A value and, element by element, how far a correct implementation may be from it.

    A bound that is infinite or NaN says nothing: through many layers worst cases multiply until
    the float32 bound of a whole model does. The float64 one stays small.
    """

    value: Array
    bound: Array

    @staticmethod
    def exact(value: Array) -> Bounded:
        """A value that the implementation has bit for bit."""
        return Bounded(value, np.zeros_like(value))


def value_of(x: Array | Bounded) -> Array:
    """The value without its bound."""
    return x.value if isinstance(x, Bounded) else x


def bound_of(x: Array | Bounded) -> Array:
    """The bound of a value; a bare array is exact."""
    return x.bound if isinstance(x, Bounded) else np.zeros_like(x)
