"""Reading the words of a statement one by one; what is wrong is said of words, not of a file."""

from __future__ import annotations

from dataclasses import dataclass

from metainfer.ir.diagnostics import Diagnostic, Place, did_you_mean
from metainfer.spec.words import Word


@dataclass(frozen=True)
class Slip(Exception):
    """Something is wrong with the words from `first` to `last` of a line."""

    message: str
    first: Word
    last: Word
    help: str | None = None

    def at(self, file: str, line: int) -> Diagnostic:
        """The diagnostic for the slip, once it is known where the words stand."""
        place = Place(file, line, self.first.col, self.last.end - self.first.col)
        return Diagnostic(self.message, place, (), self.help)


def slip(message: str, word: Word, *, help: str | None = None) -> Slip:
    """The exception for a single wrong word."""
    return Slip(message, word, word, help)


class Cursor:
    """A place in the words of a statement; the first word, the key, is read already."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.words = words
        self.at = 1

    @property
    def key(self) -> Word:
        return self.words[0]

    @property
    def before(self) -> Word:
        """The word that was read last."""
        return self.words[self.at - 1]

    def peek(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def take(self) -> Word:
        """The next word, which is known to be there."""
        self.at += 1
        return self.words[self.at - 1]

    def take_if(self, text: str) -> Word | None:
        """The next word if it is `text`."""
        word = self.peek()
        return self.take() if word is not None and word.text == text else None

    def expect(self, kind: str, what: str) -> Word:
        """The next word, which must be of `kind`; messages call it `what`."""
        word = self.peek()
        if word is None or word.kind != kind:
            raise self.expected(what)
        return self.take()

    def choice(self, what: str, choices: tuple[str, ...]) -> Word:
        """The next word, which must be one of `choices`; none of them means any name."""
        listed = f"one of {', '.join(choices)}" if choices else "a word"
        word = self.expect("name", listed)
        if choices and word.text not in choices:
            raise slip(
                f"unknown value '{word.text}' for '{what}'",
                word,
                help=did_you_mean(word.text, choices) or listed,
            )
        return word

    def expected(self, what: str) -> Slip:
        """That something else stands where `what` should, or nothing."""
        word = self.peek()
        if word is None:
            return slip(f"expected {what} after '{self.before.text}'", self.before)
        return slip(f"expected {what} after '{self.before.text}', found '{word.text}'", word)

    def end(self) -> None:
        """Refuse a word that is left over."""
        if self.peek() is not None:
            raise self.expected("a new line or ';'")
