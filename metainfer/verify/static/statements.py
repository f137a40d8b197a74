"""Statements: what variables hold after them, and whether control gets behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from metainfer.verify.static import tree
from metainfer.verify.static.affine import Form
from metainfer.verify.static.expressions import Expressions
from metainfer.verify.static.tree import Expr, Place, Stmt
from metainfer.verify.static.values import (
    INT,
    Buffer,
    CType,
    Data,
    Num,
    Pointer,
    Unknown,
    Value,
    decayed,
)


class Statements:
    """Walks statements; `loop` walks a loop."""

    def __init__(self, expressions: Expressions, types: dict[int, CType]) -> None:
        self.expressions = expressions
        self.accesses, self.space = expressions.accesses, expressions.space
        self.operators, self.report = expressions.operators, expressions.report
        self.types = types
        """The type of each variable that is no pointer and no array, by slot."""
        self.loop: Callable[[tree.Loop], bool]
        self._rules: dict[type[Stmt], Callable[[Any], bool]] = {
            tree.Block: lambda s: self.all_of(s.body),
            tree.Declare: self._declare,
            tree.Assign: self._assign,
            tree.Evaluate: self._evaluate,
            tree.If: self._if,
            tree.Leave: lambda _: False,
            tree.Loop: lambda s: self.loop(s),
        }

    def run(self, stmt: Stmt) -> bool:
        """Walk a statement; whether control may get behind it."""
        return self._rules[type(stmt)](stmt)

    def all_of(self, stmts: Sequence[Stmt]) -> bool:
        """Walk statements in order; what stands behind a jump never runs."""
        return all(self.run(stmt) for stmt in stmts)

    def _evaluate(self, stmt: tree.Evaluate) -> bool:
        self.expressions.value(stmt.value)
        return True

    def decides(self, condition: Expr) -> Value:
        """Evaluate what decides a branch; that it depends on no data is checked."""
        return self.expressions.number(condition, "a branch") or Data(INT)

    # Declarations

    def _declare(self, stmt: tree.Declare) -> bool:
        values = self.expressions.values
        if stmt.dims:
            values[stmt.slot] = self._array(stmt)
        elif stmt.pointer:
            values[stmt.slot] = self._pointer(stmt)
        else:
            self.types[stmt.slot] = stmt.type
            type_ = stmt.type
            ranged = type_.kind == "int" or type_.name == "vi"
            value: Value = Data(type_, *((type_.lo, type_.hi) if ranged else ()))
            if stmt.value is not None:
                value = self.expressions.value(stmt.value)
                self.assign(stmt.place, stmt.slot, value)
            else:
                values[stmt.slot] = value
        return True

    def _pointer(self, stmt: tree.Declare) -> Value:
        if stmt.value is None:
            return Unknown(f"'{stmt.name}' has no value yet")
        value = decayed(self.expressions.value(stmt.value))
        if not isinstance(value, Pointer):
            why = value.why if isinstance(value, Unknown) else "it is made of what is no pointer"
            return Unknown(why)
        return value

    def _array(self, stmt: tree.Declare) -> Value:
        """A local array; one that is constant is a table from which a value may choose."""
        given = stmt.value.elements if isinstance(stmt.value, tree.Braces) else ()
        dims = [len(given) if d is None else self._size(d) for d in stmt.dims]
        count = prod(dims)
        elements = [self.expressions.value(e) for e in given]
        size = Form.of(count * stmt.type.bytes(self.expressions.lanes))
        table = stmt.const and bool(given)
        lo, hi = self._hull(elements, count) if stmt.type.kind == "int" else (0, 0)
        data = any(not isinstance(e, Num) for e in elements)
        if data or lo < stmt.type.lo or hi > stmt.type.hi:
            lo, hi = stmt.type.lo, stmt.type.hi
        buffer = Buffer(stmt.name, size, stmt.type, not stmt.const, None, stmt.slot, table, lo, hi)
        if data:
            self.accesses.taint(buffer)
        return Pointer(buffer, Form.of(0), stmt.type, tuple(dims))

    def _size(self, expr: Expr) -> int:
        value = self.expressions.number(expr, "the size of an array")
        if value is not None and not value.form.terms and value.form.const >= 0:
            return value.form.const
        self.report(expr.place, "the size of an array is no constant")
        return 0

    def _hull(self, elements: Sequence[Value], count: int) -> tuple[int, int]:
        """Range of the elements of a table; those that are not given are zero."""
        ranges = [self.space.range(e.form) for e in elements if isinstance(e, Num)]
        if len(ranges) < count:
            ranges.append((0, 0))
        return min(lo for lo, _ in ranges), max(hi for _, hi in ranges)

    # Assignments

    def assign(self, place: Place, slot: int, value: Value) -> None:
        """Give a variable a value, converted to its type; data taints an integer."""
        values, type_ = self.expressions.values, self.types.get(slot)
        if type_ is None:
            if isinstance(values.get(slot), Pointer | Unknown) and isinstance(value, Pointer):
                values[slot] = value
            else:
                values[slot] = Unknown("what is assigned to it is no pointer")
            return
        if not isinstance(value, Num | Data):
            why = value.why if isinstance(value, Unknown) else "it is a pointer"
            self.report(place, f"the value of this is not known: {why}")
            value = Data(type_)
        value = self.operators.converted(place, value, type_)
        if type_.kind == "int":
            if isinstance(value, Data):
                self.accesses.tainted.add(slot)
            elif isinstance(value, Num) and slot in self.accesses.tainted:
                value = Data(type_, *self.space.range(value.form))
        values[slot] = value

    def _assign(self, stmt: tree.Assign) -> bool:
        target = stmt.target
        if isinstance(target, tree.Variable):
            self.assign(stmt.place, target.slot, self._new(stmt, lambda: self._old(target)))
            return True
        if not isinstance(target, tree.Index | tree.Deref):
            self.report(stmt.place, "what is assigned to is not understood")
            return True
        where = self.expressions.element(target)
        value = self._new(stmt, lambda: self.expressions.load(target, where))
        if isinstance(where, Pointer) and not where.dims:
            self.accesses.store(stmt.place, where, value, self.expressions.lanes)
        elif not isinstance(where, Unknown) and not self._is_lane(target):
            self.report(stmt.place, "what is assigned to is no element of a buffer")
        return True

    def _is_lane(self, target: tree.Index | tree.Deref) -> bool:
        if not isinstance(target, tree.Index):
            return False
        base = self.expressions.value(target.base)
        return isinstance(base, Num | Data) and base.type.kind == "lanes"

    def _old(self, target: tree.Variable) -> Value:
        return decayed(self.expressions.value(target))

    def _new(self, stmt: tree.Assign, old: Callable[[], Value]) -> Value:
        """The value that is assigned."""
        value = self.expressions.value(stmt.value)
        if not stmt.operator:
            return value
        before = old()
        if isinstance(before, Pointer):
            times = {"+": 1, "-": -1}.get(stmt.operator)
            if times is None:
                return Unknown("it is no sum of a pointer and a number")
            return self.expressions.moved(before, value, stmt.value, times)
        return self.operators.binary(stmt.place, stmt.operator, before, value)

    # Branches

    def _if(self, stmt: tree.If) -> bool:
        """Both sides, each under its condition; then what is left where they meet."""
        expressions, condition = self.expressions, stmt.condition
        decided = self.decides(condition)
        mark, before = len(self.space.symbols), dict(expressions.values)
        ends: list[dict[int, Value] | None] = []
        for side, truth in ((stmt.yes, True), (stmt.no, False)):
            expressions.values = dict(before)
            with self.space.scope():
                runs = expressions.conditions.assume(condition, truth)
                runs = runs and (side is None or self.run(side))
            ends.append(expressions.values if runs else None)
        expressions.values = before
        return self._meet(stmt, ends[0], ends[1], mark, decided)

    def _meet(
        self,
        stmt: tree.If,
        yes: dict[int, Value] | None,
        no: dict[int, Value] | None,
        mark: int,
        decided: Value,
    ) -> bool:
        """Where only one side gets here, its condition goes on to hold.

        The condition was met by what variables held before the branch, so it is put to those.
        """
        expressions, before = self.expressions, self.expressions.values
        if yes is None or no is None:
            left = yes if no is None else no
            if left is not None:
                expressions.conditions.assume(stmt.condition, no is None)
                expressions.values = left
            return left is not None
        changed = [s for s, v in before.items() if yes[s] is not v or no[s] is not v]
        met = {s: self._joined(stmt, s, yes[s], no[s], mark, decided) for s in changed}
        expressions.values = before | met
        return True

    def _joined(
        self, stmt: tree.If, slot: int, a: Value, b: Value, mark: int, decided: Value
    ) -> Value:
        if isinstance(a, Num) and isinstance(decided, Data):
            self.accesses.tainted.add(slot)
        return self.expressions.joined(stmt, stmt.condition, a, b, mark, decided)
