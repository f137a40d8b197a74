"""What stands where the cursor is: found from the pieces of the lines, so that it works while a
statement is half written."""

from __future__ import annotations

from dataclasses import dataclass

from metainfer.spec.language import SECTIONS, key_of
from metainfer.spec.vocabulary import Key, Section
from metainfer.spec.words import Word, lines_of, pieces_of


@dataclass(frozen=True)
class Spot:
    """A position in a file: the blocks around it and the statement that it is in."""

    blocks: tuple[tuple[Word, ...], ...]
    """The statements whose blocks are open, outermost first."""
    words: tuple[Word, ...]
    """The words of the statement before the cursor, the one that it touches included."""
    word: Word | None
    """The word that the cursor touches."""
    line: int

    @property
    def index(self) -> int:
        """Number of the word that the cursor touches, or that would be written there."""
        return len(self.words) - (self.word is not None)

    @property
    def section(self) -> Section | None:
        """The section around the cursor."""
        return SECTIONS.get(self.blocks[1][0].text) if len(self.blocks) > 1 else None

    @property
    def operand(self) -> str | None:
        """`cpu` inside `target cpu { ... }`."""
        words = self.blocks[1] if len(self.blocks) > 1 else ()
        return words[1].text if len(words) > 1 else None

    @property
    def key(self) -> Key | None:
        """The row of the statement that the cursor is in, or of the option."""
        section = self.section
        if section is None or not self.words:
            return None
        if len(self.blocks) > 2:
            owner = key_of(section.keys, self.blocks[2][0].text)
            return owner.options.get(self.words[0].text) if owner else None
        return key_of(section.keys, self.words[0].text)


def spot_at(text: str, line: int, col: int) -> Spot:
    """The spot at a line and column, from 1; the cursor is before the character there."""
    blocks: list[tuple[Word, ...]] = []
    words: tuple[Word, ...] = ()
    lines = lines_of(text)
    for number, source in enumerate(lines[:line], 1):
        if number > 1 and words and not _opens_next(lines, number):
            words = ()
        for piece in pieces_of(source):
            if number == line and piece.col >= col:
                break
            if piece.kind == "words":
                words = piece.words
            elif piece.kind == "{":
                blocks.append(words)
                words = ()
            elif piece.kind == "}":
                del blocks[-1:]
                words = ()
            elif piece.kind == ";":
                words = ()
    if line <= len(lines):
        words = tuple(word for word in words if word.col < col)
    touched = words[-1] if words and words[-1].end >= col else None
    return Spot(tuple(blocks), words, touched, line)


def _opens_next(lines: list[str], number: int) -> bool:
    """Whether line `number` begins with the brace of the statement before it."""
    pieces = pieces_of(lines[number - 1])
    return not pieces or pieces[0].kind in ("{", "comment")


def word_at(text: str, line: int, col: int) -> tuple[Spot, Word] | None:
    """The word at a column and the spot before its end; None between words."""
    lines = lines_of(text)
    if not 0 < line <= len(lines):
        return None
    for piece in pieces_of(lines[line - 1]):
        for word in piece.words:
            if word.col <= col < word.end:
                return spot_at(text, line, word.end), word
    return None
