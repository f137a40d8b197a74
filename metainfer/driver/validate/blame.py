"""The op that is to blame for a difference: executed ops of both sides, put side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from xdsl.dialects import func
from xdsl.ir import Operation

from metainfer.driver.validate.gaps import Gap, gap
from metainfer.interp.meaning import Value
from metainfer.interp.state import State
from metainfer.ir.dialects import infer, kernel

_HOLDERS = (infer.GroupOp, infer.LayersOp, kernel.CallOp, func.CallOp)
"""Ops whose results are those of ops inside; these are compared instead."""


@dataclass(frozen=True)
class Ran:
    """An executed op with its results."""

    op: Operation
    layer: int | None
    results: tuple[Value, ...]

    @property
    def kind(self) -> tuple[object, ...]:
        """What makes two executed ops partners; attributes may differ."""
        return self.op.name, self.layer, tuple(str(r.type) for r in self.op.results)


@dataclass
class Executed:
    """The ops that a call ran, those that only hold others left out."""

    ops: list[Ran] = field(default_factory=list)

    def keep(self, op: Operation, layer: int | None, results: tuple[Value, ...]) -> None:
        """Add an op; what it says of a state is copied, for later ops write into it."""
        if not isinstance(op, _HOLDERS):
            own = tuple(r.copy() if isinstance(r, State) else r for r in results)
            self.ops.append(Ran(op, layer, own))

    def kinds(self) -> list[tuple[object, ...]]:
        """The kind of every op in order."""
        return [ran.kind for ran in self.ops]


def first_difference(left: list[Ran], right: list[Ran]) -> tuple[Ran, Gap] | None:
    """The first executed op of the right side whose results differ from its partner's, or the op
    without a partner that feeds it."""
    agreed = 0
    for i, j in _partners(left, right):
        for a, b in zip(left[i].results, right[j].results, strict=True):
            found = gap(a, b)
            if found is not None:
                return _feeding(right, agreed, j), found
        agreed = j + 1
    return None


def _feeding(ran: list[Ran], first: int, last: int) -> Ran:
    """The earliest op without a partner that the op number `last` depends on, else that op."""
    wanted, earliest = set(ran[last].op.operands), last
    for number in range(last - 1, first - 1, -1):
        if wanted & set(ran[number].op.results):
            wanted |= set(ran[number].op.operands)
            earliest = number
    return ran[earliest]


def _partners(left: list[Ran], right: list[Ran]) -> Iterator[tuple[int, int]]:
    """Pairs of executed ops of one kind in the order of both sides."""
    a, b = [r.kind for r in left], [r.kind for r in right]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        yield start, start
        start += 1
    tail = 0
    while tail < min(len(a), len(b)) - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(
        None, a[start : len(a) - tail], b[start : len(b) - tail], autojunk=False
    )
    for match in middle.get_matching_blocks():
        for offset in range(match.size):
            yield start + match.a + offset, start + match.b + offset
    for number in range(tail):
        yield len(a) - tail + number, len(b) - tail + number
