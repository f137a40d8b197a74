"""What passes did, in numbers: ops before and after, rules that fired, whatever they counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from metainfer.passes.counters import Rewrites
from metainfer.passes.instruments.base import Instrument, Step
from metainfer.passes.instruments.timing import RULE


@dataclass
class CountOps(Instrument):
    """Ops of the module before and after each pass, and the counts of the run."""

    rewrites: Rewrites
    steps: list[tuple[str, int, int]] = field(default_factory=list)
    """(pass, ops before, ops after)"""
    _ops: int = field(default=0, init=False)

    def before(self, step: Step) -> None:
        self._ops = count_ops(step.module)

    def after(self, step: Step) -> None:
        self.steps.append((step.name, self._ops, count_ops(step.module)))

    def report(self) -> str:
        """One paragraph per pass, in MLIR's layout; a pass that runs twice counts once for all."""
        lines = [RULE, f"{'... Pass statistics report ...':^79}".rstrip(), RULE]
        names = [name for name, _, _ in self.steps]
        for position, (name, before, after) in enumerate(self.steps):
            lines += [name, f"  (S) {before:>7} ops before", f"  (S) {after:>7} ops after"]
            if name not in names[position + 1 :]:
                counts = self.rewrites.counts.get(name, {})
                lines += [f"  (S) {n:>7} {what}" for what, n in sorted(counts.items())]
        return "\n".join(lines) + "\n"


def count_ops(module: ModuleOp) -> int:
    """All ops of the module but itself."""
    return sum(1 for _ in module.walk()) - 1
