"""From `.mispec` text to statements: words with their places, blocks within blocks.

This knows the shape of the language only; `reading` gives the words their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metainfer.ir.diagnostics import DiagnosticError, Place, error
from metainfer.spec.words import Piece, Word, lines_of, pieces_of

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedToken

MAX_DEPTH = 8
"""Blocks within blocks; the language needs three."""


class Statement(NamedTuple):
    """The words of one line and, where a block follows them, its statements."""

    line: int
    words: tuple[Word, ...]
    block: tuple[Statement, ...] | None

    @property
    def text(self) -> str:
        """The words and the block with single spaces between them."""
        parts = [join_words(self.words)]
        if self.block is not None:
            parts += ["{", "; ".join(statement.text for statement in self.block), "}"]
        return " ".join(part for part in parts if part)


def join_words(words: Iterable[Word]) -> str:
    """Words as they are written, with single spaces and none before a comma."""
    return " ".join(word.text for word in words).replace(" ,", ",")


def stretch(file: str, line: int, first: Word, last: Word) -> Place:
    """From the start of one word to the end of another on the same line."""
    return Place(file, line, first.col, last.end - first.col)


def parse_statements(text: str, filename: str) -> tuple[Statement, ...]:
    """The statements at the top of a file. Raises `DiagnosticError` at the first syntax error."""
    from lark.exceptions import UnexpectedToken

    tokens = _Tokens(text, filename)
    try:
        # Lark hands the text on to its lexer as it is.
        return _parser().parse(tokens)  # type: ignore[return-value]
    except UnexpectedToken as problem:
        raise _bad_token(problem, filename, tokens.open) from None


@cache
def _parser() -> Lark:
    from lark import Lark, Transformer
    from lark.lexer import Lexer

    class Lines(Lexer):
        """Passes tokens on: they are made before Lark asks for them."""

        def __init__(self, conf: object) -> None:
            pass

        def lex(self, data: _Tokens) -> Iterator[Token]:  # type: ignore[override]
            return iter(data)

    class Statements(Transformer):  # type: ignore[type-arg]
        """Statements in place of trees."""

        def file(self, found: list[tuple[Statement, ...]]) -> tuple[Statement, ...]:
            return tuple(statement for group in found for statement in group)

        block = file

        def statement(self, found: list[Any]) -> tuple[Statement, ...]:
            plain: tuple[Statement, ...] = found[0].value
            return plain if len(found) == 1 else (plain[0]._replace(block=found[1]),)

    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="file", parser="lalr", lexer=Lines, transformer=Statements())


class _Tokens:
    """The tokens of a text for the parser.

    New lines and `;` in a row are one separator. Statements without a block that follow each other
    are one token, since most lines are such, and the parser is slow beside the lexer.
    """

    def __init__(self, text: str, filename: str) -> None:
        self._lines = lines_of(text)
        self._file = filename
        self._plain: list[Statement] = []
        """Statements that have been read and not been passed on."""
        self._between: tuple[str, int, int] | None = None
        """The separator after them: its text, line and column."""
        self.open: list[Place] = []
        """The braces that are open at the point that has been read."""

    def __iter__(self) -> Iterator[Token]:
        for number, line in enumerate(self._lines, 1):
            for piece in pieces_of(line):
                if piece.kind == "words":
                    yield from self._words(piece, number)
                elif piece.kind == ";":
                    self._between = (";", number, piece.col)
                elif piece.kind != "comment":
                    yield from self._brace(piece, number)
            self._between = self._between or ("\n", number, len(line) + 1)
        yield from self._pass_on()

    def _words(self, piece: Piece, line: int) -> Iterator[Token]:
        if not self._plain and self._between:
            yield from self._pass_on()
        self._plain.append(Statement(line, piece.words, None))
        self._between = None

    def _brace(self, piece: Piece, line: int) -> Iterator[Token]:
        place = Place(self._file, line, piece.col, len(piece.text))
        if piece.kind == "bad":
            raise _bad_character(piece.text, place)
        if piece.kind == "{":
            if self._between and self._between[0] == "\n":
                # A new line before a brace separates nothing; a ';' does.
                self._between = None
            yield from self._pass_on(apart=True)
            self.open.append(place)
            if len(self.open) > MAX_DEPTH:
                raise error(f"blocks are nested more than {MAX_DEPTH} deep", place)
        else:
            yield from self._pass_on()
            del self.open[-1:]
        yield _token("_OPEN" if piece.kind == "{" else "_CLOSE", piece.text, line, piece.col)

    def _pass_on(self, *, apart: bool = False) -> Iterator[Token]:
        """What has been read; the last statement `apart` where a block belongs to it."""
        plain, self._plain = self._plain, []
        if apart and len(plain) > 1 and not self._between:
            yield _statements(plain[:-1])
            yield _token("_SEP", "\n", plain[-1].line, plain[-1].words[0].col)
            plain = plain[-1:]
        if plain:
            yield _statements(plain)
        if self._between:
            yield _token("_SEP", *self._between)
            self._between = None


def _token(kind: str, text: str, line: int, col: int) -> Token:
    from lark import Token

    return Token(kind, text, line=line, column=col)


def _statements(plain: list[Statement]) -> Token:
    """A token for statements without blocks, which stands where the first one does."""
    first = plain[0].words[0]
    token = _token("WORDS", first.text, plain[0].line, first.col)
    token.value = tuple(plain)
    return token


# === What to say when the text has another shape ===

_PLAIN = {
    "_SEP": "a new line or ';'",
    "WORDS": "a word",
    "_OPEN": "'{'",
    "_CLOSE": "'}'",
}


def _bad_character(char: str, place: Place) -> DiagnosticError:
    if char == '"':
        return error("expected '\"' at the end of this text, on the same line", place)
    return error(f"unexpected character {char!r}", place)


def _bad_token(
    problem: UnexpectedToken, filename: str, open_braces: list[Place]
) -> DiagnosticError:
    token = problem.token
    if token.type == "$END":
        return error("expected '}' to close this block, found the end of the file", open_braces[-1])
    place = Place(filename, token.line or 1, token.column or 1, max(1, len(token)))
    if token.type == "_CLOSE" and "_CLOSE" not in problem.accepts:
        return error("expected a word, found '}' that closes no block", place)
    return error(f"expected {_choices(problem.accepts)}, found '{token}'", place)


def _choices(expected: Iterable[str]) -> str:
    """The expected terminals in plain words, separators first; a word stands for a separator."""
    allowed = set(expected)
    if "WORDS" in allowed:
        allowed -= {"_SEP"}
    return " or ".join(word for name, word in _PLAIN.items() if name in allowed)
