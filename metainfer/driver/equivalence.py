"""Do two modules mean the same? Small twins of both are interpreted on drawn inputs, in float64.

Results are equal bit by bit, or within the error bounds of both sides. Where they are not, the
first op that differs is named (`validate/blame.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.driver.samples import Case, cases
from metainfer.driver.validate.blame import Executed, Ran, first_difference
from metainfer.driver.validate.calls import Machine, Results, Runnable, Side
from metainfer.driver.validate.gaps import Gap, gap, undecided
from metainfer.driver.validate.program import entries
from metainfer.driver.validate.twin import twins_of
from metainfer.interp.run import Mode
from metainfer.ir.diagnostics import Diagnostic, Note, did_you_mean, error
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.passes.fuse import base_name

FORWARD = "_forward"
"""What `schedule` leaves out of a function's name: `decode_forward` becomes the entry `decode`."""


@dataclass(frozen=True)
class Difference:
    """A function whose results differ, and the op that is to blame, if one could be found."""

    left: str
    right: str
    case: Case
    op: Operation | None
    layer: int | None
    gap: Gap

    def diagnostic(self) -> Diagnostic:
        """The finding for a reader, at the op's place."""
        names = f"@{self.left}" + (f" and @{self.right}" if self.right != self.left else "")
        notes = [Note(f"inputs: {self.case}")]
        if self.op is None:
            return Diagnostic(f"{names}: the results differ {self.gap}", None, tuple(notes))
        hint = self.op.results[0].name_hint if self.op.results else None
        value = f" (%{hint})" if hint else ""
        layer = "" if self.layer is None else f" of layer {self.layer}"
        return Diagnostic(
            f"{names}: the first difference is in {self.op.name}{value}{layer} {self.gap}",
            place_of(self.op),
            tuple(notes),
        )


@dataclass
class Comparison:
    """What was compared, and the first difference of each pair of functions."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    differences: list[Difference] = field(default_factory=list)
    why_not_small: str = ""
    """Why the modules were run at their own sizes; empty where twins stood for them."""


def compare_modules(
    left: ModuleOp,
    right: ModuleOp,
    names: Sequence[str] = (),
    seed: int = 0,
    *,
    exact: bool = False,
) -> Comparison:
    """Interpret the functions that both modules have (or `names` of them) on drawn inputs.

    A function `layer` of the left side is compared with every specialised copy of it, such as
    `decode_layer`, where the right side has no function of its name; a forward function with the
    entry that `schedule` made of it; an entry with the entry of its name. With `exact`, results
    must be equal bit by bit. Raises DiagnosticError for a name that is not there and for signatures
    that differ.
    """
    for ours, theirs in _pairs(left, right, names):
        _check_signatures(ours, theirs)
    twins = twins_of(left, right)
    found = Comparison(why_not_small=twins.why_not_small)
    machines = (Machine(twins.left, seed), Machine(twins.right, seed))
    for mine, other in _pairs(twins.left, twins.right, names):
        pair = _Pair(Side(machines[0], mine), Side(machines[1], other), exact)
        found.pairs.append((pair.left.name, pair.right.name))
        for case in cases(other, twins.right, seed):
            found.calls += 1
            difference = pair.compare(case)
            if difference is not None:
                found.differences.append(difference)
                break
    return found


def paired(left: ModuleOp, right: ModuleOp) -> list[tuple[Runnable, Runnable]]:
    """Every function and entry with what it became on the other side."""
    return list(_pairs(left, right, ()))


def _pairs(
    left: ModuleOp, right: ModuleOp, names: Sequence[str]
) -> Iterator[tuple[Runnable, Runnable]]:
    mine, other = (_runnables(module) for module in (left, right))
    for name in names:
        if name not in mine:
            raise error(f"no function @{name} on the left side", help=did_you_mean(name, mine))
    for name in names or mine:
        partners = _partners(name, other)
        if names and not partners:
            raise error(f"no function @{name} on the right side", help=did_you_mean(name, other))
        yield from ((mine[name], partner) for partner in partners)


def _runnables(module: ModuleOp) -> dict[str, Runnable]:
    return {f.sym_name.data: f for f in all_of(module, func.FuncOp)} | entries(module)


def _partners(name: str, others: dict[str, Runnable]) -> list[Runnable]:
    """What a function became: itself, its specialised copies, or an entry."""
    for same in (name, name.removesuffix(FORWARD)):
        if same in others:
            return [others[same]]
    return [f for f in others.values() if isinstance(f, func.FuncOp) and base_name(f) == name]


def _check_signatures(left: Runnable, right: Runnable) -> None:
    if not (isinstance(left, func.FuncOp) and isinstance(right, func.FuncOp)):
        return
    shown = [[str(t) for t in f.function_type.inputs] for f in (left, right)]
    if shown[0] != shown[1]:
        raise error(
            f"@{left.sym_name.data} takes other arguments on each side",
            place_of(right),
            notes=[Note(f"left: {', '.join(shown[0])}"), Note(f"right: {', '.join(shown[1])}")],
        )


@dataclass(frozen=True)
class _Pair:
    left: Side
    right: Side
    exact: bool

    def compare(self, case: Case) -> Difference | None:
        """How the results of a call differ; the ops are looked at only where they do."""
        if self.exact and self._first(*(self._run(s, case) for s in self._sides)) is None:
            return None
        ran = tuple(Executed() for _ in self._sides)
        results = [self._run(s, case, r) for s, r in zip(self._sides, ran, strict=True)]
        first = self._first(*results)
        alike = ran[0].kinds() == ran[1].kinds()
        if first is None and not (undecided(results[0].values()) and alike):
            return None
        return self._blamed(case, first, first_difference(ran[0].ops, ran[1].ops))

    def _blamed(
        self, case: Case, first: Gap | None, blamed: tuple[Ran, Gap] | None
    ) -> Difference | None:
        names = (self.left.name, self.right.name)
        if blamed is None:
            return None if first is None else Difference(*names, case, None, None, first)
        where, seen = blamed
        return Difference(*names, case, where.op, where.layer, seen)

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.left, self.right

    def _run(self, side: Side, case: Case, ran: Executed | None = None) -> Results:
        mode: Mode = "value" if self.exact else "magnitude"
        # Both sides get what the left one would: a pass may store states more coarsely.
        given, types = self.left.draw(case), self.left.types()
        return side.run(case, given, types, mode, None if ran is None else ran.keep)

    def _first(self, left: Results, right: Results) -> Gap | None:
        if left.keys() != right.keys():
            raise error(
                f"@{self.left.name} has other results on each side", place_of(self.right.code)
            )
        return next((g for n in left if (g := gap(left[n], right[n])) is not None), None)
