"""Every barrier of a program: what would race without it, or that nothing would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.dialects import engine
from metainfer.verify.engine.races import Race, Races
from metainfer.verify.engine.steps import programs_of


@dataclass(frozen=True)
class Row:
    """One barrier: where it stands, and the races that begin when it is taken away."""

    where: str
    before: str
    races: tuple[Race, ...]

    @property
    def needed(self) -> bool:
        """Whether something would race."""
        return bool(self.races)

    def as_dict(self) -> dict[str, str]:
        """The row of a table."""
        reason = str(self.races[0]) if self.races else "no two parts would meet"
        return {
            "barrier": self.where,
            "before": self.before,
            "needed": "yes" if self.needed else "no",
            "without it": reason,
        }


def barrier_table(module: ModuleOp) -> list[Row]:
    """A row for every barrier of every program, in order."""
    return [row for program in programs_of(module) for row in _rows(program, module)]


def _rows(program: engine.ProgramOp, module: ModuleOp) -> Iterator[Row]:
    races = Races(program, module)
    present = set(_pairs(races.all()))
    for body in program.body.block.ops:
        if not isinstance(body, engine.BlockOp | engine.EntryOp):
            continue
        inside = [op for op in body.body.block.ops if isinstance(op, engine.BarrierOp)]
        for number, barrier in enumerate(inside, 1):
            new = [r for r in races.all(barrier) if (r.first, r.second) not in present]
            where = f"@{body.sym_name.data} {number}"
            new.sort(key=lambda race: race.a.place != race.b.place)  # the plainest one first
            yield Row(where, _next(barrier), tuple(new))


def _pairs(races: list[Race]) -> Iterator[tuple[engine.CallOp, engine.CallOp]]:
    for race in races:
        yield race.first, race.second


def _next(barrier: engine.BarrierOp) -> str:
    op: Operation | None = barrier.next_op
    if isinstance(op, engine.CallOp):
        return f"@{op.callee.root_reference.data}"
    return "" if op is None else op.name
