"""Inputs for a function of a module that come from a seed: batches, states, tensors, weights.

Two modules that come from one spec get the same weights, whatever their passes did to the weights'
symbols: what is drawn depends on the checkpoint's tensor names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute

from metainfer.interp.batch import Batch
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import Array, Bytes
from metainfer.interp.state import Slots, State
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import RangesAttr, sizes
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.verify.weights import random_blocks

Callee = func.FuncOp | kernel.FuncOp
Sized = Callee | engine.EntryOp
"""What has ranges of sizes."""
VOCABULARY = 1 << 15
"""Token ids are below this where no embedding says how many there are."""


def seeded(seed: int, *labels: object) -> np.random.Generator:
    """A generator that depends on the seed and the labels, and on nothing else."""
    text = "|".join(map(str, (seed, *labels)))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


@dataclass(frozen=True)
class RandomWeights:
    """A weight source that draws each tensor when it is first asked for, and keeps it."""

    module: ModuleOp
    seed: int = 0
    _drawn: dict[str, Bytes] = field(default_factory=dict)

    def raw(self, weight: infer.WeightOp, layer: int | None) -> Bytes:
        """Bytes of a weight in its stored form; the same for the same tensor name."""
        name = weight.tensor_name(layer)
        if name not in self._drawn:
            rng = seeded(self.seed, name)
            self._drawn[name] = random_tensor(rng, weight.type, self.module)
        return self._drawn[name]


def random_tensor(
    rng: np.random.Generator, type_: TensorType[Attribute], module: ModuleOp
) -> Bytes:
    """Stored bytes of a weight: gains near one, matrices that keep the size of what they meet."""
    shape, element = type_.get_shape(), type_.element_type
    if isinstance(element, infer.QuantType):
        format_ = lookup(module, element.format.data, infer.FormatOp)
        rows, cols = shape if len(shape) == 2 else (1, shape[0])
        return random_blocks(rng, rows, cols, format_, "random")
    values = rng.standard_normal(shape)
    values = values / np.sqrt(shape[-1]) if len(shape) == 2 else 1 + 0.1 * values
    return stored_floats(values, element)


def stored_floats(values: Array, element: Attribute) -> Bytes:
    """Values as little-endian f16, bf16 or f32."""
    if isinstance(element, Float16Type):
        return np.ascontiguousarray(values.astype("<f2")).view(np.uint8).reshape(-1)
    bits = np.ascontiguousarray(values.astype("<f4"))
    if isinstance(element, BFloat16Type):
        high = (bits.view("<u4") >> 16).astype("<u2")
        return np.ascontiguousarray(high).view(np.uint8).reshape(-1)
    return bits.view(np.uint8).reshape(-1)


@dataclass(frozen=True)
class Case:
    """One choice of sizes for a call."""

    dims: Mapping[str, int]
    history: int
    """Positions that every sequence holds before the call."""
    layer: int | None
    seed: int = 0

    def __str__(self) -> str:
        sizes_ = ", ".join(f"{name} = {size}" for name, size in self.dims.items())
        layer = "" if self.layer is None else f", layer {self.layer}"
        return f"{sizes_ or 'no named sizes'}, {self.history} positions held{layer}"


def cases(function: Sized, module: ModuleOp, seed: int = 0) -> Iterator[Case]:
    """The smallest call, a longer one that goes on from a history, and both ends of the layers."""
    ranges = _ranges(function)
    small = {name: first for name, (first, _) in ranges.items()}
    large = {
        name: min(last, first + 4) if name == "tokens" else min(last, first + 1)
        for name, (first, last) in ranges.items()
    }
    if "seqs" in large:
        large["tokens"] = max(large.get("tokens", 1), large["seqs"])
    layers = layers_of(function, module)
    for layer in dict.fromkeys((layers[0], layers[-1])):
        yield Case(small, 0, layer, seed)
        yield Case(large, 3, layer, seed)


def _ranges(function: Sized) -> dict[str, tuple[int, int]]:
    ranges = function.attributes.get("dims") or function.properties.get("dims")
    return ranges.as_dict() if isinstance(ranges, RangesAttr) else {}


def layers_of(function: Sized, module: ModuleOp) -> list[int | None]:
    """The layers that a function is run for, ascending; [None] if it is for no layer."""
    name, found = function.sym_name.data, set[int]()
    for op in module.walk():
        if isinstance(op, infer.LayersOp):
            for callee, first, last in op.schedule.steps():
                found |= set(range(first, last + 1)) if callee == name else set()
    if not found:
        weights = {w.sym_name.data: w for w in all_of(module, infer.WeightOp)}
        for op in function.walk():
            if isinstance(op, infer.WeightRefOp):
                weight = weights.get(op.weight.root_reference.data)
                found |= set(weight.layers) if weight is not None and weight.layers else set()
    return [*sorted(found)] or [None]


def arguments(function: Callee, module: ModuleOp, case: Case) -> list[Value]:
    """A value for every parameter of the function."""
    block = function.body.block if isinstance(function, func.FuncOp) else function.semantics.block
    batch = random_batch(module, case)
    return [
        _argument(value.type, number, function, module, case, batch)
        for number, value in enumerate(block.args)
    ]


def _argument(
    type_: Attribute, number: int, function: Callee, module: ModuleOp, case: Case, batch: Batch
) -> Value:
    rng = seeded(case.seed, "argument", number)
    match type_:
        case infer.BatchType():
            return batch
        case infer.StateType():
            state = lookup(module, type_.state.root_reference.data, infer.StateOp)
            return random_state(rng, state, case, batch.seqs)
        case TensorType() if _is_weight(type_):
            return _matrix(rng, type_, module)
        case TensorType():
            return random_array(rng, type_, case.dims)
    raise error(f"cannot draw a value of type {type_}", place_of(function))


def _is_weight(type_: TensorType[Attribute]) -> bool:
    packed = isinstance(type_.encoding, SymbolRefAttr)
    return packed or isinstance(type_.element_type, infer.QuantType)


def _matrix(rng: np.random.Generator, type_: TensorType[Attribute], module: ModuleOp) -> Value:
    from metainfer.interp.matrix import DenseMatrix, QuantMatrix

    raw, shape = random_tensor(rng, type_, module), type_.get_shape()
    if isinstance(type_.element_type, infer.QuantType):
        format_ = lookup(module, type_.element_type.format.data, infer.FormatOp)
        return QuantMatrix(format_, raw, shape[0], shape[1])
    return DenseMatrix(np.frombuffer(raw, "<f4").reshape(shape))


def random_array(
    rng: np.random.Generator, type_: TensorType[Attribute], dims: Mapping[str, int]
) -> Array:
    """Normal numbers that an f32 can hold, in the shape that the type has for these sizes."""
    return rng.standard_normal(_shape(type_, dims)).astype(np.float32).astype(np.float64)


def random_integers(
    rng: np.random.Generator, type_: TensorType[Attribute], dims: Mapping[str, int]
) -> Array:
    """Whole numbers from -8 to 8, whose sums and products are exact in f32."""
    return rng.integers(-8, 8, _shape(type_, dims), endpoint=True).astype(np.float64)


def _shape(type_: TensorType[Attribute], dims: Mapping[str, int]) -> list[int]:
    shape = []
    for size in sizes(type_):
        if isinstance(size, str) and size not in dims:
            raise error(f"the size '{size}' of {type_} is not known", help="declare it in dims")
        shape.append(dims[size] if isinstance(size, str) else size)
    return shape


def random_batch(module: ModuleOp, case: Case) -> Batch:
    """A step of `tokens` tokens: one for each sequence but the last, which has the rest."""
    seqs = case.dims.get("seqs", 1)
    tokens = max(case.dims.get("tokens", seqs), seqs)
    tables = [op for op in module.walk() if isinstance(op, infer.EmbedOp)]
    vocabulary = int(sizes(tables[0].weight.type)[0]) if tables else VOCABULARY
    ids = seeded(case.seed, "ids", tokens, seqs).integers(0, vocabulary, tokens).tolist()
    lengths = [1] * (seqs - 1) + [tokens - seqs + 1]
    spans, first = [], 0
    for length in lengths:
        spans.append((ids[first : first + length], case.history))
        first += length
    return Batch.of(spans)


def random_state(rng: np.random.Generator, state: infer.StateOp, case: Case, seqs: int) -> State:
    """A state whose sequences hold `case.history` positions in every layer that a call may meet."""
    held = {}
    for layer in (None, *state.layers):
        for seq in range(seqs):
            parts = []
            for type_ in (state.k, state.v):
                values = rng.standard_normal((case.history, *type_.get_shape()))
                half = isinstance(type_.element_type, Float16Type)
                parts.append(values.astype(np.float16 if half else np.float32).astype(np.float64))
            held[layer, seq] = Slots(*parts)
    return State.of(held)
