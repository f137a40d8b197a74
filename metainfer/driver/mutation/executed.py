"""Which lines of the passes run when the subjects are compiled, and in which pass first."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Runs = dict[str, set[int]]
"""Subject → numbers of the passes that run something."""
Lines = dict[str, dict[int, Runs]]
"""File → line → what runs it."""


@dataclass
class Recorder:
    """Notes the lines of some files as they run."""

    folder: Path
    """The package; files are named by their path below it."""
    files: frozenset[str]
    lines: Lines = field(default_factory=dict)
    subject: str = ""
    number: int = 0
    _known: dict[CodeType, dict[int, Runs] | None] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        """For `sys.settrace`."""
        code = frame.f_code
        if code not in self._known:
            self._known[code] = self._lines_of(code)
        mine = self._known[code]
        if mine is None:
            return None

        def local(inner: FrameType, event: str, argument: object) -> Any:
            mine.setdefault(inner.f_lineno, {}).setdefault(self.subject, set()).add(self.number)
            return local

        return local(frame, event, argument)

    def _lines_of(self, code: CodeType) -> dict[int, Runs] | None:
        path = Path(code.co_filename)
        if not path.is_relative_to(self.folder):
            return None
        file = path.relative_to(self.folder).as_posix()
        return self.lines.setdefault(file, {}) if file in self.files else None

    def finish(self) -> Lines:
        """The lines of all that was watched; those outside of functions count as run."""
        for file, lines in self.lines.items():
            _add_outer_lines(lines, (self.folder / file).read_text(encoding="utf-8"))
        return self.lines


@contextmanager
def watched(recorder: Recorder, subject: str, number: int) -> Iterator[None]:
    """Note the lines that run inside, as the `number`-th pass on a subject."""
    recorder.subject, recorder.number = subject, number
    before = sys.gettrace()
    sys.settrace(recorder)
    try:
        yield
    finally:
        sys.settrace(before)


def _add_outer_lines(lines: dict[int, Runs], text: str) -> None:
    """What stands outside of functions matters to every pass that runs any line."""
    everything = joined(lines.values())
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    inside = {n for f in functions for n in range(f.lineno, (f.end_lineno or f.lineno) + 1)}
    for line in range(1, text.count("\n") + 2):
        if line not in inside:
            lines[line] = everything


def joined(runs: Iterable[Runs]) -> Runs:
    """All passes of all of them."""
    found: Runs = {}
    for one in runs:
        for subject, numbers in one.items():
            found[subject] = found.get(subject, set()) | numbers
    return found
