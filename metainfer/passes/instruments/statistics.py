"""What passes did, in numbers: ops before and after, rules that fired, whatever they counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from metainfer.passes.counters import Rewrites
from metainfer.passes.instruments.base import Instrument, Step
from metainfer.passes.instruments.timing import RULE


@dataclass(frozen=True)
class Counted:
    """Ops of a module around one pass, by name."""

    name: str
    before: Counter[str]
    after: Counter[str]

    def lines(self) -> list[str]:
        """Totals, then the kinds of op that became more or fewer."""
        totals = f"{self.before.total()} ops before, {self.after.total()} after"
        kinds = sorted({*self.before, *self.after})
        changes = {kind: self.after[kind] - self.before[kind] for kind in kinds}
        return [totals, *(f"{n:+7} {kind}" for kind, n in changes.items() if n)]


@dataclass
class CountOps(Instrument):
    """Ops of the module before and after each pass, and the counts of the run."""

    rewrites: Rewrites
    steps: list[Counted] = field(default_factory=list)
    _before: Counter[str] = field(default_factory=Counter, init=False)

    def before(self, step: Step) -> None:
        self._before = _kinds(step.module)

    def after(self, step: Step) -> None:
        self.steps.append(Counted(step.name, self._before, _kinds(step.module)))

    def report(self) -> str:
        """One paragraph per pass, in MLIR's layout; a pass that runs twice counts once for all."""
        lines = [RULE, f"{'... Pass statistics report ...':^79}".rstrip(), RULE]
        names = [step.name for step in self.steps]
        for position, step in enumerate(self.steps):
            lines += [step.name, *(f"  (S) {line}" for line in step.lines())]
            if step.name not in names[position + 1 :]:
                counts = self.rewrites.counts.get(step.name, {})
                lines += [f"  (S) {n:>7} {what}" for what, n in sorted(counts.items())]
        return "\n".join(lines) + "\n"


def _kinds(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk() if op is not module)


def count_ops(module: ModuleOp) -> int:
    """All ops of the module but itself."""
    return sum(1 for _ in module.walk()) - 1
