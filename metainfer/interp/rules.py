"""How far the results of ops may be off: functions of their operands, one set for each mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metainfer.interp import ops
from metainfer.interp.attention import Heads
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import Matrix
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics
from metainfer.interp.state import State


@dataclass(frozen=True)
class Rules:
    """A bound for every element of an op's result; the operands carry their own."""

    linear: Callable[[Bounded, Matrix, Ints | None, Numerics], Array]
    """x, weight, the output rows that are wanted (None: all)."""
    decoded: Callable[[Matrix, Ints, Numerics], Array]
    """The weight and the rows that are read."""
    rms_norm: Callable[[Bounded, Bounded, float, Numerics], Array]
    rope: Callable[[Bounded, Ints, int, float, str, Numerics], Array]
    """x, positions, head_dim, theta, pairing."""
    gated_act: Callable[[Bounded, Bounded, ops.Gate, Numerics], Array]
    scale: Callable[[Bounded, float, Numerics], Array]
    add: Callable[[Bounded, Bounded, Numerics], Array]
    attend: Callable[[Bounded, State, int | None, Batch, Heads, Numerics], Array]
    """q, state, layer, batch, shape."""
    stored: Callable[[Bounded, str], Array]
    """What is stored, and as which element type."""
