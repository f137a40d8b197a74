"""From a format's `decode` region to C that yields one weight, for 16 rows or for one.

A region is an array program over one block. Here each element of its result becomes an expression
in the loop variable `j`: elementwise ops and reshapes keep the flat index, slices and concats
shift it, repetition divides it. Where pieces are joined or a repeated value changes, the range of
`j` splits, and each segment is one C loop; what does not depend on `j` is computed before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
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

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer
from metainfer.ir.text import place_of


@dataclass(frozen=True)
class Index:
    """Flat element number `(j + shift) / divisor` of a value; `fixed`: without the `j`."""

    shift: int
    divisor: int = 1
    fixed: bool = False

    def __str__(self) -> str:
        if self.fixed:
            return str(self.first)
        base = f"j + {self.shift}" if self.shift else "j"
        return base if self.divisor == 1 else f"({base}) / {self.divisor}"

    @property
    def first(self) -> int:
        """The element at `j = 0`."""
        return self.shift // self.divisor

    def moved(self, elements: int) -> Index:
        """The index of what lies `elements` further on."""
        return replace(self, shift=self.shift + elements * self.divisor)


@dataclass(frozen=True)
class Segment:
    """Elements `start` to `start + length` of a block, given by one expression in `j`.

    `shared` holds `(name, expression)` of values that the whole segment has in common.
    """

    start: int
    length: int
    expression: str
    shared: dict[str, str]


@dataclass(frozen=True)
class Spelling:
    """How one use of a decoder writes loads, multiply-adds, conversions and shared values."""

    load: Callable[[str, str, str], str]
    """`(kind of field, pointer, element index)` → the loaded value"""
    fma: str
    to_f32: str
    lookup: str
    constant: Callable[[str], str]
    shared: Callable[[str], str]


def _load_rows(kind: str, pointer: str, index: str) -> str:
    if index == "0":
        return f"mi_load_{kind}({pointer} + n * MI_V)"
    element = index if index.isalnum() else f"({index})"
    return f"mi_load_{kind}({pointer} + {element} * MI_LANES + n * MI_V)"


def _load_row(kind: str, pointer: str, index: str) -> str:
    element = "lane" if index == "0" else f"({index}) * MI_LANES + lane"
    if kind == "bf16":
        return f"mi_bf16({pointer}[{element}])"
    return f"({'int32_t' if kind == 'u8' else 'float'}){pointer}[{element}]"


ROWS = Spelling(
    _load_rows, "mi_fma", "mi_to_f32", "mi_lookup", lambda c: f"mi_set({c})", lambda s: f"{s}[n]"
)
"""16 rows at a time, in vectors `n` of `MI_V` lanes."""
ONE_ROW = Spelling(
    _load_row, "__builtin_fmaf", "(float)", "mi_lookup_one", lambda c: c, lambda s: s
)
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
_KINDS = {"uint8_t": "u8", "_Float16": "f16", "float": "f32", "uint16_t": "bf16"}


@dataclass
class BlockDecoder:
    """C for the `decode` region of one format.

    `pointers[i]` is the C pointer to the current block in the stream of field i, `ctypes[i]` its
    element type. After `segments()`, `shared` holds what a whole block has in common (name → C
    text) and `tables` its constant tables (name → element type and elements).
    """

    format: infer.FormatOp
    pointers: list[str]
    ctypes: list[str]
    spelling: Spelling
    shared: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)
    _local: dict[str, str] = field(default_factory=dict)
    _length: int = 0

    def segments(self) -> list[Segment]:
        """The pieces of the block, in order."""
        last = self.format.decode.block.last_op
        assert isinstance(last, infer.DecodedOp)
        edges = sorted(_edges(last.values) | {0, prod(_shape(last.values))})
        return [self._segment(last.values, a, b - a) for a, b in pairwise(edges)]

    def _segment(self, value: SSAValue, start: int, length: int) -> Segment:
        self._local, self._length = {}, length
        expression = self._value(value, Index(start))
        return Segment(start, length, expression, self._local)

    def _value(self, value: SSAValue, index: Index) -> str:
        if isinstance(value, BlockArgument):
            element = str(index) if _shape(value) else "0"
            kind = _KINDS[self.ctypes[value.index]]
            return self.spelling.load(kind, self.pointers[value.index], element)
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case arith.ConstantOp():
                return self._constant(op, index)
            case infer.ConcatOp():
                part, moved = _piece(op, index)
                return self._value(part, moved)
            case infer.SliceOp():
                inner = prod(_shape(op.x)[1:])
                return self._value(op.x, index.moved(op.offset.value.data * inner))
            case infer.ReshapeOp():
                return self._value(op.x, index)
            case infer.CastOp():
                return self._cast(op, index)
            case infer.LookupOp():
                table = self._table(list(op.table.get_values()))
                return f"{self.spelling.lookup}({table}, {self._value(op.x, index)})"
            case _ if type(op) in _INTEGER:
                return self._integer(op, index)
            case _ if type(op) in _FLOAT:
                return self._float(op, index)
        raise error(f"no C lowering for {op.name} in a decode region", place_of(op))

    def _integer(self, op: Operation, index: Index) -> str:
        symbol = _INTEGER[type(op)]
        a, b = (self._value(o, index) for o in op.operands)
        return _wrapped(f"({a} {symbol} {b})", op, symbol)

    def _float(self, op: Operation, index: Index) -> str:
        symbol = _FLOAT[type(op)]
        left, right = op.operands
        fma = self.spelling.fma
        if symbol in "+-" and isinstance(left.owner, arith.MulfOp):
            a, b = (self._value(o, index) for o in left.owner.operands)
            sign = "-" if symbol == "-" else ""
            return f"{fma}({a}, {b}, {sign}{self._value(right, index)})"
        if symbol == "+" and isinstance(right.owner, arith.MulfOp):
            a, b = (self._value(o, index) for o in right.owner.operands)
            return f"{fma}({a}, {b}, {self._value(left, index)})"
        return f"({self._value(left, index)} {symbol} {self._value(right, index)})"

    def _cast(self, op: infer.CastOp, index: Index) -> str:
        given, wanted = _shape(op.x), _shape(op.result)
        if given == wanted:
            return self._converted(op, self._value(op.x, index))
        if not given:
            text = self._converted(op, self._value(op.x, index))
            return self._shared(self.shared, "c", text, op)
        inner = index.divisor * prod(wanted[len(given) :])
        first, last = index.shift // inner, (index.shift + self._length - 1) // inner
        if index.fixed or first == last:
            text = self._converted(op, self._value(op.x, Index(first, fixed=True)))
            return self._shared(self._local, "s", text, op)
        return self._converted(op, self._value(op.x, Index(index.shift, inner)))

    def _converted(self, op: infer.CastOp, text: str) -> str:
        source, target = _element(op.x), _element(op.result)
        if not isinstance(source, IntegerType):
            return text
        if op.signed is not None:
            sign = 1 << (source.width.data - 1)
            text = f"(({text} ^ {sign}) - {sign})"
        return text if isinstance(target, IntegerType) else f"{self.spelling.to_f32}({text})"

    def _shared(self, known: dict[str, str], prefix: str, text: str, op: infer.CastOp) -> str:
        """The name of a float computed once; integers stay in place, they are cheap to redo."""
        if isinstance(_element(op.result), IntegerType):
            return text
        for name, present in known.items():
            if present == text:
                return self.spelling.shared(name)
        name = f"{prefix}{len(known)}"
        known[name] = text
        return self.spelling.shared(name)

    def _constant(self, op: arith.ConstantOp, index: Index) -> str:
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            assert isinstance(value, IntegerAttr | FloatAttr)
            return _number(value.value.data)
        elements = list(value.get_values())
        if len(set(elements)) == 1:
            return _number(elements[0])
        if index.fixed:
            return _number(elements[index.first])
        return f"{self._table(elements)}[{index}]"

    def _table(self, elements: Sequence[int | float]) -> str:
        kind = "float" if isinstance(elements[0], float) else "int32_t"
        text = f"{{{', '.join(_number(v) for v in elements)}}}"
        for name, present in self.tables.items():
            if present == (kind, text):
                return name
        name = f"t{len(self.tables)}"
        self.tables[name] = (kind, text)
        return name


def _shape(value: SSAValue) -> tuple[int, ...]:
    return infer.vector_shape(value.type)


def _element(value: SSAValue) -> Any:
    type_ = value.type
    return type_.element_type if isinstance(type_, VectorType) else type_


def _edges(value: SSAValue) -> set[int]:
    """Flat indices at which the expression of an element changes its form."""
    op = value.owner
    if not isinstance(op, Operation) or not _shape(value):
        return set()
    match op:
        case infer.ConcatOp():
            return _concat_edges(op)
        case infer.SliceOp():
            first = op.offset.value.data * prod(_shape(op.x)[1:])
            total = prod(_shape(op.result))
            return {e - first for e in _edges(op.x) if first <= e <= first + total}
        case infer.CastOp() if _shape(op.x) != _shape(op.result):
            if isinstance(_element(op.result), IntegerType):
                return set()
            inner = prod(_shape(op.result)[len(_shape(op.x)) :])
            return {n * inner for n in range(prod(_shape(op.x)) + 1)} if _shape(op.x) else set()
    return set().union(*(_edges(o) for o in op.operands))


def _concat_edges(op: infer.ConcatOp) -> set[int]:
    edges: set[int] = set()
    axis, whole = op.along(), _shape(op.result)
    inner, outer = prod(whole[axis + 1 :]), prod(whole[:axis])
    stride, start = whole[axis] * inner, 0
    for part in op.parts:
        length = _shape(part)[axis] * inner
        for o in range(outer):
            base = o * stride + start
            edges |= {base, base + length}
            edges |= {base + e - o * length for e in _edges(part) if 0 <= e - o * length <= length}
        start += length
    return edges


def _piece(op: infer.ConcatOp, index: Index) -> tuple[SSAValue, Index]:
    """The joined vector that the index falls into, and the index there."""
    axis, whole = op.along(), _shape(op.result)
    inner = prod(whole[axis + 1 :])
    outer, within = divmod(index.first, whole[axis] * inner)
    for part in op.parts:
        length = _shape(part)[axis] * inner
        if within < length:
            return part, index.moved(outer * length + within - index.first)
        within -= length
    raise AssertionError("index beyond the parts of a concat")


def _wrapped(text: str, op: Operation, symbol: str) -> str:
    """Keep integers narrower than 32 bits in their range where an op can leave it."""
    element = _element(op.results[0])
    assert isinstance(element, IntegerType)
    width = element.width.data
    if width >= 32 or symbol in ("&", "|", "^", ">>"):
        return text
    return f"({text} & {(1 << width) - 1})"


def _number(number: int | float) -> str:
    return f"{number!r}f" if isinstance(number, float) else str(number)
