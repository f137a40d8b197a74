"""Weights for a candidate: random blocks of any format, built from the fields it declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, VectorType
from xdsl.ir import Attribute

from metainfer.codegen.packing import field_shape, pack_weight
from metainfer.ir.dialects import infer
from metainfer.verify.faults import InfraError
from metainfer.verify.memory import Bytes

Kind = Literal["random", "exact"]
"""`random`: any code, scales from 2^-10 to 1/8. `exact`: any code, scales and floats ±1 and ±2."""


@dataclass(frozen=True)
class Weight:
    """A matrix as a checkpoint holds it (`raw`, row by row) and as a kernel gets it (`streams`)."""

    kind: Kind
    rows: int
    cols: int
    format: infer.FormatOp
    raw: Bytes
    streams: dict[str, Bytes]


def make_weight(
    rng: np.random.Generator,
    rows: int,
    cols: int,
    format_: infer.FormatOp,
    lanes: int,
    kind: Kind,
) -> Weight:
    """A (rows, cols) weight of `format_`, packed for `lanes` output rows side by side."""
    raw = random_blocks(rng, rows, cols, format_, kind)
    streams = pack_weight(raw, rows, cols, format_, lanes)
    return Weight(kind, rows, cols, format_, raw, streams)


def random_blocks(
    rng: np.random.Generator, rows: int, cols: int, format_: infer.FormatOp, kind: Kind
) -> Bytes:
    """A (rows, cols) weight of `format_` as a checkpoint holds it."""
    blocks = cols // format_.block.value.data
    raw = np.empty((rows, blocks, format_.bytes.value.data), np.uint8)
    start = 0
    for argument in format_.decode.block.args:
        count, width = field_shape(argument.type)
        field = _field(rng, (rows, blocks, count), argument.type, kind)
        raw[:, :, start : start + count * width] = field.reshape(rows, blocks, count * width)
        start += count * width
    return raw.reshape(-1)


def _field(
    rng: np.random.Generator, shape: tuple[int, int, int], type_: Attribute, kind: Kind
) -> Bytes:
    element = type_.element_type if isinstance(type_, VectorType) else type_
    if isinstance(element, AnyFloat):
        return _floats(rng, shape, element, kind)
    count, width = field_shape(type_)
    total = shape[0] * shape[1] * count * width
    words = rng.integers(0, 1 << 64, -(-total // 8), np.uint64, endpoint=False)
    codes = words.view(np.uint8)[:total].reshape(*shape[:2], count * width)
    # Whole rows of one code: the ends of the signed and unsigned ranges, both nibbles.
    for row, code in enumerate((0x00, 0xFF, 0x80, 0x7F, 0x0F, 0xF0)):
        codes[3 + row :: 16] = code
    return codes


def _floats(
    rng: np.random.Generator, shape: tuple[int, int, int], element: Attribute, kind: Kind
) -> Bytes:
    if not isinstance(element, Float16Type | Float32Type | BFloat16Type):
        raise InfraError(f"no test values for format fields of type {element}")
    dtype = np.float16 if isinstance(element, Float16Type) else np.float32
    if kind == "exact":
        values = rng.choice(np.array([-2, -1, 1, 2], dtype), shape)
    else:
        size = np.exp2(rng.uniform(-10.0, -3.0, shape).astype(np.float32))
        values = (np.where(rng.random(shape, np.float32) < 0.5, -size, size)).astype(dtype)
        values[5::16, 0] = 0.0
    if isinstance(element, BFloat16Type):
        # The upper half of a float is a bf16: cutting the rest off leaves values of that type.
        values = (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(values).view(np.uint8)
