"""The inputs of one case, as a kernel gets them and as the reference gets them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float16Type, Float32Type, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute

from metainfer.codegen.c.abi import is_packed, written_states
from metainfer.interp.batch import Batch
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup
from metainfer.passes.sizes import padded_context, weight_format
from metainfer.verify.cases import Case, semantics
from metainfer.verify.families import F32, rows
from metainfer.verify.faults import InfraError
from metainfer.verify.version import VERIFIER
from metainfer.verify.weights import Kind, Weight, make_weight

Array = npt.NDArray[Any]

GARBAGE = ((7.0, 1e4), (-3.0, -2e4))
"""Keys and values in positions that nobody owns, per variant of a run; large, but never NaN."""


@dataclass(frozen=True)
class Slab:
    """One layer's state: (positions, kv_heads, head_dim), `owned` of them hold a token.

    The kernel gets `room` positions; position p lies at `p % room`, so a slab with less room than
    positions holds the latest of them.
    """

    k: Array
    v: Array
    owned: int
    room: int

    def variant(self, number: int) -> tuple[Array, Array]:
        """Keys and values with this variant's garbage in positions that are not owned."""
        k, v = (np.empty((self.room, *x.shape[1:]), x.dtype) for x in (self.k, self.v))
        k[:], v[:] = GARBAGE[number]
        place(self.k[: self.owned], k)
        place(self.v[: self.owned], v)
        return k, v


def place(positions: Array, slab: Array) -> None:
    """Write the latest of `positions` (from 0 on) to where a slab keeps them."""
    first = max(0, len(positions) - len(slab))
    slab[np.arange(first, len(positions)) % len(slab)] = positions[first:]


@dataclass(frozen=True)
class Inputs:
    """Values by argument name."""

    batch: Batch
    arrays: dict[str, F32] = field(default_factory=dict)
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Row i of an array is of family `[i % len]`."""
    weights: dict[str, Weight] = field(default_factory=dict)
    slabs: dict[str, Slab] = field(default_factory=dict)

    def describe(self, row: int | None) -> str:
        """The families of a row of every array, or all of a row that is not known."""
        if row is None:
            return "; ".join(f"{n}: {', '.join(f)}" for n, f in self.families.items())
        return "; ".join(f"{n}: {f[row % len(f)]}" for n, f in self.families.items())


def seeded(key: str, *labels: object) -> np.random.Generator:
    """A generator that depends on the kernel's key, this verifier and nothing else."""
    text = "|".join([VERIFIER, key, *map(str, labels)])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


class InputMaker:
    """Makes the inputs of a kernel's cases; a weight is made once per kind."""

    def __init__(self, func: kernel.FuncOp, module: ModuleOp, key: str) -> None:
        self.func, self.module, self.key = func, module, key
        self._weights: dict[tuple[str, Kind], Weight] = {}
        self._saturated = _activation_arguments(func)
        self._appended = written_states(func)

    def make(self, case: Case) -> Inputs:
        """Inputs of a case; the same for the same kernel key."""
        inputs = Inputs(self._batch(case))
        names = [a.data for a in self.func.arguments]
        for place, (name, type_) in enumerate(
            zip(names, self.func.function_type.inputs, strict=True)
        ):
            rng = seeded(self.key, case.number, name)
            if isinstance(type_, infer.StateType):
                inputs.slabs[name] = self._slab(case, name, type_, inputs.batch, rng)
            elif isinstance(type_, TensorType) and is_packed(type_):
                inputs.weights[name] = self._weight(case.weights, name, type_)
            elif isinstance(type_, TensorType):
                families = self._families(case, name, type_, place)
                shape = tuple(case.dims[d] if isinstance(d, str) else d for d in sizes(type_))
                inputs.families[name] = families
                inputs.arrays[name] = rows(rng, shape, families)
        return inputs

    def _batch(self, case: Case) -> Batch:
        """One sequence, or several of which the last has all remaining tokens."""
        seqs = case.dims.get("seqs", 1)
        tokens = max(case.dims.get("tokens", seqs), seqs)
        rng = seeded(self.key, case.number, "ids")
        ids = [int(i) for i in rng.integers(0, self._vocabulary(), tokens)]
        edges = (0, self._vocabulary() - 1, 15, 16)
        for place, edge in enumerate(edges):
            at = (place + case.number) % len(edges)
            if at < tokens and edge < self._vocabulary():
                ids[at] = edge
        lengths = [1] * (seqs - 1) + [tokens - seqs + 1]
        spans, first = [], 0
        for length in lengths:
            spans.append((ids[first : first + length], case.start))
            first += length
        return Batch.of(spans)

    def _vocabulary(self) -> int:
        for op in semantics(self.func):
            if isinstance(op, infer.EmbedOp):
                return int(sizes(op.weight.type)[0])
        return 1 << 15

    def _families(self, case: Case, name: str, type_: TensorType, place: int) -> tuple[str, ...]:
        if case.exact:
            return case.families
        if len(sizes(type_)) == 1:
            return ("normal",)  # a norm's gain
        # Another family than in the same row of the other arguments.
        turn = 3 * place % len(case.families)
        turned = case.families[turn:] + case.families[:turn]
        return ("saturating", *turned) if name in self._saturated else turned

    def _weight(self, kind: Kind, name: str, type_: TensorType) -> Weight:
        made = self._weights.get((name, kind))
        if made is None:
            assert isinstance(type_.encoding, SymbolRefAttr)
            layout = lookup(self.module, type_.encoding.root_reference.data, infer.LayoutOp)
            n, k = (int(d) for d in type_.get_shape())
            rng = seeded(self.key, name, kind)
            format_ = weight_format(type_, self.module)
            made = make_weight(rng, n, k, format_, layout.lanes.value.data, kind)
            self._weights[name, kind] = made
        return made

    def _slab(
        self,
        case: Case,
        name: str,
        type_: infer.StateType,
        batch: Batch,
        rng: np.random.Generator,
    ) -> Slab:
        if batch.seqs != 1:
            raise InfraError("a state of several sequences has no verifier yet")
        state = lookup(self.module, type_.state.root_reference.data, infer.StateOp)
        room = padded_context(state.slots())
        positions = room
        if state.is_ring():
            assert state.context is not None
            positions = padded_context(state.context.value.data)
        owned = int(batch.kv_len[0]) - (batch.tokens if name in self._appended else 0)
        make = HISTORY[case.history]
        k = make(rng, (positions, *state.k.get_shape())).astype(_dtype(state.k.element_type))
        v = rng.standard_normal((positions, *state.v.get_shape()))
        return Slab(k, v.astype(_dtype(state.v.element_type)), owned, room)


def _equal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """All keys the same: attention must be the mean of exactly the visible values."""
    return np.broadcast_to(rng.standard_normal(shape[1:]), shape).copy()


def _spike(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One position draws all attention, or none."""
    k = rng.standard_normal(shape)
    k[:: max(1, shape[0] // 7)] *= 300.0
    return k


HISTORY: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "equal": _equal,
    "spike": _spike,
}


def _dtype(type_: Attribute) -> type[np.floating[Any]]:
    if isinstance(type_, Float32Type):
        return np.float32
    if isinstance(type_, Float16Type):
        return np.float16
    raise InfraError(f"no state elements of type {type_} in the verifier")


def _activation_arguments(func: kernel.FuncOp) -> set[str]:
    """Arguments that an activation function reads directly."""
    gates = {op.gate for op in semantics(func) if isinstance(op, infer.GatedActOp)}
    named = zip(func.semantics.block.args, func.arguments, strict=True)
    return {name.data for value, name in named if value in gates}
