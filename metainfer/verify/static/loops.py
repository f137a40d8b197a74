"""Loops: one turn is walked for all turns at once, with a symbol for the number of those before it.

At the top of a turn, a variable to which every turn adds a number once holds
`first + step * turns`; others hold what all their changes allow. The condition bounds `turns`, and
through it everything that counts with the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from metainfer.verify.static import tree
from metainfer.verify.static.affine import Form
from metainfer.verify.static.changes import Changes, halves, moved
from metainfer.verify.static.statements import Statements
from metainfer.verify.static.values import Num, Value

ENDLESS = 1 << 70
"""Turns of a loop that nothing is known to end."""


@dataclass(slots=True)
class _Name:
    what: str
    place: tree.Place

    def __str__(self) -> str:
        return f"{self.what} of {self.place}"


@dataclass(slots=True)
class Turns:
    """What is known of a loop before its body is walked."""

    loop: tree.Loop
    condition: tree.Expr
    top: dict[int, Value]
    """Variables at the top of any turn; those with a step, at the top of the first."""
    steps: dict[int, int]
    bounds: list[tuple[Form, int]]
    """`(f, c)`, c > 0: where the body runs, `f - c * turns >= 0`."""
    most: int
    """Most turns before a turn."""


class Loops:
    """Walks loops for `statements`."""

    def __init__(self, statements: Statements) -> None:
        self.statements, self.expressions = statements, statements.expressions
        self.space, self.report = statements.space, statements.report
        self.operators = statements.operators
        self.changes = Changes(self.expressions, statements.types)
        statements.loop = self.run

    def run(self, loop: tree.Loop) -> bool:
        """Walk a loop; whether control may get behind it."""
        if not self.statements.all_of(loop.first):
            return False
        if loop.condition is None:
            self.report(loop.place, "nothing is known to end this loop")
            return False
        entry = dict(self.expressions.values)
        steps = {s: n for s in loop.writes if (n := self.changes.step(loop, s)) is not None}
        blurred = {
            s: self.changes.blurred(loop, s, entry.get(s)) for s in loop.writes if s not in steps
        }
        turns = self._probe(loop, loop.condition, entry | blurred, steps)
        if turns is None:
            self.expressions.values = entry
            with self.operators.when_wrapping("report"):
                return self.expressions.conditions.decide(loop.condition, False)
        self._turn(turns)
        return self._after(turns)

    def _probe(
        self, loop: tree.Loop, condition: tree.Expr, top: dict[int, Value], steps: dict[int, int]
    ) -> Turns | None:
        """How often a loop turns if its condition does not overflow; None if never.

        `_turn` checks that it does not, in all turns of this number and at the end of the last.
        A bound that a loop itself changes is none for the turns before it.
        """
        self.expressions.values = dict(top)
        if not loop.plain:
            self.expressions.value(condition)  # makes its symbols older than the turns
        found: list[Form] = []
        with self.space.scope(), self.operators.when_wrapping("exact"):
            count = self.space.new(_Name("turns", loop.place), 0, ENDLESS)
            (number,) = count.terms
            self._advance(top, steps, count)
            if not self.expressions.conditions.assume(condition, True, found):
                return None
            most = self.space.symbols[number].hi
        changed = set(loop.writes) - set(steps)
        bounds = [
            (Form({s: c for s, c in f.terms.items() if s != number}, f.const), -c)
            for f in found
            if (c := f.terms.get(number, 0)) < 0 and max(f.terms) == number
        ]
        if changed.intersection(tree.variables(condition)):
            bounds = []
        return Turns(loop, condition, top, steps, bounds, most)

    def _count(self, turns: Turns, name: str) -> Form:
        """The number of turns before the top of one, or before the end.

        None, or the condition held one turn earlier: `f - c * (turns - 1) >= 0`. If also
        `f + c >= 0`, both give `c * turns <= f + c`.
        """
        count = self.space.new(_Name(name, turns.loop.place), 0, turns.most + 1)
        for form, c in turns.bounds:
            if self.space.holds(form.shifted(c)):
                self.space.bound_above(count, form.shifted(c), c)
        return count

    def _advance(self, top: dict[int, Value], steps: dict[int, int], count: Form) -> None:
        """Set variables with a step to what they hold after a number of turns."""
        self.expressions.values = dict(top)
        for slot, step in steps.items():
            self.expressions.values[slot] = moved(top[slot], count.scaled(step))

    def _turn(self, turns: Turns) -> None:
        """Walk the condition at the top of any turn, then one turn."""
        loop = turns.loop
        with self.space.scope():
            self._advance(turns.top, turns.steps, self._count(turns, "turns"))
            top = dict(self.expressions.values)
            with self.operators.when_wrapping("report"):
                if not self.expressions.conditions.decide(turns.condition, True):
                    return
            if turns.most == ENDLESS and not self._shrinks(loop, top):
                self.report(loop.place, "nothing is known to end this loop")
                return
            self._check_steps(turns, top)
            with self.space.scope():
                self.statements.run(loop.body)
            self._update(turns, top)

    def _check_steps(self, turns: Turns, top: dict[int, Value]) -> None:
        """A variable with a step stays in its type, so that it is what its form says."""
        for slot, step in turns.steps.items():
            value = top[slot]
            if isinstance(value, Num):
                after = value.form.shifted(step)
                if not self.operators.within(after, value.type):
                    place = turns.loop.writes[slot][0].place
                    self.report(place, f"may leave {value.type.name} while the loop turns")

    def _update(self, turns: Turns, top: dict[int, Value]) -> None:
        """Walk the update as after any way through the body, `continue` included."""
        loop, values = turns.loop, dict(top)
        for slot in loop.writes:
            if slot not in turns.steps:
                values[slot] = self.changes.blurred(loop, slot, top.get(slot))
            elif not any(loop.writes[slot][0] is s for s in loop.update):
                values[slot] = moved(top[slot], Form.of(turns.steps[slot]))
        self.expressions.values = values
        self.statements.all_of(loop.update)

    def _shrinks(self, loop: tree.Loop, top: dict[int, Value]) -> bool:
        """A loop ends that halves what its condition keeps above zero."""
        for slot, writes in loop.writes.items():
            value = top.get(slot)
            halved = slot in loop.steady and halves(writes[0]) and isinstance(value, Num)
            if halved and isinstance(value, Num) and self.space.holds(value.form.shifted(-1)):
                return True
        return False

    def _after(self, turns: Turns) -> bool:
        """Behind a loop: its condition is false, unless a `break` left it within a turn."""
        count = self._count(turns, "all turns")
        self._advance(turns.top, turns.steps, count)
        if not turns.loop.breaks:
            return self.expressions.conditions.decide(turns.condition, False)
        for slot, step in turns.steps.items():
            once = self.space.new("a step", 0, 1)
            self.expressions.values[slot] = moved(self.expressions.values[slot], once.scaled(step))
        return True
