"""Accesses: each is proven to lie inside its buffer, or is a finding."""

from __future__ import annotations

from typing import Any

from metainfer.verify.static.affine import Form
from metainfer.verify.static.buffers import Given, batch_element
from metainfer.verify.static.operators import Operators
from metainfer.verify.static.tree import Index, Place, Variable
from metainfer.verify.static.values import (
    INT,
    Buffer,
    Data,
    Num,
    Pointer,
    Unknown,
    Value,
)


class Accesses:
    """Checks accesses and says what a load gives.

    `tainted` are the variables and local arrays of integers into which data goes somewhere; they
    grow while a body is walked, and the walk is repeated until they no longer do.
    """

    def __init__(self, given: Given, operators: Operators, tainted: set[int]) -> None:
        self.given, self.operators, self.tainted = given, operators, tainted
        self.space, self.report = operators.space, operators.report

    def stride(self, pointer: Pointer, lanes: int) -> int:
        """Bytes from one element to the next, where an element may be an array."""
        size = pointer.element.bytes(lanes)
        for count in pointer.dims[1:]:
            size *= count
        return size

    def indexed(self, expr: Index, base: Pointer, index: Value, lanes: int) -> Value:
        """A pointer to `base[index]`; inside an array of arrays, the index stays in its row."""
        if isinstance(index, Data):
            self.report(expr.index.place, "an index depends on data")
            return Unknown("its index depends on data")
        if not isinstance(index, Num):
            self.report(expr.index.place, "an index is not known")
            return Unknown("its index is not known")
        if base.dims and not base.buffer.size.same(
            Form.of(base.dims[0] * self.stride(base, lanes))
        ):
            self._inside_row(expr.place, index.form, base.dims[0])
        offset = base.offset.plus(index.form, self.stride(base, lanes))
        return Pointer(base.buffer, offset, base.element, base.dims[1:])

    def _inside_row(self, place: Place, index: Form, count: int) -> None:
        if not self.space.inside(index, 0, count - 1):
            lo, hi = self.space.range(index)
            self.report(place, f"an index of {lo} to {hi} leaves a row of {count}")

    def load(self, place: Place, where: Pointer, lanes: int) -> Value:
        """Read one element; the batch and local integers give numbers, all else is data."""
        buffer, type_ = where.buffer, where.element
        self.touch(place, where, Form.of(type_.bytes(lanes)), False)
        if type_ is not buffer.element and type_.size > 1:
            self.report(place, f"reads {buffer.name} as {type_.name}")
        if buffer.field is not None:
            return self._batch(place, where)
        if type_.kind != "int":
            return Data(type_)
        if buffer.slot is not None and buffer.slot not in self.tainted:
            lo, hi = (buffer.lo, buffer.hi) if buffer.table else (type_.lo, type_.hi)
            return Num(self.space.new(place, lo, hi), type_)
        return Data(type_, type_.lo, type_.hi)

    def _batch(self, place: Place, where: Pointer) -> Value:
        offset = where.offset
        if any(c % 4 for c in (offset.const, *offset.terms.values())):
            return self.operators.any_of(place, where.element)
        index = Form({s: c // 4 for s, c in offset.terms.items()}, offset.const // 4)
        integers = self.operators.integers
        assert where.buffer.field is not None
        return Num(batch_element(where.buffer.field, index, self.given, integers), where.element)

    def selected(self, place: Place, table: Pointer, index: Num | Data, lanes: int) -> Value:
        """An element of a table, where a value may be the index; it is data then."""
        size = table.element.bytes(lanes)
        if isinstance(index, Num):
            offset = table.offset.plus(index.form, size)
            return self.load(place, Pointer(table.buffer, offset, table.element), lanes)
        if not table.buffer.table:
            self.report(place, "an index depends on data, and this is no constant local table")
            return Data(table.element)
        lo, hi = self.operators.bounds(index)
        first = table.offset.shifted(lo * size)
        self.touch(place, Pointer(table.buffer, first, table.element), Form.of(size), False)
        last = table.offset.shifted(hi * size)
        self.touch(place, Pointer(table.buffer, last, table.element), Form.of(size), False)
        kept = (table.buffer.lo, table.buffer.hi) if table.element.kind == "int" else ()
        return Data(table.element, *kept)

    def store(self, place: Place, where: Pointer, value: Value, lanes: int) -> None:
        """Write one element."""
        buffer, type_ = where.buffer, where.element
        self.touch(place, where, Form.of(type_.bytes(lanes)), True)
        if type_ is not buffer.element and type_.size > 1:
            self.report(place, f"writes {buffer.name} as {type_.name}")
        if not isinstance(value, Num):
            self.taint(buffer)

    def taint(self, buffer: Buffer) -> None:
        """A local array of integers holds data from here on, and in another turn before."""
        if buffer.slot is not None:
            self.tainted.add(buffer.slot)

    def written(self, where: Value) -> None:
        """A call writes somewhere: what no rule here follows is data."""
        if isinstance(where, Pointer):
            self.taint(where.buffer)

    def touch(self, place: Place, where: Value, width: Form, write: bool) -> None:
        """An access of `width` bytes: `0 <= offset` and `offset + width <= size`."""
        if not isinstance(where, Pointer):
            why = where.why if isinstance(where, Unknown) else "it is no pointer"
            self.report(place, f"where this points is not known: {why}")
            return
        space, buffer, verb = self.space, where.buffer, "writes" if write else "reads"
        if write and not buffer.writable:
            self.report(place, f"writes '{buffer.name}', which is only to be read")
        if not space.holds(width):
            self.report(place, f"a length may be {space.lower(width)}, below 0")
        end = where.offset.plus(width)
        before, behind = where.offset, buffer.size.plus(end, -1)
        if (wild := self._wild(end)) and not (space.holds(before) and space.holds(behind)):
            self.report(place, f"{verb} '{buffer.name}' at an index that may wrap: {wild}")
            return
        if not space.holds(before):
            self.report(
                place, f"{verb} up to {-space.lower(before):,} bytes before '{buffer.name}'"
            )
        if not space.holds(behind):
            size = f"{space.text(buffer.size)} bytes of '{buffer.name}'"
            self.report(place, f"{verb} up to {-space.lower(behind):,} bytes behind the {size}")

    def _wild(self, form: Form) -> str | None:
        """A number in a form of which only its type is known."""
        for symbol in (self.space.symbols[s] for s in form.terms):
            if symbol.hi - symbol.lo >= INT.hi:
                return str(symbol.name)
        return None

    def count(self, place: Place, count: Form, lanes: int) -> None:
        """A number of lanes of one vector."""
        if not self.space.inside(count, 0, lanes):
            lo, hi = self.space.range(count)
            self.report(place, f"a count of {lo} to {hi} lanes, where a vector has {lanes}")

    def variable(self, expr: Variable, values: dict[int, Any], lanes: int) -> Value:
        """The address of a local variable: what is written there is data from then on."""
        value = values.get(expr.slot)
        if not isinstance(value, Num | Data):
            return Unknown("it is the address of what is no number")
        self.tainted.add(expr.slot)
        size = Form.of(value.type.bytes(lanes))
        return Pointer(
            Buffer(expr.name, size, value.type, True, slot=expr.slot), Form.of(0), value.type
        )
