"""What a run counts: rewrites by pass and rule, with a limit, and anything else worth a number.

A pass asks before each rewrite that it could also leave out::

    before:  while (match := find(...)):  wrap(match)
    after:   while (match := find(...)) and rewrites.take("fuse", "fusion/qkv", place):  wrap(match)

With a limit, everything after the Nth rewrite stays as it was, so that the search for a faulty
rewrite goes on inside a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from metainfer.ir.diagnostics import Place


@dataclass(frozen=True)
class Rewrite:
    """One rewrite of a run: the `number`-th (from 1), by `rule` of a pass, at `place`."""

    number: int
    pass_name: str
    rule: str
    place: Place | None


@dataclass
class Rewrites:
    """The rewrites of a run, counted; none is allowed once `limit` of them were taken."""

    limit: int | None = None
    taken: int = 0
    last: Rewrite | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Pass → what was counted → how often."""

    @property
    def exhausted(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self.taken >= self.limit

    def take(self, pass_name: str, rule: str, place: Place | None) -> bool:
        """Count a rewrite that is about to happen; False if it must not."""
        if self.exhausted:
            return False
        self.taken += 1
        self.last = Rewrite(self.taken, pass_name, rule, place)
        self.count(pass_name, rule)
        return True

    def count(self, pass_name: str, what: str, amount: int = 1) -> None:
        """Add to a statistic of a pass; unlike `take` this allows and limits nothing."""
        counts = self.counts.setdefault(pass_name, {})
        counts[what] = counts.get(what, 0) + amount
