"""The memory of an engine program as arrays of float64: arena and slabs at their planned offsets.

One element stands for each float of the real memory, so that buffers overlap exactly where the
plan lets them, while values keep the precision that R0 has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp.batch import Batch
from metainfer.interp.state import Slots
from metainfer.ir.dialects import engine, infer
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup
from metainfer.passes.sizes import POSITIONS, padded_context
from metainfer.verify.engine.steps import buffers_of, states_of

Array = npt.NDArray[np.float64]
FLOAT = 4
"""Bytes of a float in the arena."""


class Memory:
    """Arena and state of one engine; everything is NaN until it is written."""

    def __init__(self, program: engine.ProgramOp, module: ModuleOp) -> None:
        assert program.arena is not None and program.states is not None
        self.arena: Array = np.full(program.arena.value.data // FLOAT, np.nan)
        self._buffers, self._states = buffers_of(program), states_of(program)
        self._kinds = {name: lookup(module, name, infer.StateOp) for name in self._states}
        # The narrowest element of any state: wider ones take every other place.
        widths = {_width(kind) for kind in self._kinds.values()}
        self._unit = min(widths, default=FLOAT)
        self.state: Array = np.full(program.states.value.data // self._unit, np.nan)

    def forget(self) -> None:
        """Poison the whole arena, of which nothing outlives a step."""
        self.arena[:] = np.nan

    def buffer(self, name: str, batch: Batch) -> Array:
        """A buffer as the (rows, columns) of this step, in place."""
        buffer = self._buffers[name]
        assert buffer.offset is not None
        dims = {"tokens": batch.tokens, "seqs": batch.seqs}
        shape = [dims[s] if isinstance(s, str) else s for s in sizes(buffer.type)]
        start = buffer.offset.value.data // FLOAT
        return self.arena[start : start + math.prod(shape)].reshape(shape)

    def slab(self, name: str, layer: int | None) -> Slab:
        """A layer's slab of a state, in place."""
        plan = SlabPlan.of(self._states[name], self._kinds[name], layer)
        return plan.view(self._floats(plan.start, plan.width, plan.elements))

    def _floats(self, start: int, width: int, count: int) -> Array:
        step = width // self._unit
        first = start // self._unit
        return self.state[first : first + count * step : step]


def _width(kind: infer.StateOp) -> int:
    return infer.field_bytes(kind.k.element_type)


@dataclass(frozen=True)
class SlabPlan:
    """Where a layer's slab lies in the memory of all states."""

    start: int
    """In bytes."""
    width: int
    """Bytes of an element."""
    room: int
    heads: int
    k_dim: int
    v_dim: int

    @staticmethod
    def of(op: engine.StateOp, kind: infer.StateOp, layer: int | None) -> SlabPlan:
        """The slab of a layer (None: there is just one)."""
        place = list(op.layers).index(layer) if layer is not None else 0
        heads, k_dim = kind.k.get_shape()
        start = op.offset.value.data + op.bytes.value.data * place
        room = padded_context(kind.slots())
        return SlabPlan(start, _width(kind), room, heads, k_dim, kind.v.get_shape()[1])

    @property
    def elements(self) -> int:
        """Elements of keys and values together."""
        return self.heads * self.room * (self.k_dim + self.v_dim)

    def view(self, elements: npt.NDArray[Any]) -> Slab:
        """The slab over its elements."""
        keys, values = np.split(elements, [self.heads * self.room * self.k_dim])
        return Slab(
            keys.reshape(self.heads, self.room // POSITIONS, self.k_dim, POSITIONS),
            values.reshape(self.heads, self.room, self.v_dim),
        )


class Slab:
    """Keys and values as they lie: `[head][block of 16][dim][16]` and `[head][position][dim]`."""

    def __init__(self, keys: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        self.keys, self.values = keys, values
        self.room: int = values.shape[1]

    def copy(self) -> Slab:
        """The same in memory of its own."""
        return Slab(self.keys.copy(), self.values.copy())

    def at(self, positions: npt.NDArray[np.integer]) -> Slots:
        """Keys and values of positions, (n, heads, dim); of a ring, what has their place now."""
        slot = positions % self.room
        keys = self.keys[:, slot // POSITIONS, :, slot % POSITIONS]
        values = self.values[:, slot].transpose(1, 0, 2)
        return Slots(keys.astype(np.float64), values.astype(np.float64))

    def read(self, positions: int) -> Slots:
        """Positions 0..n-1."""
        return self.at(np.arange(positions))

    def write(self, slots: npt.NDArray[np.integer], columns: slice, k: Array, v: Array) -> None:
        """Put some of the heads x dim columns of each token into its slot; k, v: (tokens, ...)."""
        at = slots % self.room
        for number in range(*columns.indices(math.prod(k.shape[1:]))):
            head, dim = divmod(number, k.shape[2])
            self.keys[head, at // POSITIONS, dim, at % POSITIONS] = k[:, head, dim]
            self.values[head, at, dim] = v[:, head, dim]
