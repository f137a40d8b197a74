"""From the checkpoint's bytes to a layout's streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from metainfer.ir.dialects import infer

Bytes = npt.NDArray[np.uint8]


def field_shape(type_: Any) -> tuple[int, int]:
    """`(elements, bytes per element)` of a format field."""
    count = math.prod(infer.vector_shape(type_))
    return count, infer.field_bytes(type_) // count


def pack_weight(
    raw: Any, rows: int, cols: int, format_: infer.FormatOp, lanes: int
) -> dict[str, Bytes]:
    """Streams of a matrix: element e of block b of row r at `[r / lanes][b][e][r % lanes]`.

    `raw` holds the blocks row by row as the checkpoint stores them. Padding rows are zeros.
    """
    blocks = cols // format_.block.value.data
    stored = np.frombuffer(raw, np.uint8).reshape(rows, blocks, format_.bytes.value.data)
    groups = -(-rows // lanes)
    streams: dict[str, Bytes] = {}
    start = 0
    for field, argument in zip(format_.fields, format_.decode.block.args, strict=True):
        count, width = field_shape(argument.type)
        part = stored[:, :, start : start + count * width]
        start += count * width
        padded = np.zeros((groups * lanes, blocks, count * width), np.uint8)
        padded[:rows] = part
        tiles = padded.reshape(groups, lanes, blocks, count, width)
        streams[field.data] = np.ascontiguousarray(tiles.transpose(0, 2, 3, 1, 4)).reshape(-1)
    return streams
