"""The kinds of expressions that the policy tells apart: values, pointers, and arrays of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """`depth` 0 is a value, 1 a pointer or an array of values, more an array of those."""

    depth: int
    const: bool = False
    """Whether what it points to may not be written."""
    batch: bool = False
    """A pointer to `struct mi_batch`, of which only fields can be taken."""

    def element(self) -> Kind:
        """What a subscript yields; of a value, a lane of a vector."""
        return Kind(max(0, self.depth - 1), self.const)

    def __str__(self) -> str:
        return ("a value", "a pointer")[self.depth] if self.depth < 2 else "an array of pointers"


VALUE = Kind(0)


@dataclass
class Scopes:
    """Names in force, innermost block last."""

    blocks: list[dict[str, Kind]] = field(default_factory=lambda: [{}])

    def declare(self, name: str, kind: Kind) -> None:
        """Put a name into the innermost block."""
        self.blocks[-1][name] = kind

    def find(self, name: str) -> Kind | None:
        """What a name means here."""
        return next((b[name] for b in reversed(self.blocks) if name in b), None)
