"""Greedy rewriting by named patterns: counted, stoppable, and never without end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)

from metainfer.ir.diagnostics import Note, Place, error
from metainfer.ir.text import place_of
from metainfer.passes.context import rewrites_of
from metainfer.passes.counters import Rewrites

DEPTH = 64
"""Rewrites in a row that start from one op: no useful chain of ours comes near it."""
PER_OP = 64
"""Rewrites per op of the module that a greedy run may take at most."""


def rewrite_greedily(
    ctx: Context, module: ModuleOp, pass_name: str, patterns: Mapping[str, RewritePattern]
) -> bool:
    """Apply `patterns` (by name, first match wins) to all ops until none matches.

    What a pattern makes gets the location of what it replaces. Raises DiagnosticError when the
    patterns go round in circles, naming those that do. Returns whether anything changed.
    """
    driver = _Greedy(rewrites_of(ctx), pass_name, patterns)
    driver.budget = PER_OP * (1 + sum(1 for _ in module.walk()))
    listener = PatternRewriterListener(
        operation_insertion_handler=[driver.touched.append],
        operation_modification_handler=[driver.touched.append],
    )
    changed = PatternRewriteWalker(driver, listener=listener).rewrite_module(module)
    if driver.failure is not None:
        raise driver.failure
    return changed


@dataclass(eq=False)
class _Greedy(RewritePattern):
    """Tries the patterns in order on one op, and keeps the books."""

    rewrites: Rewrites
    pass_name: str
    patterns: Mapping[str, RewritePattern]
    budget: int = 0
    depth: dict[Operation, int] = field(default_factory=dict)
    """How many rewrites led to an op."""
    recent: list[tuple[str, Place | None]] = field(default_factory=list)
    touched: list[Operation] = field(default_factory=list)
    """What the rewrite that runs now has made or changed."""
    failure: Exception | None = None
    """Kept until the walk is over: xDSL would add the text of the whole module to it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.failure is not None or self.rewrites.exhausted:
            return
        # What a pattern does to `op` may leave nothing of it to look at.
        depth, location, place = self.depth.pop(op, 0), op.location, place_of(op)
        self.touched.clear()
        try:
            name = self._first_match(op, rewriter)
            if name is not None:
                self._account(name, place, depth + 1)
        except Exception as problem:
            self.failure = problem
        for made in self.touched:
            self.depth[made] = depth + 1
            if isinstance(made.location, UnknownLoc):
                made.location = location

    def _first_match(self, op: Operation, rewriter: PatternRewriter) -> str | None:
        for name, pattern in self.patterns.items():
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return name
        return None

    def _account(self, name: str, place: Place | None, depth: int) -> None:
        self.rewrites.take(self.pass_name, name, place)
        self.recent = [*self.recent[-7:], (name, place)]
        self.budget -= 1
        if depth <= DEPTH and self.budget > 0:
            return
        names = " and ".join(f"'{n}'" for n in sorted({n for n, _ in self.recent}))
        raise error(
            f"pass {self.pass_name}: endless rewriting by {names}",
            place,
            notes=[Note(f"rewritten by '{n}'", p) for n, p in self.recent[-2:]],
        )
