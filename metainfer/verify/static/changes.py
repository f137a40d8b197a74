"""What the turns of a loop do to the variables that they assign."""

from __future__ import annotations

from typing import Literal

from metainfer.verify.static import tree
from metainfer.verify.static.affine import Form
from metainfer.verify.static.expressions import Expressions
from metainfer.verify.static.values import INT, CType, Data, Num, Pointer, Unknown, Value, decayed

Direction = Literal["up", "down", "shrinks"]


class Changes:
    """The steps and directions of variables in a loop; `types` has their types by slot."""

    def __init__(self, expressions: Expressions, types: dict[int, CType]) -> None:
        self.expressions, self.types = expressions, types
        self.space, self.tainted = expressions.space, expressions.accesses.tainted

    def step(self, loop: tree.Loop, slot: int) -> int | None:
        """What each turn adds once to a number, or to a pointer in bytes; None if it is not so."""
        value = self.expressions.values.get(slot)
        (assign, *_) = loop.writes[slot]
        if slot not in loop.steady or assign.operator not in ("+", "-") or slot in self.tainted:
            return None
        changed = any(s in loop.writes for s in tree.variables(assign.value))
        simple = isinstance(assign.value, tree.Literal | tree.Constant | tree.Variable)
        if changed or not simple or not isinstance(value, Num | Pointer):
            return None
        step = self.expressions.value(assign.value)
        if not isinstance(step, Num) or step.form.terms:
            return None
        number = step.form.const if assign.operator == "+" else -step.form.const
        if isinstance(value, Pointer):
            return number * value.element.bytes(self.expressions.lanes)
        return number

    def blurred(self, loop: tree.Loop, slot: int, value: Value | None) -> Value:
        """What a variable may hold after any number of changes, if it held `value` before.

        Changes that only add leave it above, those that only subtract below; divisions of what is
        not negative leave it between 0 and that. Overflow is a finding where it happens.
        """
        type_ = self.types.get(slot)
        if type_ is None:
            return Unknown("a loop changes it in a way that is not followed")
        if type_.kind != "int" or slot in self.tainted or isinstance(value, Data):
            ranged = type_.kind == "int" or type_.name == "vi"
            return Data(type_, *((type_.lo, type_.hi) if ranged else ()))
        form = self.space.new(loop.writes[slot][0].place, type_.lo, type_.hi)
        ways = {direction(a) for a in loop.writes[slot]}
        if not isinstance(value, Num) or len(ways) != 1 or not _stops(type_):
            return Num(form, type_)
        way = ways.pop()
        if way == "up":
            self.space.bound_below(form, value.form)
        elif way == "down" or (way == "shrinks" and self.space.holds(value.form)):
            self.space.bound_above(form, value.form)
            if way == "shrinks":
                self.space.bound_below(form, Form.of(0))
        return Num(form, type_)


def _stops(type_: CType) -> bool:
    """Whether overflow of a type is a finding: narrow and unsigned integers wrap instead."""
    return type_.lo < 0 and type_.size >= INT.size


def direction(assign: tree.Assign) -> Direction | None:
    """Whether an assignment only raises a variable, lowers it, or divides it towards zero."""
    if not isinstance(assign.value, tree.Literal) or (assign.value.value or 0) < 1:
        return None
    if assign.operator in ("+", "-"):
        return "up" if assign.operator == "+" else "down"
    return "shrinks" if assign.operator in ("/", ">>") else None


def halves(assign: tree.Assign) -> bool:
    """Whether a division or shift makes every positive number smaller."""
    least = {"/": 2, ">>": 1}.get(assign.operator)
    if least is None or not isinstance(assign.value, tree.Literal):
        return False
    return (assign.value.value or 0) >= least


def moved(value: Value, by: Form) -> Value:
    """A number or pointer with a form added, in bytes for a pointer."""
    value = decayed(value)
    if isinstance(value, Pointer):
        return Pointer(value.buffer, value.offset.plus(by), value.element)
    assert isinstance(value, Num)
    return Num(value.form.plus(by), value.type)
