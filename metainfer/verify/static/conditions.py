"""Conditions: what holds where one is true or false, and what is left where branches meet."""

from __future__ import annotations

from collections.abc import Callable

from metainfer.verify.static import tree
from metainfer.verify.static.affine import Form
from metainfer.verify.static.operators import COMPARISONS, Operators
from metainfer.verify.static.tree import Expr
from metainfer.verify.static.values import Num, Value, common

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Conditions:
    """Turns conditions into assumptions.

    `value` evaluates an expression; `number` does, and it is a finding that this depends on data.
    """

    def __init__(
        self,
        operators: Operators,
        value: Callable[[Expr], Value],
        number: Callable[[Expr, str], Num | None],
    ) -> None:
        self.operators, self.space = operators, operators.space
        self.value, self.number = value, number

    def decide(self, condition: Expr, truth: bool) -> bool:
        """Evaluate the condition of a loop or branch, and assume it; data decides neither."""
        if isinstance(condition, tree.Binary) and condition.operator in COMPARISONS:
            left = self.number(condition.left, "a branch")
            right = self.number(condition.right, "a branch")
            if left is None or right is None:
                return True
            return self._ordered(condition, left, right, truth, None)
        self.number(condition, "a branch")
        return self.assume(condition, truth)

    def assume(self, condition: Expr, truth: bool, into: list[Form] | None = None) -> bool:
        """Assume that a condition is true or false; False where it cannot be.

        Forms that are >= 0 by it are also put `into` a list. A condition of which nothing
        is known assumes nothing.
        """
        if isinstance(condition, tree.Unary) and condition.operator == "!":
            return self.assume(condition.argument, not truth, into)
        if isinstance(condition, tree.Binary):
            if condition.operator in ("&&", "||"):
                return self._both(condition, truth, into)
            if condition.operator in COMPARISONS:
                return self._compare(condition, truth, into)
        value = self.value(condition)
        if not isinstance(value, Num):
            return True
        return self._assume(value.form, "!=" if truth else "==", into)

    def _both(self, condition: tree.Binary, truth: bool, into: list[Form] | None) -> bool:
        """`a && b` is true, or `a || b` false, if both sides are; else one of two, nobody knows."""
        if (condition.operator == "&&") != truth:
            return True
        return self.assume(condition.left, truth, into) and self.assume(
            condition.right, truth, into
        )

    def _compare(self, condition: tree.Binary, truth: bool, into: list[Form] | None) -> bool:
        left, right = self.value(condition.left), self.value(condition.right)
        if not isinstance(left, Num) or not isinstance(right, Num):
            return True
        return self._ordered(condition, left, right, truth, into)

    def _ordered(
        self, condition: tree.Binary, left: Num, right: Num, truth: bool, into: list[Form] | None
    ) -> bool:
        type_ = common(left.type, right.type)
        a = self.operators.integer(condition.place, left, type_)
        b = self.operators.integer(condition.place, right, type_)
        operator = condition.operator if truth else _OPPOSITE[condition.operator]
        return self._assume(a.form.plus(b.form, -1), operator, into)

    def _assume(self, form: Form, operator: str, into: list[Form] | None) -> bool:
        """`form operator 0`; of `!=`, what is left if the form cannot be on the other side."""
        negative = form.scaled(-1)
        if operator == "!=":
            if self.space.holds(form):
                operator = ">"
            elif self.space.holds(negative):
                operator = "<"
            else:
                return True
        wanted = {
            "<": [negative.shifted(-1)],
            "<=": [negative],
            ">": [form.shifted(-1)],
            ">=": [form],
            "==": [form, negative],
        }[operator]
        if into is not None:
            into.extend(wanted)
        return all(self.space.assume(w) for w in wanted)

    def join(self, at: Expr | tree.Stmt, condition: Expr, yes: Form, no: Form, mark: int) -> Form:
        """A new symbol for `condition ? yes : no`.

        A form f of the two bounds it from above if `yes <= f` where the condition is true and
        `no <= f` where it is false; likewise from below. Only symbols older than `mark`, made
        before the branch, mean the same on both sides.
        """
        facts = []
        for form, other, truth in ((yes, no, True), (no, yes, False)):
            with self.space.scope():
                if not self.assume(condition, truth):
                    return other
                less, more = (
                    self.space.holds(other.plus(form, -1)),
                    self.space.holds(form.plus(other, -1)),
                )
                facts.append((self.space.range(form), less, more))
        ((lo, hi), yes_less, yes_more), ((lo2, hi2), no_less, no_more) = facts
        joined = self.space.new(at.place, min(lo, lo2), max(hi, hi2))
        for form, above, below in ((no, yes_less, yes_more), (yes, no_less, no_more)):
            if all(s < mark for s in form.terms):
                if above:
                    self.space.bound_above(joined, form)
                if below:
                    self.space.bound_below(joined, form)
        return joined
