"""How threads share a kernel: one axis per op, the same for lowering and for barrier analysis.

Units are dealt out in order: part p of P owns units `[n * p / P, n * (p + 1) / P)` of n.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes

UNIT = 16
"""Rows or columns that threads never split."""

_AXES: dict[type[Operation], str] = {
    infer.LinearOp: "rows",
    infer.EmbedOp: "tokens",
    infer.AddOp: "columns",
    infer.GatedActOp: "columns",
    infer.ScaleOp: "columns",
    infer.SelectLastOp: "columns",
    infer.StateAppendOp: "columns",
    infer.AttendOp: "heads",
}


def head_width(op: Operation) -> int:
    """Columns of one head, for an op that is shared by heads."""
    if isinstance(op, infer.RmsNormOp):
        return int(sizes(op.weight.type)[0])
    assert isinstance(op, infer.RopeOp | infer.AttendOp)
    return op.head_dim.value.data


def axis_of(op: Operation) -> str:
    """The axis along which an op's results are shared between parts; `none` if it is not."""
    if isinstance(op, infer.RmsNormOp):
        return "tokens" if head_width(op) == sizes(op.x.type)[-1] else "heads"
    if isinstance(op, infer.RopeOp):
        adjacent = op.pairing.data == "interleaved"
        return "columns" if adjacent and op.head_dim.value.data % UNIT == 0 else "heads"
    return _AXES.get(type(op), "none")


def region_axis(block: Block) -> str:
    """The one axis of a kernel's ops, or `none` when they differ or feed each other."""
    ops = [op for op in block.ops if not isinstance(op, kernel.ReturnOp | infer.YieldOp)]
    axes = {axis_of(op) for op in ops}
    return axes.pop() if len(axes) == 1 and not feeds_inside(ops) else "none"


def feeds_inside(ops: Sequence[Operation]) -> bool:
    """Whether some op needs the result of another one of `ops`."""
    results = {r for op in ops for r in op.results}
    return any(o in results for op in ops for o in op.operands)


def share(units: int, part: int, parts: int) -> tuple[int, int]:
    """First and one past the last unit of a part."""
    return units * part // parts, units * (part + 1) // parts
