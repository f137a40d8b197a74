"""`.mispec` text to `spec` ops. Pure: reads no file, so an editor can call it at every keystroke.

A syntax error ends the reading. After that each statement stands alone, so that all wrong words,
units and contradictions of a file are reported together.
"""

from __future__ import annotations

import keyword
import string
from collections.abc import Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region

from metainfer.ir.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Note,
    Place,
    did_you_mean,
    error,
)
from metainfer.ir.dialects import spec
from metainfer.spec.language import RESERVED, SECTIONS, Key, Section, sections_with
from metainfer.spec.phrase import Phrase, read_phrase
from metainfer.spec.syntax import Statement, Word, parse_statements, stretch


def parse_mispec(text: str, filename: str) -> ModuleOp:
    """The module that a `.mispec` file spells: one `spec.engine` with one op per constraint.

    Raises `DiagnosticError` with everything that is wrong with the words of the file. Constructs
    without a meaning yet become `spec.reserved` ops, for `support` to refuse.
    """
    reader = _Reader(filename)
    try:
        engine = reader.file(parse_statements(text, filename))
    except DiagnosticError as problem:
        reader.problems += problem.diagnostics
    if reader.problems:
        raise DiagnosticError(*sorted(reader.problems, key=lambda d: d.place or reader.top))
    module = ModuleOp([engine])
    module.location = location_of(reader.top)
    return module


def location_of(place: Place) -> LocationAttr:
    """First and last character of a stretch, fused; of a single character only its position.

    MLIR's file locations have no length: this keeps it through printing and parsing.
    """
    file = StringAttr(place.file)
    first = FileLineColLoc(file, IntAttr(place.line), IntAttr(place.col))
    if place.length == 1:
        return first
    last = FileLineColLoc(file, IntAttr(place.line), IntAttr(place.col + place.length - 1))
    return FusedLoc(ArrayAttr([first, last]), NoneAttr())


class _Reader:
    """Collects the ops of a file and the problems found on the way."""

    def __init__(self, filename: str) -> None:
        self.top = Place(filename, 1, 1)
        self.problems: list[Diagnostic] = []
        self._ops: list[Operation] = []
        self._given: dict[tuple[str, ...], tuple[str, Place]] = {}

    # --- the file and its engine ---

    def file(self, statements: tuple[Statement, ...]) -> spec.EngineOp:
        engines: list[Statement] = []
        for statement in statements:
            word = statement.words[0]
            if word.text == "engine":
                engines.append(statement)
            elif word.text == "use":
                self._reserve("use", statement, word.place)
            else:
                self._unknown_at_top(word)
        if not engines:
            raise error("expected 'engine NAME { ... }'", self.top)
        for extra in engines[1:]:
            first = Note("the first one is here", engines[0].place)
            self._report("a file describes one engine", extra.place, first)
        return self._engine(engines[0])

    def _engine(self, statement: Statement) -> spec.EngineOp:
        name = _engine_name(statement)
        for child in statement.block or ():
            try:
                self._section(child)
            except DiagnosticError as problem:
                self.problems += problem.diagnostics
        op = spec.EngineOp.build(
            properties={"sym_name": StringAttr(name)}, regions=[Region(Block(self._ops))]
        )
        op.location = location_of(statement.place)
        return op

    def _unknown_at_top(self, word: Word) -> None:
        inside = word.text in SECTIONS
        self._report(
            f"expected 'engine NAME {{ ... }}', found '{word.text}'",
            word.place,
            help=f"'{word.text}' belongs inside the engine's braces"
            if inside
            else did_you_mean(word.text, ["engine"]),
        )

    # --- sections ---

    def _section(self, statement: Statement) -> None:
        word = statement.words[0]
        section = SECTIONS.get(word.text)
        if section is None:
            raise _unknown(word, "section", list(SECTIONS), sections_with(word.text))
        if section.form == "reserved":
            self._reserve(word.text, statement, word.place)
        elif section.form == "text":
            self._text(statement)
        else:
            self._block(section, statement)

    def _text(self, statement: Statement) -> None:
        """`model "uri"`, `sha256 "digits"`, or the second right after the first."""
        words = statement.words
        name = words[0].text
        if len(words) < 2 or words[1].kind != "text":
            raise error(f"expected a quoted text after '{name}'", words[0].place)
        if statement.block is not None:
            raise error(f"'{name}' takes no block", words[0].place)
        text = words[1].text[1:-1]
        self._once((name,), text, stretch(words[:2]))
        if name == "model":
            self._model(text, stretch(words[:2]))
        else:
            self._digest(text, words)
        if len(words) > 2 and (name != "model" or words[2].text != "sha256"):
            raise error(f"expected a new line or ';', found '{words[2].text}'", words[2].place)
        if len(words) > 2:
            self._text(Statement(words[2:], None))

    def _model(self, uri: str, place: Place) -> None:
        if not uri.strip():
            raise error("the model's source is empty", place)
        self._add(spec.ModelOp.build(properties={"uri": StringAttr(uri)}), place)

    def _digest(self, digits: str, words: tuple[Word, ...]) -> None:
        if len(digits) != 64 or set(digits) - set(string.hexdigits):
            raise error("expected 64 hex digits", words[1].place)
        models = [op for op in self._ops if isinstance(op, spec.ModelOp)]
        if not models:
            raise error("expected 'model' before 'sha256'", words[0].place)
        models[0].sha256 = StringAttr(digits.lower())

    def _block(self, section: Section, statement: Statement) -> None:
        words = statement.words
        name = words[0].text
        operands = 1 if section.devices else 0
        if section.devices:
            self._device(section, words)
        if len(words) > 1 + operands:
            wrong = words[1 + operands]
            raise error(
                f"expected '{{' after '{words[operands].text}', found '{wrong.text}'", wrong.place
            )
        if statement.block is None and not section.devices:
            raise error(f"expected '{{' after '{name}'", words[0].place)
        for child in statement.block or ():
            try:
                self._entry(name, section.keys, child)
            except DiagnosticError as problem:
                self.problems += problem.diagnostics

    def _device(self, section: Section, words: tuple[Word, ...]) -> None:
        allowed = " or ".join(section.devices)
        if len(words) < 2:
            raise error(f"expected {allowed} after '{words[0].text}'", words[0].place)
        device = words[1]
        if device.text not in section.devices:
            hint = did_you_mean(device.text, section.devices)
            raise error(f"expected {allowed}, found '{device.text}'", device.place, help=hint)
        self._once((words[0].text,), device.text, stretch(words[:2]))
        properties = {"device": StringAttr(device.text)}
        self._add(spec.TargetOp.build(properties=properties), stretch(words[:2]))

    # --- keys ---

    def _entry(self, section: str, keys: Mapping[str, Key], statement: Statement) -> None:
        word = statement.words[0]
        key = keys.get(word.text) or _reserved_family(keys, word)
        if key is None:
            others = [name for name in sections_with(word.text) if name != section]
            raise _unknown(word, f"word in '{section}'", list(keys), others)
        if key.kind == "reserved":
            self._reserve(f"{section}.{word.text}", statement, statement.place)
            return
        phrase = read_phrase(key, statement.words)
        place = stretch(phrase.words)
        self._once_per_key(section, phrase, place)
        self._add(_op(section, word.text, phrase), place)
        if phrase.rest:
            clause = Statement(phrase.rest, None)
            self._reserve(f"{section}.{phrase.rest[0].text}", clause, clause.place)
        if statement.block is not None:
            self._options(section, key, phrase, statement)

    def _options(self, section: str, key: Key, phrase: Phrase, statement: Statement) -> None:
        name = phrase.words[0].text
        if not key.options or phrase.value in key.without_options:
            written = " ".join(word.text for word in phrase.words)
            raise error(f"'{written}' takes no block", stretch(phrase.words))
        for child in statement.block or ():
            word = child.words[0]
            option = key.options.get(word.text)
            if option is None:
                raise _unknown(word, f"word after '{name}'", list(key.options), [])
            inner = read_phrase(option, child.words)
            if child.block is not None:
                raise error(f"'{word.text}' takes no block", child.place)
            self._once((section, name, word.text), str(inner.value), child.place)
            self._add(_pin(f"{name}.{word.text}", inner), child.place)

    # --- bookkeeping ---

    def _add(self, op: Operation, place: Place) -> None:
        op.location = location_of(place)
        self._ops.append(op)

    def _reserve(self, what: str, statement: Statement, place: Place) -> None:
        text = Statement(statement.words[1:], statement.block).text
        properties = {"what": StringAttr(what), "text": StringAttr(text)}
        self._add(spec.ReservedOp.build(properties=properties), place)

    def _once_per_key(self, section: str, phrase: Phrase, place: Place) -> None:
        """A bound and a typical value live together, and so do different assertions."""
        name, operator = phrase.words[0].text, phrase.operator or ""
        apart = section in ("expect", "workload")
        value = " ".join(word.text for word in phrase.words[1:])
        self._once((section, name, operator) if apart else (section, name), value, place)

    def _once(self, key: tuple[str, ...], value: str, place: Place) -> None:
        if key not in self._given:
            self._given[key] = (value, place)
            return
        before, first = self._given[key]
        name = next(word for word in reversed(key) if word.isidentifier())
        if before == value:
            self._report(f"'{name}' is given twice", place, Note("first given here", first))
            return
        self._report(
            f"'{name}' is given twice: {value} here contradicts {before}",
            place,
            Note(f"{name} {before} is given here", first),
        )

    def _report(self, message: str, place: Place, *notes: Note, help: str | None = None) -> None:
        self.problems.append(Diagnostic(message, place, notes, help))


def _engine_name(statement: Statement) -> str:
    words = statement.words
    if len(words) < 2:
        raise error("expected a name after 'engine'", words[0].place)
    name = words[1]
    if name.kind != "name" or not name.text.isidentifier() or keyword.iskeyword(name.text):
        raise error(
            f"'{name.text}' cannot name an engine",
            name.place,
            help="a name has letters, digits and '_', begins with a letter and is no Python word",
        )
    if len(words) > 2:
        raise error(f"expected '{{' after '{name.text}', found '{words[2].text}'", words[2].place)
    if statement.block is None:
        raise error(f"expected '{{' after '{name.text}'", name.place)
    return name.text


def _unknown(word: Word, what: str, known: list[str], elsewhere: list[str]) -> DiagnosticError:
    if word.kind != "name":
        return error(f"expected a word, found '{word.text}'", word.place)
    hint = did_you_mean(word.text, known)
    if elsewhere:
        hint = f"'{word.text}' belongs in '{elsewhere[0]} {{ ... }}'"
    return error(
        f"unknown {what}: '{word.text}'",
        word.place,
        help=hint or f"one of {', '.join(known)}",
    )


def _reserved_family(keys: Mapping[str, Key], word: Word) -> Key | None:
    """`itl.p95` belongs to the reserved word `itl`."""
    key = keys.get(word.text.split(".", 1)[0])
    return key if key is RESERVED else None


# === One op per key, by section ===


def _op(section: str, name: str, phrase: Phrase) -> Operation:
    match section:
        case "expect":
            return spec.ExpectOp.build(properties=_comparison(name, phrase))
        case "workload":
            return spec.DemandOp.build(properties=_comparison(name, phrase))
        case "require":
            return spec.RequireOp.build(properties=_comparison(name, phrase))
        case "sampling":
            feature = StringAttr(f"{section}.{name}")
            return spec.FeatureOp.build(properties={"feature": feature})
        case _:
            return _pin(name, phrase)


def _pin(what: str, phrase: Phrase) -> spec.PinOp:
    words = {"what": what, "op": phrase.operator or "==", "value": str(phrase.value)}
    return spec.PinOp.build(properties={name: StringAttr(word) for name, word in words.items()})


def _comparison(name: str, phrase: Phrase) -> dict[str, Attribute]:
    value = phrase.value
    found: dict[str, Attribute] = {
        "what": StringAttr(name),
        "op": StringAttr(phrase.operator or "=="),
        "value": IntegerAttr(value, 64) if isinstance(value, int) else StringAttr(str(value)),
    }
    if phrase.unit:
        found["unit"] = StringAttr(phrase.unit)
    return found
