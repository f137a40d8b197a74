"""Diagnostics as values: what is wrong, where, why, and what to do about it.

Everything a user can cause ends in a `DiagnosticError`; the command line is the only place that
prints one. Layout of a rendered diagnostic::

    impossible.mispec:9:5: error: these constraints cannot hold together
       9 |     kv <= 4 MiB
         |     ^^^^^^^^^^^
    note: 12:3: context 2048 x 23,040 B/token = 45.0 MiB
    help: nearest feasible: context <= 182
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, order=True)
class Place:
    """A stretch of one source line; `line` and `col` count from 1."""

    file: str
    line: int
    col: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


@dataclass(frozen=True)
class Note:
    """A fact that belongs to a diagnostic, with its own place if it has one."""

    message: str
    place: Place | None = None


@dataclass(frozen=True)
class Diagnostic:
    """One finding, complete without its context."""

    message: str
    place: Place | None = None
    notes: tuple[Note, ...] = ()
    help: str | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        return render(self)


class DiagnosticError(Exception):
    """Carries one or more diagnostics to the boundary that prints them."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


def error(
    message: str,
    place: Place | None = None,
    *,
    notes: Iterable[Note] = (),
    help: str | None = None,
) -> DiagnosticError:
    """The exception for a single error diagnostic: `raise error(...)`."""
    return DiagnosticError(Diagnostic(message, place, tuple(notes), help))


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """`did you mean 'x'?` for the nearest of `choices`, or None when nothing is near."""
    near = difflib.get_close_matches(word, sorted(choices), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else None


def _read_line(place: Place) -> str | None:
    try:
        lines = Path(place.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return lines[place.line - 1] if 0 < place.line <= len(lines) else None


def _excerpt(place: Place, line: str) -> list[str]:
    number = f"{place.line:>4}"
    shown = line.expandtabs(1)
    room = max(1, len(shown) - place.col + 1)
    caret = " " * (place.col - 1) + "^" * max(1, min(place.length, room))
    return [f"{number} | {shown}", f"{' ' * len(number)} | {caret}"]


def render(diagnostic: Diagnostic, read_line: Callable[[Place], str | None] = _read_line) -> str:
    """The text of a diagnostic; `read_line` gives the source line of a place (None: no excerpt)."""
    place = diagnostic.place
    head = f"{place}: " if place else ""
    out = [f"{head}{diagnostic.severity}: {diagnostic.message}"]
    if place and (line := read_line(place)) is not None:
        out += _excerpt(place, line)
    for note in diagnostic.notes:
        where = ""
        if note.place:
            same = place is not None and note.place.file == place.file
            where = f"{note.place.line}:{note.place.col}: " if same else f"{note.place}: "
        out.append(f"note: {where}{note.message}")
    if diagnostic.help:
        out.append(f"help: {diagnostic.help}")
    return "\n".join(out)
