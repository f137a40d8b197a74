"""Bodies written by hand beside the rules': correct ones, and wrong ones by somebody who has never
read the verifier.

`correct/SUBJECT/NAME.c` must pass, `blind/SUBJECT/NAME.c` must not; its first line says what is
wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

Sort = Literal["correct", "blind"]


@dataclass(frozen=True)
class Written:
    """A body by hand."""

    subject: str
    name: str
    text: str

    @property
    def says(self) -> str:
        """Its first line, without the marks of a comment."""
        return self.text.split("\n", 1)[0].strip("/* ")


def written(sort: Sort) -> list[Written]:
    """All bodies of a sort, by subject and name."""
    root = Path(str(files("metainfer.verify.mutation") / sort))
    return [
        Written(path.parent.name, path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(root.glob("*/*.c"))
    ]
