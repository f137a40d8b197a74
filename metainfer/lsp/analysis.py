"""What an editor is told about a file: everything wrong with it, and what it would be refused for.

No editor protocol here: diagnostics and places are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError
from metainfer.passes.support import refusals
from metainfer.spec.items import Item, Sheet
from metainfer.spec.reading import read_spec
from metainfer.spec.uses import ReadFile, resolve


class Analysis(NamedTuple):
    """The outcome of reading one file and the files that it uses."""

    file: str
    sheet: Sheet | None
    """What the file itself says; None while it has no engine."""
    imported: tuple[Item, ...]
    """What the files say that it uses."""
    problems: tuple[Diagnostic, ...]
    """In the order of the text; what cannot be built yet is a warning."""


def analyse(text: str, file: str, read: ReadFile) -> Analysis:
    """Read `text` as the content of `file`; `read` gives the text of a used file.

    Raises nothing for what a user can write. A file that is used by others may lack a model.
    """
    reading = read_spec(text, file)
    if reading.sheet is None:
        return Analysis(file, None, (), reading.problems)
    imported, trouble = _imported(reading.sheet, file, read)
    warnings = [replace(d, severity="warning") for d in refusals(reading.sheet)]
    found = [*reading.problems, *trouble, *warnings]
    here = [_placed_here(problem, file) for problem in found]
    ordered = sorted(here, key=lambda d: (d.place.line, d.place.col) if d.place else (0, 0))
    return Analysis(file, reading.sheet, imported, tuple(ordered))


def _imported(
    sheet: Sheet, file: str, read: ReadFile
) -> tuple[tuple[Item, ...], Sequence[Diagnostic]]:
    """What each used file says by itself, and what keeps them from being used together."""
    uses = [item for item in sheet.items if item.op == "use"]
    if not uses:
        return (), ()
    found: list[Item] = []
    for use in uses:
        with suppress(DiagnosticError):
            found += resolve(sheet._replace(items=(use,)), file, read).items
    try:
        resolve(sheet, file, read)
    except DiagnosticError as problem:
        return tuple(found), problem.diagnostics
    return tuple(found), ()


def _placed_here(problem: Diagnostic, file: str) -> Diagnostic:
    """A problem of a used file, shown where this file uses it."""
    if problem.place is None or problem.place.file == file:
        return problem
    used = [note.place for note in problem.notes if note.place and note.place.file == file]
    message = f"{problem.place}: {problem.message}"
    return replace(problem, message=message, place=used[-1] if used else None)
