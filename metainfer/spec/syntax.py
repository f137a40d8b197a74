"""From `.mispec` text to statements: words with their places, blocks within blocks.

This knows the shape of the language only; `frontend` gives the words their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from metainfer.ir.diagnostics import DiagnosticError, Place, error

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

WordKind = Literal["name", "number", "text", "operator", "mark"]

MAX_DEPTH = 8
"""Blocks within blocks; the language needs three."""


@dataclass(frozen=True)
class Word:
    """One word as written; a text keeps its quotes."""

    kind: WordKind
    text: str
    place: Place


@dataclass(frozen=True)
class Statement:
    """The words of one line and, where a block follows them, its statements."""

    words: tuple[Word, ...]
    block: tuple[Statement, ...] | None

    @property
    def place(self) -> Place:
        """The stretch of all words; they stand on one line."""
        return stretch(self.words)

    @property
    def text(self) -> str:
        """The words and the block with single spaces between them."""
        parts = [word.text for word in self.words]
        if self.block is not None:
            parts += ["{", "; ".join(statement.text for statement in self.block), "}"]
        return " ".join(part for part in parts if part)


def stretch(words: Iterable[Word]) -> Place:
    """From the start of the first word to the end of the last; all stand on one line."""
    places = [word.place for word in words]
    first, last = places[0], places[-1]
    return Place(first.file, first.line, first.col, last.col + last.length - first.col)


def parse_statements(text: str, filename: str) -> tuple[Statement, ...]:
    """The statements at the top of a file. Raises `DiagnosticError` at the first syntax error."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        tree = _parser().parse(text)
    except UnexpectedCharacters as problem:
        raise _bad_character(problem, filename) from None
    except UnexpectedToken as problem:
        raise _bad_token(problem, text, filename) from None
    return _statements(tree, filename, 0)


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="file", parser="lalr", propagate_positions=True)


def _statements(tree: Tree[Token], filename: str, depth: int) -> tuple[Statement, ...]:
    return tuple(_statement(child, filename, depth) for child in _subtrees(tree))


def _statement(tree: Tree[Token], filename: str, depth: int) -> Statement:
    from lark import Token

    words = tuple(_word(child, filename) for child in tree.children if isinstance(child, Token))
    blocks = _subtrees(tree)
    if not blocks:
        return Statement(words, None)
    if depth == MAX_DEPTH:
        raise error(f"blocks are nested more than {MAX_DEPTH} deep", words[0].place)
    return Statement(words, _statements(blocks[0], filename, depth + 1))


def _subtrees(tree: Tree[Token]) -> list[Tree[Token]]:
    from lark import Tree

    return [child for child in tree.children if isinstance(child, Tree)]


def _word(token: Token, filename: str) -> Word:
    kinds: dict[str, WordKind] = {
        "NAME": "name",
        "NUMBER": "number",
        "TEXT": "text",
        "OPERATOR": "operator",
        "MARK": "mark",
    }
    return Word(kinds[token.type], str(token), _place(token, filename))


def _place(token: Token, filename: str) -> Place:
    return Place(filename, token.line or 1, token.column or 1, max(1, len(token)))


# === What to say when the text has another shape ===

_PLAIN = {
    "NAME": "a word",
    "NUMBER": "a number",
    "TEXT": "a quoted text",
    "OPERATOR": "an operator",
    "MARK": "','",
    "_OPEN": "'{'",
    "_CLOSE": "'}'",
    "_NEWLINE": "a new line",
    "_SEMICOLON": "';'",
    "$END": "the end of the file",
}


def _bad_character(problem: UnexpectedCharacters, filename: str) -> DiagnosticError:
    place = Place(filename, problem.line, problem.column)
    if problem.char == '"':
        return error("expected '\"' at the end of this text, on the same line", place)
    return error(f"unexpected character {problem.char!r}", place)


def _bad_token(problem: UnexpectedToken, text: str, filename: str) -> DiagnosticError:
    token = problem.token
    if token.type == "$END":
        unclosed = _unclosed_brace(text, filename)
        return error("expected '}' to close this block, found the end of the file", unclosed)
    if token.type == "_CLOSE" and "_CLOSE" not in problem.accepts:
        return error("expected a word, found '}' that closes no block", _place(token, filename))
    found = str(token).strip()
    column = (token.end_column or 2) - 1 if token.type == "_OPEN" else token.column or 1
    line = token.end_line if token.type == "_OPEN" else token.line
    place = Place(filename, line or 1, column, max(1, len(found)))
    return error(f"expected {_choices(problem.accepts)}, found '{found}'", place)


def _choices(expected: Iterable[str]) -> str:
    """The expected terminals in plain words, separators first; a word stands for its kinds."""
    allowed = set(expected)
    if "NAME" in allowed:
        allowed -= {"NUMBER", "TEXT", "OPERATOR", "MARK", "_NEWLINE", "_SEMICOLON"}
    order = ["_NEWLINE", "_SEMICOLON", "NAME", "_OPEN", "_CLOSE"]
    return " or ".join(_PLAIN[name] for name in order if name in allowed)


def _unclosed_brace(text: str, filename: str) -> Place:
    """Place of the innermost '{' that the text leaves open."""
    open_braces: list[Place] = []
    for token in _parser().lex(text):
        if token.type == "_OPEN":
            line, column = token.end_line or 1, (token.end_column or 2) - 1
            open_braces.append(Place(filename, line, column))
        elif token.type == "_CLOSE":
            open_braces.pop()
    return open_braces[-1]
