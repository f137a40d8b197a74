"""The layers around a running candidate, each of which a test may leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layer = Literal[
    "namespaces", "rlimits", "seccomp", "read_only", "guard_pages", "margins", "wall_clock"
]

IN_RUNNER: dict[Layer, int] = {
    "namespaces": 1,
    "rlimits": 2,
    "seccomp": 4,
    "read_only": 8,
    "guard_pages": 16,
}
"""Layers that the runner puts up, by their bit in its command line."""


@dataclass(frozen=True)
class Sandbox:
    """Which layers stand. Users cannot choose: all do, but in a proof that a layer is needed."""

    off: frozenset[Layer] = frozenset()
    cpu_seconds: int = 3600
    """Ends a process that outlives both its parent and the wall clock."""

    def has(self, layer: Layer) -> bool:
        """Whether a layer stands."""
        return layer not in self.off

    def bits(self) -> int:
        """The layers asked of the runner, as its command line takes them."""
        return sum(bit for layer, bit in IN_RUNNER.items() if self.has(layer))


FULL = Sandbox()
