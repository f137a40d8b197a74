"""What can be said of a body's text before it is parsed: its characters, comments and braces.

After these checks no parser can disagree with the compiler on where a comment or a token ends, or
on which brace closes the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_BYTES = 128 * 1024
"""Several times the longest body that a rule writes."""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FORBIDDEN = (
    (re.compile(r"[^\x20-\x7e\n\t]"), "a character that is not printable ASCII"),
    (re.compile(r"#|%:"), "the preprocessor"),
    (re.compile(r"\\"), "a backslash"),
    (re.compile(r"[\"']"), "a string or character literal"),
    (re.compile(r"\?\?|<:|:>|<%|%>"), "a digraph or trigraph"),
    (re.compile(r"[$@`]"), "a character that C does not use"),
)


@dataclass(frozen=True)
class Breach:
    """Something that a body may not have; `at` is an offset in its text."""

    at: int
    length: int
    what: str


def lexical_breaches(text: str) -> Iterator[Breach]:
    """Characters that no body needs, and a body that does not stay in its function."""
    if len(text) > MOST_BYTES:
        yield Breach(0, 1, f"be longer than {MOST_BYTES:,} characters")
        return
    for pattern, name in _FORBIDDEN:
        for found in pattern.finditer(text):
            yield Breach(found.start(), len(found[0]), f"use {name}")
    yield from _unbalanced(without_comments(text))


def without_comments(text: str) -> str:
    """The text with blanks where comments are, so that all offsets stay."""
    return _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _unbalanced(text: str) -> Iterator[Breach]:
    if (open_comment := text.find("/*")) >= 0:
        yield Breach(open_comment, 2, "leave a comment open")
    depth = 0
    for found in re.finditer(r"[{}]", text):
        depth += 1 if found[0] == "{" else -1
        if depth < 0:
            yield Breach(found.start(), 1, "close the function it is in")
            return
    if depth:
        yield Breach(max(0, len(text) - 1), 1, "leave a brace open")
