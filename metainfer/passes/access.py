"""What each part of a kernel call reads and writes: the ground for barriers and memory reuse.

Between two barriers the parts of different calls run in any order, so no part's writes may meet
another part's reads or writes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.passes.parts import UNIT, axis_of, head_width, share


@dataclass(frozen=True)
class Access:
    """One part's share of a buffer: a split of rows or columns, everything, or part 0's alone."""

    axis: str
    """`rows`, `columns`, `all`, or `first` (the first part touches everything)."""
    units: int = 0
    """Number of column units dealt out."""
    width: int = 0
    """Columns per unit."""
    rows: str = ""
    """Name of the dimension that a row split deals out."""

    def columns(self, part: int, parts: int) -> tuple[int, int]:
        first, end = share(self.units, part, parts)
        return first * self.width, end * self.width


def conflict(a: Access, b: Access, threads: int) -> bool:
    """Whether different parts of two calls can touch the same bytes, at any thread count."""
    if threads == 1 or a.axis == b.axis == "first":
        return False
    if a.axis == b.axis == "rows":
        return a.rows != b.rows
    if not a.axis == b.axis == "columns":
        return True
    return any(
        _overlap(a.columns(p, parts), b.columns(q, parts))
        for parts in range(2, threads + 1)
        for p in range(parts)
        for q in range(parts)
        if p != q
    )


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _width(value: SSAValue) -> int:
    return int(sizes(value.type)[-1])


def _split(op: Operation, value: SSAValue) -> Access:
    """The share of `value` that follows the op's own axis."""
    axis = axis_of(op)
    if axis == "tokens":
        return Access("rows", rows=str(sizes(value.type)[0]))
    if axis == "heads":
        head = head_width(op)
        return Access("columns", _width(value) // head, head)
    if axis in ("columns", "rows"):
        return Access("columns", -(-_width(value) // UNIT), UNIT)
    return Access("all")


def _reads(op: Operation, value: SSAValue) -> Access:
    everything = isinstance(op, infer.LinearOp) or isinstance(value.type, infer.StateType)
    if everything and not isinstance(op, infer.StateAppendOp):
        return Access("all")
    return _split(op, value) if isinstance(value.type, TensorType) else Access("all")


def _writes(op: Operation, result: SSAValue) -> Access:
    if isinstance(op, infer.StateAppendOp):
        return _split(op, op.k)
    return _split(op, result)


def accesses(func: kernel.FuncOp) -> Iterator[tuple[str, str, Access]]:
    """`(argument or result, "read" or "write", share)` of a kernel; weights are never written.

    A state that the kernel updates is a write of the argument.
    """
    block = func.semantics.block
    names = {a: n.data for a, n in zip(block.args, func.arguments, strict=True)}
    last = block.last_op
    assert isinstance(last, kernel.ReturnOp)
    outputs = {v: n.data for v, n in zip(last.operands, func.outputs, strict=True)}
    alone = func.parts.data == "none"
    for op in block.ops:
        if op is last:
            continue
        for operand in op.operands:
            if operand in names and not isinstance(operand.type, infer.BatchType):
                taken = isinstance(op, infer.StateAppendOp) and operand is op.state
                how = _writes(op, operand) if taken else _reads(op, operand)
                yield names[operand], "write" if taken else "read", _first(how, alone)
        for result in op.results:
            if result in outputs and isinstance(result.type, TensorType):
                yield outputs[result], "write", _first(_writes(op, result), alone)


def _first(access: Access, alone: bool) -> Access:
    return Access("first") if alone else access
