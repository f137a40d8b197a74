"""Expressions: their values, and the accesses they make on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metainfer.verify.static import tree
from metainfer.verify.static.accesses import Accesses
from metainfer.verify.static.affine import Form
from metainfer.verify.static.calls import LOOKUPS, TOUCHES, pure_calls, result_of
from metainfer.verify.static.conditions import Conditions
from metainfer.verify.static.tree import Expr
from metainfer.verify.static.values import (
    DOUBLE,
    INT,
    SIZE,
    TYPES,
    VF,
    Batch,
    Data,
    Num,
    Pointer,
    Unknown,
    Value,
    common,
    decayed,
)

LANES = 16


@dataclass
class Expressions:
    """Evaluates expressions where vectors have `lanes` floats."""

    lanes: int
    accesses: Accesses
    values: dict[int, Value]
    """What each variable holds here, by slot."""
    conditions: Conditions = field(init=False)

    def __post_init__(self) -> None:
        self.operators = self.accesses.operators
        self.space = self.operators.space
        self.report = self.operators.report
        self.conditions = Conditions(self.operators, self.value, self.number)
        self._constants: dict[str, Value] = {
            "MI_LANES": Num(Form.of(LANES), INT),
            "MI_V": Num(Form.of(self.lanes), INT),
            "MI_N": Num(Form.of(LANES // self.lanes), INT),
            "INT32_MAX": Num(Form.of(INT.hi), INT),
            "INT32_MIN": Num(Form.of(INT.lo), INT),
            "INFINITY": Data(TYPES["float"]),
        }
        self._rules: dict[type[Expr], Callable[[Any], Value]] = {
            tree.Literal: self._literal,
            tree.Constant: lambda e: self._constants[e.name],
            tree.Variable: self._variable,
            tree.Unary: self._unary,
            tree.Binary: self._binary,
            tree.Choice: self._choice,
            tree.Index: lambda e: self.load(e, self.element(e)),
            tree.Deref: lambda e: self.load(e, self.element(e)),
            tree.AddressOf: self._address,
            tree.FieldOf: self._field,
            tree.Cast: self._cast,
            tree.Call: self._call,
            tree.SizeOf: self._sizeof,
            tree.Braces: self._braces,
        }

    def value(self, expr: Expr) -> Value:
        """What an expression evaluates to; all its accesses are checked."""
        return self._rules[type(expr)](expr)

    def number(self, expr: Expr, what: str) -> Num | None:
        """An integer that may decide where memory is touched, or how often; else a finding."""
        value = self.value(expr)
        if isinstance(value, Num):
            return value
        if isinstance(value, Data):
            self.report(expr.place, f"{what} depends on data")
        elif isinstance(value, Unknown):
            self.report(expr.place, f"{what} is not known: {value.why}")
        else:
            self.report(expr.place, f"{what} is a pointer")
        return None

    def known(self, value: Num) -> Value:
        """A number of which only one value is left, as that value."""
        if len(value.form.terms) == 1 and not value.form.const:
            ((symbol, c),) = value.form.terms.items()
            known = self.space.symbols[symbol]
            if known.lo == known.hi:
                return Num(Form.of(c * known.lo), value.type)
        return value

    # Leaves

    def _literal(self, expr: tree.Literal) -> Value:
        return Data(expr.type) if expr.value is None else Num(Form.of(expr.value), expr.type)

    def _variable(self, expr: tree.Variable) -> Value:
        value = self.values.get(expr.slot)
        if value is None:
            return Unknown(f"'{expr.name}' has no value yet")
        return self.known(value) if isinstance(value, Num) else value

    def _sizeof(self, expr: tree.SizeOf) -> Value:
        if expr.type is not None:
            return Num(Form.of(expr.type.bytes(self.lanes)), SIZE)
        value = self.values.get(-1 if expr.slot is None else expr.slot)
        if isinstance(value, Pointer) and value.buffer.slot == expr.slot:
            return Num(value.buffer.size, SIZE)
        if isinstance(value, Num | Data):
            return Num(Form.of(value.type.bytes(self.lanes)), SIZE)
        self.report(expr.place, "the size of this is not understood")
        return self.operators.any_of(expr.place, SIZE)

    def _braces(self, expr: tree.Braces) -> Value:
        for element in expr.elements:
            self.value(element)
        return Data(expr.type or DOUBLE)

    # Operators

    def _unary(self, expr: tree.Unary) -> Value:
        return self.operators.unary(expr.place, expr.operator, self.value(expr.argument))

    def _binary(self, expr: tree.Binary) -> Value:
        if expr.operator in ("&&", "||"):
            return self._both(expr)
        left, right = self.value(expr.left), self.value(expr.right)
        for pointer, other, index in ((left, right, expr.right), (right, left, expr.left)):
            if isinstance(pointer, Pointer):
                if expr.operator not in ("+", "-") or (expr.operator == "-" and pointer is right):
                    return Unknown("it is no sum of a pointer and a number")
                times = 1 if expr.operator == "+" else -1
                return self.moved(pointer, other, index, times)
        return self.operators.binary(expr.place, expr.operator, left, right)

    def moved(self, pointer: Pointer, by: Value, index: Expr, times: int = 1) -> Value:
        """`pointer + by`, counted in what it points to."""
        if len(pointer.dims) > 1:
            return Unknown("it points to a row of an array")
        if isinstance(by, Num):
            size = pointer.element.bytes(self.lanes)
            moved = pointer.offset.plus(by.form, times * size)
            return Pointer(pointer.buffer, moved, pointer.element)
        if isinstance(by, Data):
            self.report(index.place, "an offset depends on data")
        return Unknown("its offset is not known")

    def _both(self, expr: tree.Binary) -> Value:
        """`&&` and `||`: the right side runs only where the left one asks for it."""
        left = self.value(expr.left)
        right: Value = Num(Form.of(0), INT)
        with self.space.scope():
            if self.conditions.assume(expr.left, expr.operator == "&&"):
                right = self.value(expr.right)
        if isinstance(left, Num) and isinstance(right, Num):
            return self.operators.truth(expr.place)
        return Data(INT, 0, 1)

    def _choice(self, expr: tree.Choice) -> Value:
        """Each side runs under its condition; by data, a choice is data whatever it chooses."""
        condition = self.value(expr.condition)
        mark = len(self.space.symbols)
        sides: list[Value | None] = [None, None]
        for number, (side, truth) in enumerate(((expr.yes, True), (expr.no, False))):
            with self.space.scope():
                if self.conditions.assume(expr.condition, truth):
                    sides[number] = self.value(side)
        return self.joined(expr, expr.condition, sides[0], sides[1], mark, condition)

    def joined(
        self,
        at: Expr | tree.Stmt,
        condition: Expr,
        yes: Value | None,
        no: Value | None,
        mark: int,
        decided: Value | None = None,
    ) -> Value:
        """What a variable or a choice holds after both sides; None is a side that never runs."""
        if yes is None or no is None:
            return yes or no or Unknown("it is never reached")
        if isinstance(decided, Data) or not isinstance(yes, Num) or not isinstance(no, Num):
            return self._either(yes, no, condition, mark)
        type_ = yes.type if yes.type is no.type else common(yes.type, no.type)
        a, b = (self.operators.integer(at.place, v, type_) for v in (yes, no))
        if a.form.same(b.form):
            return a
        return Num(self.conditions.join(at, condition, a.form, b.form, mark), type_)

    def _either(self, yes: Value, no: Value, condition: Expr, mark: int) -> Value:
        if isinstance(yes, Pointer) and isinstance(no, Pointer):
            same = yes.buffer is no.buffer and (yes.element, yes.dims) == (no.element, no.dims)
            if same and yes.offset.same(no.offset):
                return yes
            if same:
                offset = self.conditions.join(condition, condition, yes.offset, no.offset, mark)
                return Pointer(yes.buffer, offset, yes.element, yes.dims)
            return Unknown("it may point into one buffer or another")
        if isinstance(yes, Num | Data) and isinstance(no, Num | Data):
            return self.operators.either(yes, no)
        return yes if yes == no else Unknown("it is not the same on both sides of a branch")

    # Memory

    def element(self, expr: tree.Index | tree.Deref) -> Value:
        """A pointer to the element that is named; Data for a lane of a vector."""
        if isinstance(expr, tree.Deref):
            base = decayed(self.value(expr.pointer))
            return base if isinstance(base, Pointer) else self._no_pointer(expr, base)
        base, index_value = self.value(expr.base), self.value(expr.index)
        if isinstance(base, Num | Data) and base.type.kind == "lanes":
            return self._lane(expr, base, index_value)
        if not isinstance(base, Pointer):
            return self._no_pointer(expr, base)
        if isinstance(index_value, Data) and base.buffer.table and len(base.dims) < 2:
            return self.accesses.selected(expr.place, base, index_value, self.lanes)
        return self.accesses.indexed(expr, base, index_value, self.lanes)

    def _no_pointer(self, expr: Expr, base: Value) -> Value:
        why = base.why if isinstance(base, Unknown) else "it is no pointer"
        self.report(expr.place, f"where this points is not known: {why}")
        return Unknown(why)

    def _lane(self, expr: tree.Index, base: Num | Data, index: Value) -> Value:
        if isinstance(index, Num):
            if not self.space.inside(index.form, 0, self.lanes - 1):
                self.report(expr.place, f"a lane may be none of the {self.lanes} of a vector")
        else:
            self.report(expr.index.place, "an index depends on data")
        scalar = "float" if base.type is VF else "int32_t"
        return Data(TYPES[scalar], *((base.lo, base.hi) if isinstance(base, Data) else ()))

    def load(self, expr: Expr, where: Value) -> Value:
        """What stands at an element."""
        if isinstance(where, Pointer):
            if where.dims:
                return where
            return self.accesses.load(expr.place, where, self.lanes)
        return where

    def _address(self, expr: tree.AddressOf) -> Value:
        if isinstance(expr.target, tree.Index | tree.Deref):
            where = self.element(expr.target)
            if isinstance(where, Pointer):
                return where
        if isinstance(expr.target, tree.Variable):
            return self.accesses.variable(expr.target, self.values, self.lanes)
        return Unknown("it is the address of what is no element of an array")

    def _field(self, expr: tree.FieldOf) -> Value:
        found = self.accesses.given.fields.get(expr.name)
        if not isinstance(self.value(expr.owner), Batch) or found is None:
            self.report(expr.place, "this field is not understood")
            return Unknown("it is no field of the batch")
        return found

    def _cast(self, expr: tree.Cast) -> Value:
        value = self.value(expr.value)
        if not expr.pointer:
            return self.operators.converted(expr.place, value, expr.type)
        value = decayed(value)
        if isinstance(value, Pointer):
            return Pointer(value.buffer, value.offset, expr.type)
        return Unknown("it is a pointer made of what is none")

    # Calls

    def _call(self, expr: tree.Call) -> Value:
        if expr.name == "memcpy" and len(expr.arguments) == 3:
            return self._copy(expr)
        if expr.name in LOOKUPS and len(expr.arguments) == 2:
            return self._lookup(expr)
        if expr.name in TOUCHES and TOUCHES[expr.name].takes(len(expr.arguments)):
            return self._touched(expr)
        given = [self.value(a) for a in expr.arguments]
        wanted = 0 if expr.name == "__builtin_inff" else pure_calls().get(expr.name)
        if wanted is None or wanted != len(given):
            self.report(expr.place, f"a call of '{expr.name}' is not understood")
        elif not all(isinstance(v, Num | Data) for v in given):
            self.report(expr.place, "an argument of this call is not known")
        return Data(result_of(expr.name))

    def _touched(self, expr: tree.Call) -> Value:
        touched = TOUCHES[expr.name]
        pointer, *rest = expr.arguments
        where = self.value(pointer)
        width = Form.of(touched.width(self.lanes))
        if touched.counted:
            count = self.number(rest[-1], "a count of lanes")
            if count is not None:
                self.accesses.count(expr.place, count.form, self.lanes)
                width = count.form.scaled(4)
        for other in rest[: -1 if touched.counted else None]:
            self.value(other)
        self.accesses.touch(expr.place, where, width, touched.touch == "write")
        if touched.touch == "write":
            self.accesses.written(where)
        bounds = (0, 255) if expr.name == "mi_load_u8" else ()
        return Data(result_of(expr.name), *bounds)

    def _lookup(self, expr: tree.Call) -> Value:
        """A table lookup: by data only in a constant local table, within the data's range."""
        table, index = (self.value(a) for a in expr.arguments)
        if isinstance(table, Pointer) and isinstance(index, Num | Data):
            if index.type.kind != "lanes":
                index = self.operators.integer_of(expr.place, index, INT)
            self.accesses.selected(expr.place, table, index, self.lanes)
        else:
            self._no_pointer(expr, table)
        return Data(LOOKUPS[expr.name])

    def _copy(self, expr: tree.Call) -> Value:
        """`memcpy(to, from, bytes)`; what lands in an array of integers is data."""
        to, source = (self.value(a) for a in expr.arguments[:2])
        size = self.number(expr.arguments[2], "a length")
        if size is not None:
            self.accesses.touch(expr.place, to, size.form, True)
            self.accesses.written(to)
            self.accesses.touch(expr.place, source, size.form, False)
        return Data(INT)
