"""From text to words, line by line: no word, text or comment goes on in the next line.

An editor changes one line at a time, so the words of a line are kept: what is read again after a
keystroke is that line alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

WordKind = Literal["name", "number", "text", "operator", "mark"]

PieceKind = Literal["words", "{", "}", ";", "comment", "bad"]

PATTERNS: dict[str, str] = {
    "name": r"[A-Za-z_][A-Za-z0-9_.]*(?:/[A-Za-z]+)*|%|\$/[A-Za-z]+",
    "number": r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:k\b)?",
    "text": r'"[^"]*"',
    "operator": r"[<>=!~≤≥]+",
    "mark": r"[,@]",
    "brace": r"[{};]",
    "comment": r"//.*",
    "blank": r"[ \t]+",
}
"""What a line is made of; the first pattern that fits is taken."""

_TOKEN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in PATTERNS.items()))
_WORD_KINDS: dict[str, WordKind] = {
    "name": "name",
    "number": "number",
    "text": "text",
    "operator": "operator",
    "mark": "mark",
}


class Word(NamedTuple):
    """One word as written, a text with its quotes, and the column it begins at, from 1."""

    kind: WordKind
    text: str
    col: int

    @property
    def end(self) -> int:
        """The column after the last character."""
        return self.col + len(self.text)


class Piece(NamedTuple):
    """What a line consists of: a run of words, a brace, a `;`, a comment, or what is neither."""

    kind: PieceKind
    words: tuple[Word, ...]
    text: str
    col: int


def lines_of(text: str) -> list[str]:
    """The lines of a file; `\\r\\n` ends one as `\\n` does."""
    return [line.removesuffix("\r") for line in text.split("\n")]


@lru_cache(maxsize=1 << 14)
def pieces_of(line: str) -> tuple[Piece, ...]:
    """The pieces of one line; the first character that begins none ends it as `bad`."""
    found: list[Piece] = []
    run: list[Word] = []
    for kind, text, col in _tokens(line):
        if kind in _WORD_KINDS:
            run.append(Word(_WORD_KINDS[kind], text, col))
            continue
        if kind == "blank":
            continue
        if run:
            found.append(_run(run))
            run = []
        found.append(Piece(_piece_kind(kind, text), (), text, col))
    if run:
        found.append(_run(run))
    return tuple(found)


def _tokens(line: str) -> Iterator[tuple[str, str, int]]:
    wrong = next((i for i, c in enumerate(line) if _is_control(c)), None)
    at = 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None or (wrong is not None and match.end() > wrong):
            at = at if match is None or wrong is None else wrong
            yield "bad", line[at], at + 1
            return
        yield match.lastgroup or "", match.group(), at + 1
        at = match.end()


def can_be_text(text: str) -> bool:
    """Whether `text` can stand between quotes."""
    return '"' not in text and not any(_is_control(c) for c in text)


def _is_control(char: str) -> bool:
    """Characters that a terminal or an editor may take for the end of a line or worse."""
    return char != "\t" and unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs")


def _run(words: list[Word]) -> Piece:
    return Piece("words", tuple(words), words[0].text, words[0].col)


def _piece_kind(kind: str, text: str) -> PieceKind:
    if kind == "comment":
        return "comment"
    return text if kind == "brace" else "bad"  # type: ignore[return-value]
