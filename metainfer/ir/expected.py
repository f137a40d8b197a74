"""Diagnostics that a source says it expects, in MLIR's comments, against those that came.

    // expected-error @+1 {{unknown operation}}
    func.funk @f()

`expected-error`, `-warning` and `-note`; the place is this line, `@+2`, `@-1`, `@above` or `@below`
(the nearest line without such a comment) or `@unknown`; the text must occur in the message, and
`expected-error-re` takes regular expressions between further braces: `{{dim {{[0-9]+}} is}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metainfer.ir.diagnostics import Diagnostic, Place

_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|note)(?P<re>-re)?\s*"
    r"(?P<at>@(?:[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}(?=\s*(?:expected-|$|//|\*/))"
)


@dataclass(frozen=True)
class Expected:
    """One comment: what should be said, on which line (None: at no place), and where it stands."""

    severity: str
    pattern: re.Pattern[str]
    text: str
    line: int | None
    comment: Place


@dataclass(frozen=True)
class Said:
    """A diagnostic, or one of its notes, that came."""

    severity: str
    message: str
    place: Place | None


def expected_diagnostics(text: str, name: str) -> list[Expected]:
    """Every expectation in the comments of `text`, the contents of file `name`."""
    lines = text.split("\n")
    marked = {n for n, line in enumerate(lines, 1) if _COMMENT.search(line)}
    found = []
    for number in sorted(marked):
        for match in _COMMENT.finditer(lines[number - 1]):
            place = Place(name, number, match.start() + 1, match.end() - match.start())
            line = _line(match["at"], number, marked)
            pattern = _pattern(match["text"], regular=bool(match["re"]))
            found.append(Expected(match["severity"], pattern, match["text"], line, place))
    return found


def _line(at: str | None, number: int, marked: set[int]) -> int | None:
    match at:
        case None:
            return number
        case "@unknown":
            return None
        case "@above" | "@below":
            step = -1 if at == "@above" else 1
            number += step
            while number in marked:
                number += step
            return number
    return number + int(at[1:])


def _pattern(text: str, *, regular: bool) -> re.Pattern[str]:
    if not regular:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(p if n % 2 else re.escape(p) for n, p in enumerate(parts)))


def mismatches(
    expected: Sequence[Expected], came: Sequence[Diagnostic], name: str
) -> list[Diagnostic]:
    """What was expected and did not come, then what came and was not expected, notes included."""
    open_ = list(expected)
    unexpected = []
    for said in _said(came):
        match = next((e for e in open_ if _fits(e, said, name)), None)
        if match is not None:
            open_.remove(match)
        elif said.severity != "note":
            # As in MLIR, notes may go unmentioned.
            unexpected.append(Diagnostic(f"unexpected {said.severity}: {said.message}", said.place))
    missing = [
        Diagnostic(f'expected {e.severity} "{e.text}" was not produced', e.comment) for e in open_
    ]
    return missing + unexpected


def _said(came: Sequence[Diagnostic]) -> Iterator[Said]:
    for one in came:
        yield Said(one.severity, one.message, one.place)
        for note in one.notes:
            yield Said("note", note.message, note.place)


def _fits(expected: Expected, said: Said, name: str) -> bool:
    if expected.severity != said.severity or not expected.pattern.search(said.message):
        return False
    if said.place is None or expected.line is None:
        return said.place is None and expected.line is None
    return (said.place.file, said.place.line) == (name, expected.line)
