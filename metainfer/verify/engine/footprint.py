"""What each part of a kernel touches, from what the kernel declares and what its results depend on.

A part writes its share of each result along the kernel's declared axis: of n units, part p of P
owns `[n p / P, n (p + 1) / P)`. What it reads is what these elements depend on, found backwards
through the semantics. The passes have a derivation of their own, op by op (`passes/access.py`);
this one stands apart from it, so that an error in one is not an error in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.text import place_of

UNIT = 16
"""Rows of a weight, or columns, that a kernel never splits between parts."""


@dataclass(frozen=True)
class Columns:
    """Columns dealt out in units: every `group` successive ones stand for `width` columns."""

    units: int
    width: int
    group: int = 1

    def of(self, part: int, parts: int) -> tuple[int, int]:
        """First and one past the last column of a part; (0, 0) where it has none."""
        first, end = self.units * part // parts, self.units * (part + 1) // parts
        if first == end:
            return 0, 0
        return first // self.group * self.width, -(-end // self.group) * self.width


@dataclass(frozen=True)
class Share:
    """What one part touches of a (rows, columns) value."""

    own_rows: bool = False
    """Only the rows that are dealt out to it; else all."""
    columns: Columns | None = None
    """None: all."""
    alone: bool = False
    """Part 0 touches everything, the others nothing."""


ALL = Share()


@dataclass(frozen=True)
class Touch:
    """An access to an argument or a result of a kernel, by its name."""

    name: str
    write: bool
    share: Share


def footprint(func: kernel.FuncOp) -> list[Touch]:
    """Every access of a kernel to its tensors and states; weights are among the reads.

    DiagnosticError where the declared axis is none of an op's.
    """
    return list(_Footprint(func).touches())


@dataclass
class _Footprint:
    func: kernel.FuncOp
    needs: dict[SSAValue, list[Share]] = field(default_factory=dict)

    def touches(self) -> Iterator[Touch]:
        block = self.func.semantics.block
        last = block.last_op
        assert isinstance(last, kernel.ReturnOp)
        arguments = zip(block.args, self.func.arguments, strict=True)
        names: dict[SSAValue, str] = {a: n.data for a, n in arguments}
        outputs = {v: n.data for v, n in zip(last.operands, self.func.outputs, strict=True)}
        for op in reversed([op for op in block.ops if op is not last]):
            for result in op.results:
                written = _written(op, result, self.func)
                if result in outputs:
                    yield Touch(_memory(op, outputs[result], names), True, written)
                    for share in self.needs.get(result, []):
                        yield Touch(_memory(op, outputs[result], names), False, share)
                for share in (written, *self.needs.get(result, [])):
                    self._need(op, share)
        for value, name in names.items():
            for share in dict.fromkeys(self.needs.get(value, [])):
                yield Touch(name, False, share)

    def _need(self, op: Operation, share: Share) -> None:
        """Note what the elements of `share` of the op's results take from its operands."""
        for operand in op.operands:
            if isinstance(operand.type, infer.BatchType):
                continue
            if isinstance(op, infer.StateAppendOp) and operand is op.state:
                continue  # written, not read
            reads = share if share.alone else READS[type(op)](op, operand, share)
            self.needs.setdefault(operand, []).append(reads)


def _memory(op: Operation, output: str, names: dict[SSAValue, str]) -> str:
    """Where a result lies: a state is updated in the argument that it replaces."""
    return names[op.state] if isinstance(op, infer.StateAppendOp) else output


def _written(op: Operation, result: SSAValue, func: kernel.FuncOp) -> Share:
    """A part's share of a result, along the kernel's axis."""
    if type(op) not in READS:
        raise error(f"no footprint is known of {op.name}", place_of(op))
    value = op.k if isinstance(op, infer.StateAppendOp) else result
    assert isinstance(value.type, TensorType)
    width = int(sizes(value.type)[-1])
    match func.parts.data:
        case "none":
            return Share(alone=True)
        case "tokens":
            return Share(own_rows=True)
        case "rows" | "columns":
            return Share(columns=Columns(-(-width // UNIT), UNIT))
    head = _head(op)
    if head is None:
        raise error(f"@{func.sym_name.data} is shared by heads, {op.name} has none", place_of(op))
    return Share(columns=Columns(width // head, head))


def _head(op: Operation) -> int | None:
    if isinstance(op, infer.RmsNormOp):
        return int(sizes(op.weight.type)[0])
    if isinstance(op, infer.RopeOp | infer.AttendOp):
        return op.head_dim.value.data
    return None


def _same(op: Operation, operand: SSAValue, share: Share) -> Share:
    """`y[t, c]` from `x[t, c]`."""
    return share


def _weight(op: Operation, operand: SSAValue, share: Share) -> Share:
    """Weights are never written, so it does not matter which part of them is read."""
    return ALL


def _row(op: infer.LinearOp, operand: SSAValue, share: Share) -> Share:
    """`y[t, c]` from `x[t, :]`."""
    return replace(share, columns=None) if operand is op.x else ALL


def _run(op: infer.RmsNormOp, operand: SSAValue, share: Share) -> Share:
    """`y[t, c]` from the run of elements that is normalised with it."""
    return _blocks(share, int(sizes(op.weight.type)[0])) if operand is op.x else ALL


def _turn(op: infer.RopeOp, operand: SSAValue, share: Share) -> Share:
    """`y[t, c]` from the two elements of its pair: neighbours, or half a head apart."""
    return _blocks(share, 2 if op.pairing.data == "interleaved" else op.head_dim.value.data)


def _blocks(share: Share, size: int) -> Share:
    """The share where it consists of whole blocks of columns, else all columns of its rows."""
    whole = share.columns is None or share.columns.width % size == 0
    return share if whole else replace(share, columns=None)


def _any_row(op: Operation, operand: SSAValue, share: Share) -> Share:
    """`y[s, c]` from `x[t, c]` for a t that the batch says."""
    return replace(share, own_rows=False)


def _attention(op: infer.AttendOp, operand: SSAValue, share: Share) -> Share:
    """`y[t, h]` from `q[t, h]` and all positions of the keys and values of h's group."""
    head, heads = op.head_dim.value.data, op.q_heads.value.data
    if operand is op.q:
        return _blocks(share, head)
    if share.columns != Columns(heads, head):
        return ALL
    return Share(columns=Columns(heads, head, heads // op.kv_heads.value.data))


Reads = Callable[[Any, SSAValue, Share], Share]
READS: dict[type[Operation], Reads] = {
    infer.EmbedOp: _weight,
    infer.LinearOp: _row,
    infer.RmsNormOp: _run,
    infer.RopeOp: _turn,
    infer.AddOp: _same,
    infer.GatedActOp: _same,
    infer.ScaleOp: _same,
    infer.SelectLastOp: _any_row,
    infer.StateAppendOp: _same,
    infer.AttendOp: _attention,
}
"""What a share of an op's results takes from an operand."""
