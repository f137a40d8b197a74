"""From statements to items: every word is looked up, and all that is wrong is reported together.

Reads no file, so an editor can call it at every keystroke. A syntax error ends the reading; after
that each statement stands alone.
"""

from __future__ import annotations

import keyword
import string
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note, Place, did_you_mean, error
from metainfer.spec.cursor import Cursor, Slip, slip
from metainfer.spec.items import Item, Sheet
from metainfer.spec.language import DEGRADABLE, SECTIONS, key_of, sections_with
from metainfer.spec.measures import MEASURES
from metainfer.spec.numbers import read_list
from metainfer.spec.phrase import read_phrase
from metainfer.spec.syntax import Statement, join_words, parse_statements, stretch
from metainfer.spec.translate import items_of
from metainfer.spec.vocabulary import Key, Section
from metainfer.spec.words import Word


class Reading(NamedTuple):
    """What a file says, as far as it can be read, and everything wrong with its words."""

    sheet: Sheet | None
    problems: tuple[Diagnostic, ...]


def read_spec(text: str, filename: str) -> Reading:
    """The items of a file and its problems, in the order of the text; raises nothing."""
    reader = _Reader(filename)
    sheet: Sheet | None = None
    try:
        sheet = reader.file(parse_statements(text, filename))
    except DiagnosticError as problem:
        reader.problems += problem.diagnostics
    return Reading(sheet, tuple(sorted(reader.problems, key=lambda d: d.place or reader.top)))


class _Reader:
    """Collects the items of a file and the problems found on the way."""

    def __init__(self, filename: str) -> None:
        self.name = filename
        self.top = Place(filename, 1, 1)
        self.problems: list[Diagnostic] = []
        self._items: list[Item] = []
        self._given: dict[tuple[str, ...], tuple[tuple[Word, ...], Place]] = {}

    # --- the file and its engine ---

    def file(self, statements: tuple[Statement, ...]) -> Sheet:
        engines: list[Statement] = []
        for statement in statements:
            word = statement.words[0]
            if word.text == "engine":
                engines.append(statement)
            elif word.text == "use":
                self._guard(self._use, statement)
            else:
                self._unknown_at_top(statement)
        if not engines:
            raise error("expected 'engine NAME { ... }'", self.top)
        for extra in engines[1:]:
            first = Note("the first one is here", self._place(engines[0]))
            self._report("a file describes one engine", self._place(extra), first)
        return self._engine(engines[0])

    def _engine(self, statement: Statement) -> Sheet:
        name = self._engine_name(statement)
        for child in statement.block or ():
            self._guard(self._section, child)
        return Sheet(name, self._place(statement), tuple(self._items))

    def _engine_name(self, statement: Statement) -> str:
        words = statement.words
        if len(words) < 2:
            raise self._error("expected a name after 'engine'", statement, words[0])
        name = words[1]
        if name.kind != "name" or not name.text.isidentifier() or keyword.iskeyword(name.text):
            help = "a name has letters, digits and '_', begins with a letter and is no Python word"
            raise self._error(f"'{name.text}' cannot name an engine", statement, name, help)
        if len(words) > 2:
            message = f"expected '{{' after '{name.text}', found '{words[2].text}'"
            raise self._error(message, statement, words[2])
        if statement.block is None:
            raise self._error(f"expected '{{' after '{name.text}'", statement, name)
        return name.text

    def _use(self, statement: Statement) -> None:
        cursor = Cursor(statement.words)
        path = cursor.expect("text", "a quoted text")
        cursor.end()
        self._no_block(statement)
        self._add(statement, Item("use", path.text[1:-1], self._place(statement)))

    def _unknown_at_top(self, statement: Statement) -> None:
        word = statement.words[0]
        inside = word.text in SECTIONS
        hint = f"'{word.text}' belongs inside the engine's braces" if inside else None
        message = f"expected 'engine NAME {{ ... }}', found '{word.text}'"
        hint = hint or did_you_mean(word.text, ["engine", "use"])
        self.problems += self._error(message, statement, word, hint).diagnostics

    # --- sections ---

    def _section(self, statement: Statement) -> None:
        word = statement.words[0]
        section = SECTIONS.get(word.text)
        if word.text == "use":
            raise slip("'use' stands before 'engine'", word, help="write it at the top of the file")
        if section is None:
            raise _unknown(word, "section", list(SECTIONS), sections_with(word.text))
        match section.form:
            case "text":
                self._text(statement)
            case "objectives":
                self._objectives(statement)
            case "degrade":
                self._degrade(section, statement)
            case "block":
                self._block(section, statement)

    def _text(self, statement: Statement) -> None:
        """`model "uri"`, `sha256 "digits"`, or the second right after the first."""
        words = statement.words
        name = words[0].text
        if len(words) < 2 or words[1].kind != "text":
            raise slip(f"expected a quoted text after '{name}'", words[0])
        self._no_block(statement)
        if name == "model":
            if not words[1].text[1:-1].strip():
                raise Slip("the model's source is empty", words[0], words[1])
            place = self._place(statement, words[1])
            self._add(statement, Item("model", words[1].text[1:-1], place))
        else:
            self._digest(statement, words[1])
        if len(words) > 2 and (name != "model" or words[2].text != "sha256"):
            raise slip(f"expected a new line or ';', found '{words[2].text}'", words[2])
        if len(words) > 2:
            self._text(Statement(statement.line, words[2:], None))

    def _digest(self, statement: Statement, text: Word) -> None:
        digits = text.text[1:-1]
        if len(digits) != 64 or set(digits) - set(string.hexdigits):
            raise slip("expected 64 hex digits", text)
        self._once(("sha256",), statement.words[:2], self._place(statement, text))
        at = next((i for i, item in enumerate(self._items) if item.op == "model"), None)
        if at is None:
            raise slip("expected 'model' before 'sha256'", statement.words[0])
        self._items[at] = self._items[at]._replace(value=digits.lower())

    def _objectives(self, statement: Statement) -> None:
        self._opens(statement, 1)
        self._once(("prefer",), statement.words, self._place(statement))
        for number, child in enumerate(statement.block or ()):
            self._guard(partial(self._objective, number == 0), child)

    def _objective(self, first: bool, statement: Statement) -> None:
        self._no_block(statement)
        words = statement.words if first else _after_then(statement.words)
        if words[0].text not in ("min", "max"):
            hint = "the first objective has no 'then'" if words[0].text == "then" else None
            raise slip(f"expected min or max, found '{words[0].text}'", words[0], help=hint)
        cursor = Cursor(words)
        what = cursor.expect("name", "what to measure")
        cursor.end()
        key = key_of(MEASURES, what.text)
        aspect = what.text.partition(".")[2]
        if key is None or (aspect and aspect not in key.aspects):
            raise _unknown(what, "measure", list(MEASURES), [])
        good = "min" if "<=" in key.operators else "max"
        if words[0].text != good:
            small = "small" if good == "min" else "large"
            raise slip(
                f"'{what.text}' is better when it is {small}", words[0], help=f"write {good}"
            )
        place = self._place(Statement(statement.line, words, None))
        self._items.append(Item("prefer", what.text, place, value=good, words=words))

    def _degrade(self, section: Section, statement: Statement) -> None:
        what = self._operand(section, statement)
        self._opens(statement, 2)
        block = statement.block or ()
        if len(block) != 1 or block[0].block is not None:
            raise Slip("expected falling values with commas between", *_ends(statement))
        try:
            values, unit = read_list(DEGRADABLE[what.text], block[0].words)
        except Slip as problem:
            self.problems.append(problem.at(self.name, block[0].line))
            return
        item = Item("degrade", what.text, self._place(statement), value=values, unit=unit)
        self._add(statement, item)

    def _block(self, section: Section, statement: Statement) -> None:
        words = statement.words
        operand = self._operand(section, statement) if section.operands else None
        self._opens(statement, 2 if operand else 1, optional=operand is not None)
        if operand is not None:
            op = "target" if words[0].text == "target" else "feature"
            what = operand.text if op == "target" else f"{words[0].text}.{operand.text}"
            self._add(statement, Item(op, what, self._place(statement)))
        for child in statement.block or ():
            self._guard(partial(self._entry, words[0].text, section, operand), child)

    def _operand(self, section: Section, statement: Statement) -> Word:
        words, allowed = statement.words, " or ".join(section.operands)
        if len(words) < 2:
            raise slip(f"expected {allowed} after '{words[0].text}'", words[0])
        if words[1].text not in section.operands:
            hint = did_you_mean(words[1].text, section.operands)
            raise slip(f"expected {allowed}, found '{words[1].text}'", words[1], help=hint)
        return words[1]

    def _opens(self, statement: Statement, count: int, *, optional: bool = False) -> None:
        """A block follows the first `count` words."""
        words = statement.words
        if len(words) > count:
            wrong = words[count]
            raise slip(
                f"expected '{{' after '{words[count - 1].text}', found '{wrong.text}'", wrong
            )
        if statement.block is None and not optional:
            raise slip(f"expected '{{' after '{words[-1].text}'", words[-1])

    # --- keys ---

    def _entry(
        self, name: str, section: Section, operand: Word | None, statement: Statement
    ) -> None:
        word = statement.words[0]
        key = key_of(section.keys, word.text)
        if key is None:
            others = [other for other in sections_with(word.text) if other != name]
            raise _unknown(word, f"word in '{name}'", list(section.keys), others)
        if operand is not None and key.devices and operand.text not in key.devices:
            raise slip(f"'{word.text}' belongs to '{name} {key.devices[0]}'", word)
        phrase = read_phrase(key, statement.words)
        if isinstance(phrase, Slip):
            raise phrase
        base = f"{section.prefix}." if section.prefix else ""
        base += f"{operand.text}." if operand and base else ""
        items = items_of(section.op, base, key, phrase, self.name, statement.line)
        self._exclude(section, statement)
        self._add(statement, *items)
        if statement.block is not None:
            self._options(key, items[0], statement)

    def _options(self, key: Key, item: Item, statement: Statement) -> None:
        if item.value not in key.with_options:
            head = Statement(statement.line, item.words, None)
            place = self._place(head)
            self._report(f"'{head.text}' takes no block", place)
            return
        for child in statement.block or ():
            self._guard(partial(self._option, key, item.what), child)

    def _option(self, key: Key, what: str, statement: Statement) -> None:
        word = statement.words[0]
        option = key.options.get(word.text)
        if option is None:
            raise _unknown(word, f"word after '{what}'", list(key.options), [])
        phrase = read_phrase(option, statement.words)
        if isinstance(phrase, Slip):
            raise phrase
        self._no_block(statement)
        items = items_of("pin", f"{what}.", option, phrase, self.name, statement.line)
        self._add(statement, *items)

    def _exclude(self, section: Section, statement: Statement) -> None:
        for pair in section.exclusive:
            if statement.words[0].text not in pair:
                continue
            other = pair[0] if statement.words[0].text == pair[1] else pair[1]
            first = next((item for item in self._items if item.what == other), None)
            if first is not None:
                note = Note(f"{other} is given here", first.place)
                message = f"give {pair[0]} or {pair[1]}, not both"
                self._report(message, self._place(statement), note)

    # --- bookkeeping ---

    def _guard(self, read: Callable[[Statement], None], statement: Statement) -> None:
        """Read one statement; what is wrong with it does not keep the next from being read."""
        try:
            read(statement)
        except Slip as problem:
            self.problems.append(problem.at(self.name, statement.line))

    def _add(self, statement: Statement, *items: Item) -> None:
        first = items[0]
        place = first.place or self.top
        if self._once(first.key, first.words or statement.words, place):
            self._items += items

    def _once(self, key: tuple[str, ...], words: tuple[Word, ...], place: Place) -> bool:
        """Whether `key` is given here for the first time; the second time is reported."""
        if key not in self._given:
            self._given[key] = (words, place)
            return True
        known, first = self._given[key]
        name, value, before = words[0].text, join_words(words[1:]), join_words(known[1:])
        if before == value:
            self._report(f"'{name}' is given twice", place, Note("first given here", first))
        else:
            self._report(
                f"'{name}' is given twice: {value} here contradicts {before}",
                place,
                Note(f"{name} {before} is given here", first),
            )
        return False

    def _no_block(self, statement: Statement) -> None:
        if statement.block is not None:
            written = join_words(statement.words)
            raise Slip(f"'{written}' takes no block", *_ends(statement))

    def _place(self, statement: Statement, last: Word | None = None) -> Place:
        first, end = _ends(statement)
        return stretch(self.name, statement.line, first, last or end)

    def _error(
        self, message: str, statement: Statement, word: Word, help: str | None = None
    ) -> DiagnosticError:
        return DiagnosticError(slip(message, word, help=help).at(self.name, statement.line))

    def _report(self, message: str, place: Place, *notes: Note) -> None:
        self.problems.append(Diagnostic(message, place, notes))


def _ends(statement: Statement) -> tuple[Word, Word]:
    return statement.words[0], statement.words[-1]


def _after_then(words: tuple[Word, ...]) -> tuple[Word, ...]:
    if words[0].text != "then" or len(words) < 2:
        raise slip(f"expected 'then', found '{words[0].text}'", words[0])
    return words[1:]


def _unknown(word: Word, what: str, known: list[str], elsewhere: list[str]) -> Slip:
    if word.kind != "name":
        return slip(f"expected a word, found '{word.text}'", word)
    hint = did_you_mean(word.text, known)
    if elsewhere:
        hint = f"'{word.text}' belongs in '{elsewhere[0]} {{ ... }}'"
    return slip(f"unknown {what}: '{word.text}'", word, help=hint or f"one of {', '.join(known)}")
