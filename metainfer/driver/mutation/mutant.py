"""A mutant: one change of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """Characters `start` to `stop` of `file` replaced by `after`."""

    file: str
    """Path below the package (`passes/fuse.py`) or below the knowledge base (`ckb/...`)."""
    operator: str
    start: int
    stop: int
    line: int
    before: str
    after: str

    @property
    def site(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def of_contract(self) -> bool:
        """Whether a contract is changed, not a pass."""
        return self.file.startswith("ckb/")

    def apply(self, text: str) -> str:
        """The changed text of the file."""
        return text[: self.start] + self.after + text[self.stop :]


def replacing(file: str, text: str, operator: str, start: int, stop: int, after: str) -> Mutant:
    """A mutant that puts `after` in the place of `text[start:stop]`."""
    line = text.count("\n", 0, start) + 1
    return Mutant(file, operator, start, stop, line, text[start:stop], after)
