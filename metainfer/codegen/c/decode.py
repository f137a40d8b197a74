"""From a format's `decode` region to C that yields one weight, for 16 rows or for one.

A region is an array program over one block. Here each element of its result becomes an expression
in the loop variable `j`: elementwise ops keep the index, `infer.concat` shifts it, a repeated
scalar drops it. Where pieces are joined the element range splits, and each piece is one C loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import BlockArgument, Operation, SSAValue

from metainfer.ir.dialects import infer


@dataclass(frozen=True)
class Index:
    """Element number `(j + shift) / divisor` of a value."""

    shift: int
    divisor: int = 1

    def __str__(self) -> str:
        base = f"j + {self.shift}" if self.shift else "j"
        if self.divisor == 1:
            return base
        return f"({base}) / {self.divisor}"


@dataclass(frozen=True)
class Segment:
    """Elements `start` to `start + length` of a block, given by one expression in `j`."""

    start: int
    length: int
    expression: str


@dataclass(frozen=True)
class Dialect:
    """How the two uses spell a load, a multiply-add and conversions."""

    load: Callable[[str, str, str], str]
    """`(C type of the field, field, element index)` → the loaded value"""
    fma: str
    to_f32: str
    constant: Callable[[str], str]


def _vector_load(kind: str, field: str, index: str) -> str:
    return f"mi_load_{kind}({field} + ({index}) * MI_LANES + n * MI_V)"


def _scalar_load(kind: str, field: str, index: str) -> str:
    wide = "int32_t" if kind == "u8" else "float"
    return f"({wide}){field}[({index}) * MI_LANES + lane]"


ROWS = Dialect(_vector_load, "mi_fma", "mi_to_f32", lambda c: f"mi_set({c})")
"""16 rows at a time, in vectors `n` of `MI_V` lanes."""
ONE_ROW = Dialect(_scalar_load, "__builtin_fmaf", "(float)", lambda c: c)
"""The row of lane `lane` only."""

_INTEGER: dict[type[Operation], str] = {
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
    arith.ShLIOp: "<<",
    arith.ShRUIOp: ">>",
    arith.AddiOp: "+",
    arith.SubiOp: "-",
    arith.MuliOp: "*",
}
_FLOAT: dict[type[Operation], str] = {arith.AddfOp: "+", arith.SubfOp: "-", arith.MulfOp: "*"}
_KINDS = {"uint8_t": "u8", "_Float16": "f16", "float": "f32"}


class BlockDecoder:
    """C for the `decode` region of one format.

    `fields[i]` is the C pointer to the current block in the stream of field i, `ctypes[i]` its
    element type. `shared` holds `(name, expression)` of values that do not depend on `j`; they
    are computed once per block.
    """

    def __init__(
        self, format_: infer.FormatOp, fields: list[str], ctypes: list[str], dialect: Dialect
    ) -> None:
        self.block = format_.decode.block
        self.fields = fields
        self.kinds = [_KINDS[c] for c in ctypes]
        self.dialect = dialect
        self.shared: dict[str, str] = {}
        last = self.block.last_op
        assert isinstance(last, infer.DecodedOp)
        self.result = last.values

    def segments(self) -> list[Segment]:
        """The pieces of the block, in order."""
        total = infer.vector_shape(self.result.type)[0]
        edges = sorted(self._edges(self.result) | {0, total})
        return [Segment(a, b - a, self._value(self.result, Index(a))) for a, b in pairwise(edges)]

    def _edges(self, value: SSAValue) -> set[int]:
        op = value.owner
        if isinstance(op, infer.ConcatOp):
            edges, start = set[int](), 0
            for part in op.parts:
                edges |= {start} | {start + e for e in self._edges(part)}
                start += infer.vector_shape(part.type)[0]
            return edges
        if isinstance(op, Operation) and infer.vector_shape(value.type):
            repeated = isinstance(op, infer.CastOp) and op.x.type != value.type
            if repeated and infer.vector_shape(op.operands[0].type) != _shape(value):
                return set()
            return set().union(*(self._edges(o) for o in op.operands))
        return set()

    def _value(self, value: SSAValue, index: Index) -> str:
        if isinstance(value, BlockArgument):
            element = str(index) if _shape(value) else "0"
            return self.dialect.load(self.kinds[value.index], self.fields[value.index], element)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, arith.ConstantOp):
            return _constant(op)
        if isinstance(op, infer.ConcatOp):
            return self._piece(op, index)
        if isinstance(op, infer.CastOp):
            return self._cast(op, index)
        if (symbol := _INTEGER.get(type(op))) is not None:
            a, b = (self._value(o, index) for o in op.operands)
            return _wrapped(f"({a} {symbol} {b})", op, symbol)
        return self._float(op, index)

    def _float(self, op: Operation, index: Index) -> str:
        symbol = _FLOAT[type(op)]
        if symbol == "+":
            for product, other in (op.operands, reversed(op.operands)):
                if isinstance(product.owner, arith.MulfOp):
                    a, b = (self._value(o, index) for o in product.owner.operands)
                    return f"{self.dialect.fma}({a}, {b}, {self._value(other, index)})"
        a, b = (self._value(o, index) for o in op.operands)
        return f"({a} {symbol} {b})"

    def _piece(self, op: infer.ConcatOp, index: Index) -> str:
        start = 0
        for part in op.parts:
            length = _shape(part)[0]
            if index.shift < start + length:
                return self._value(part, Index(index.shift - start))
            start += length
        raise AssertionError("segment beyond the parts of a concat")

    def _cast(self, op: infer.CastOp, index: Index) -> str:
        given, wanted = _shape(op.x), _shape(op.result)
        if given == wanted:
            return self._converted(op, self._value(op.x, index))
        if not given:
            return self._share(op, self._converted(op, self._value(op.x, index)))
        inner = 1
        for size in wanted[len(given) :]:
            inner *= size
        return self._converted(op, self._value(op.x, Index(index.shift, index.divisor * inner)))

    def _converted(self, op: infer.CastOp, text: str) -> str:
        source, target = _element(op.x), _element(op.result)
        if not isinstance(source, IntegerType):
            return text
        if op.signed is not None:
            sign = 1 << (source.width.data - 1)
            text = f"(({text} ^ {sign}) - {sign})"
        return text if isinstance(target, IntegerType) else f"{self.dialect.to_f32}({text})"

    def _share(self, op: infer.CastOp, text: str) -> str:
        for name, known in self.shared.items():
            if known == text:
                return name + ("[n]" if self.dialect is ROWS else "")
        name = f"c{len(self.shared)}"
        self.shared[name] = text
        return name + ("[n]" if self.dialect is ROWS else "")


def _shape(value: SSAValue) -> tuple[int, ...]:
    return infer.vector_shape(value.type)


def _element(value: SSAValue) -> Any:
    type_ = value.type
    return type_.element_type if isinstance(type_, VectorType) else type_


def _wrapped(text: str, op: Operation, symbol: str) -> str:
    """Keep integers narrower than 32 bits in their range where an op can leave it."""
    element = _element(op.results[0])
    assert isinstance(element, IntegerType)
    width = element.width.data
    if width >= 32 or symbol in ("&", "|", "^", ">>"):
        return text
    return f"({text} & {(1 << width) - 1})"


def _constant(op: arith.ConstantOp) -> str:
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr):
        elements = value.get_values()
        if len(set(elements)) != 1:
            raise NotImplementedError("a table in a decode region")
        number: Any = elements[0]
    else:
        assert isinstance(value, IntegerAttr | FloatAttr)
        number = value.value.data
    return f"{float(number).hex()}f" if isinstance(number, float) else str(number)
