"""A state value: keys and values of every position, per layer and sequence.

State values are used linearly, so appending writes into shared storage. Each value remembers the
storage's version; using one that a later append has replaced raises, instead of reading newer data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metainfer.interp.batch import Batch
from metainfer.interp.numerics import Array

Key = tuple[int | None, int]
"""(layer, or None where there is just one; sequence)"""
PARTS = ("k", "v")


@dataclass(frozen=True)
class Slots:
    """Keys and values of positions 0..n-1 of one sequence in one layer: (n, kv_heads, head_dim).

    The bounds are None where the values are exact.
    """

    k: Array
    v: Array
    k_bound: Array | None = None
    v_bound: Array | None = None

    def first(self, count: int) -> Slots:
        """Positions 0..count-1."""

        def cut(rows: Array | None) -> Array | None:
            return None if rows is None else rows[:count]

        return Slots(self.k[:count], self.v[:count], cut(self.k_bound), cut(self.v_bound))


class _Column:
    """One growing array: (positions, kv_heads, head_dim), doubled when it is full."""

    def __init__(self, rows: NDArray[np.floating]) -> None:
        self.rows = np.array(rows, np.float64)
        self.used = len(rows)

    def write(self, slots: NDArray[np.integer], rows: Array) -> None:
        self.used = max(self.used, int(slots.max()) + 1)
        if self.used > len(self.rows):
            grown = np.full((2 * self.used, *self.rows.shape[1:]), np.nan)
            grown[: len(self.rows)] = self.rows
            self.rows = grown
        self.rows[slots] = rows

    def read(self) -> Array:
        return self.rows[: self.used]


@dataclass
class _Store:
    columns: dict[tuple[Key, str], _Column] = field(default_factory=dict)
    version: int = 0


class State:
    """One value of an `infer.state`; `append` gives the next one and ends this one's life."""

    def __init__(self, store: _Store | None = None, version: int = 0) -> None:
        self._store = store or _Store()
        self._version = version

    @staticmethod
    def of(layers: Mapping[Key, Slots]) -> State:
        """A state that already holds positions: `{(layer, sequence): slots}`."""
        state = State()
        for key, slots in layers.items():
            state._put(key, "k", slots.k)
            state._put(key, "v", slots.v)
            for part, bound in (("k_bound", slots.k_bound), ("v_bound", slots.v_bound)):
                if bound is not None:
                    state._put(key, part, bound)
        return state

    def _put(self, key: Key, part: str, rows: NDArray[np.floating]) -> None:
        self._store.columns[key, part] = _Column(rows)

    def copy(self) -> State:
        """The same positions in storage of their own."""
        return State.of({key: self.slots(*key) for key in self.keys()})

    def keys(self) -> list[Key]:
        """The layers and sequences that hold positions."""
        return [key for key, part in self._live().columns if part == "k"]

    def slots(self, layer: int | None, seq: int) -> Slots:
        """What a sequence holds in a layer; KeyError if it holds nothing."""
        columns = self._live().columns

        def bound(part: str) -> Array | None:
            column = columns.get(((layer, seq), part))
            return column.read() if column else None

        k, v = (columns[(layer, seq), part].read() for part in PARTS)
        return Slots(k, v, bound("k_bound"), bound("v_bound"))

    def append(self, layer: int | None, batch: Batch, rows: Mapping[str, Array]) -> State:
        """The state in which each token's slot holds its row of `k`, `v` and, if given, bounds.

        `rows` maps `k`, `v`, `k_bound`, `v_bound` to (tokens, kv_heads, head_dim). A slot may be
        overwritten or come next; one that would leave a gap raises ValueError.
        """
        store = self._live()
        for seq in range(int(batch.row.max()) + 1):
            mine = batch.row == seq
            if mine.any():
                self._append_sequence((layer, seq), batch.slot[mine], rows, mine)
        store.version += 1
        return State(store, store.version)

    def _append_sequence(
        self,
        key: Key,
        slots: NDArray[np.integer],
        rows: Mapping[str, Array],
        mine: NDArray[np.bool_],
    ) -> None:
        columns = self._store.columns
        old = columns.get((key, "k"))
        held = old.used if old else 0
        if not np.isin(np.arange(held, int(slots.max()) + 1), slots).all():
            raise ValueError(f"slots {slots} of layer, sequence {key} leave a gap after {held}")
        for part, values in rows.items():
            if (key, part) not in columns:
                # Positions that came without a bound were exact.
                columns[key, part] = _Column(np.zeros((held, *values.shape[1:])))
            columns[key, part].write(slots, values[mine])

    def _live(self) -> _Store:
        if self._version != self._store.version:
            raise RuntimeError("a state value was used after an append had replaced it")
        return self._store
