"""Bytes of packed weights, state slabs and buffers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute

from metainfer.ir.dialects import infer
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup

ALIGN = 64
"""Every pack, stream, slab and buffer starts at a multiple of a cache line."""
POSITIONS = 16
"""Positions per block of a key slab."""


def align(offset: int, to: int = ALIGN) -> int:
    """The next multiple of `to`."""
    return -(-offset // to) * to


def weight_format(type_: TensorType[Attribute], module: ModuleOp) -> infer.FormatOp:
    """The format of a weight: that of its quantised element type, or `@f32`."""
    element = type_.element_type
    name = element.format.data if isinstance(element, infer.QuantType) else "f32"
    return lookup(module, name, infer.FormatOp)


def stream_bytes(rows: int, cols: int, format_: infer.FormatOp, lanes: int) -> dict[str, int]:
    """Bytes of each field's stream for a (rows, cols) matrix; rows are padded to whole lanes."""
    blocks = cols // format_.block.value.data
    padded = -(-rows // lanes) * lanes
    return {
        field.data: padded * blocks * infer.field_bytes(argument.type)
        for field, argument in zip(format_.fields, format_.decode.block.args, strict=True)
    }


def pack_streams(weight: infer.WeightOp, module: ModuleOp) -> tuple[dict[str, int], int]:
    """Offset of each stream inside one layer's stretch of the weight, and the stretch's bytes.

    A vector has one stream, `w`.
    """
    layout = weight.type.encoding
    if not isinstance(layout, SymbolRefAttr):
        return {"w": 0}, align(4 * math.prod(weight.type.get_shape()))
    lanes = lookup(module, layout.root_reference.data, infer.LayoutOp).lanes.value.data
    rows, cols = weight.type.get_shape()
    streams, offset = {}, 0
    for field, size in stream_bytes(rows, cols, weight_format(weight.type, module), lanes).items():
        streams[field] = offset
        offset = align(offset + size)
    return streams, offset


def padded_context(context: int) -> int:
    """Positions that a slab has room for: whole blocks."""
    return align(context, POSITIONS)


def state_bytes(state: infer.StateOp) -> int:
    """Bytes of one layer's slab, keys then values."""
    return align(padded_context(state.slots()) * state.bytes_per_token())


def key_bytes(state: infer.StateOp) -> int:
    """Offset of the values inside a slab."""
    width = infer.field_bytes(state.k.element_type)
    return padded_context(state.slots()) * math.prod(state.k.get_shape()) * width


def buffer_bytes(type_: Attribute, ranges: dict[str, tuple[int, int]]) -> int:
    """Bytes of a float buffer for the largest batch of an entry."""
    most = [ranges[s][1] if isinstance(s, str) else s for s in sizes(type_)]
    return align(4 * math.prod(most))
