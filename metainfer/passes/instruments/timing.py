"""Where the time goes: a tree of phases, by pass and by check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time

from metainfer.passes.instruments.base import Instrument, Step

RULE = f"===-{'-' * 73}-==="


@dataclass
class Phase:
    """A named stretch of a run, with what happened inside it; times in seconds."""

    name: str
    wall: float = 0.0
    user: float = 0.0
    """Processor time of this process."""
    parts: list[Phase] = field(default_factory=list)


class Timer:
    """Builds the tree of phases; the one that is open last holds the next."""

    def __init__(self) -> None:
        self.total = Phase("Total")
        self._open = [self.total]
        self._began = [(perf_counter(), process_time())]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens inside under `name`."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def begin(self, name: str) -> None:
        """Open a phase inside the one that is open."""
        phase = Phase(name)
        self._open[-1].parts.append(phase)
        self._open.append(phase)
        self._began.append((perf_counter(), process_time()))

    def end(self) -> None:
        """Close the phase that was opened last."""
        phase, (wall, user) = self._open.pop(), self._began.pop()
        phase.wall, phase.user = perf_counter() - wall, process_time() - user

    def report(self) -> str:
        """The whole tree as text, in MLIR's layout; closes what is open."""
        while self._open:
            self.end()
        total = self.total
        lines = [
            RULE,
            f"{'... Execution time report ...':^79}".rstrip(),
            RULE,
            f"  Total Execution Time: {total.wall:.4f} seconds",
            "",
            "  ----User Time----  ----Wall Time----  ----Name----",
        ]
        for part in total.parts:
            lines += _lines(part, total, 0)
        rest = Phase(
            "Rest",
            total.wall - sum(p.wall for p in total.parts),
            total.user - sum(p.user for p in total.parts),
        )
        lines += [_line(rest, total, 0), _line(total, total, 0)]
        return "\n".join(lines) + "\n"


def _lines(phase: Phase, total: Phase, depth: int) -> Iterator[str]:
    yield _line(phase, total, depth)
    for part in phase.parts:
        yield from _lines(part, total, depth + 1)


def _line(phase: Phase, total: Phase, depth: int) -> str:
    user = f"{phase.user:9.4f} ({100 * phase.user / max(total.user, 1e-9):5.1f}%)"
    wall = f"{phase.wall:9.4f} ({100 * phase.wall / max(total.wall, 1e-9):5.1f}%)"
    return f"{user}  {wall}  {'  ' * depth}{phase.name}"


@dataclass
class TimePasses(Instrument):
    """One phase per pass, with the pass itself and the checks after it as its parts.

    Last of the instruments, so that it does not time the others.
    """

    timer: Timer

    def before(self, step: Step) -> None:
        self.timer.begin(step.name)
        self.timer.begin("pass")

    def ran(self, step: Step) -> None:
        self.timer.end()
        self.timer.begin("checks")

    def after(self, step: Step) -> None:
        self.timer.end()
        self.timer.end()

    def failed(self, step: Step, problem: Exception) -> None:
        self.timer.end()
        self.timer.end()
