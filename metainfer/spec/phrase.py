"""Reads what follows a key, `operator value unit` and clauses, by its row in the language table."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from metainfer.spec.cursor import Cursor, Slip, slip
from metainfer.spec.language import LOADS
from metainfer.spec.numbers import read_amount, read_amounts, read_count
from metainfer.spec.vocabulary import REFERENCE, Key
from metainfer.spec.words import Word

_SLIPS = {"=": "==", "=<": "<=", "≤": "<=", "=>": ">=", "≥": ">=", "=!": "!=", "<>": "!="}

Value = str | int | float | tuple[str, ...] | None


class Exempt(NamedTuple):
    """`except SITE VALUE`."""

    site: Word
    value: Word


class Amount(NamedTuple):
    """A number and its unit, if it has one."""

    value: int | float
    unit: str | None


class Phrase(NamedTuple):
    """`operator value unit` and clauses, checked; a flag has none of them."""

    operator: str | None
    value: Value
    unit: str | None
    amounts: tuple[Amount, ...]
    """The values of a key of this kind."""
    load: tuple[tuple[str, int], ...]
    """`@ prompt 512`."""
    versus: str | None
    exceptions: tuple[Exempt, ...]
    head: tuple[Word, ...]
    """What was read before the clauses, from the key on."""


@lru_cache(maxsize=1 << 14)
def read_phrase(key: Key, words: tuple[Word, ...]) -> Phrase | Slip:
    """`words` begins with the key itself. A wrong word is the result, not an exception: an editor
    asks again and again, and the answer is kept."""
    cursor = Cursor(words)
    try:
        return _phrase(key, cursor)
    except Slip as problem:
        return problem


def _phrase(key: Key, cursor: Cursor) -> Phrase:
    _check_aspect(key, cursor.key)
    operator = _operator(key, cursor) if key.kind != "flag" else None
    value, unit, amounts = _value(key, cursor)
    head = cursor.words[: cursor.at]
    load = _load(key, cursor)
    versus = _versus(key, cursor)
    exceptions = _exceptions(key, cursor)
    cursor.end()
    return Phrase(operator, value, unit, amounts, load, versus, exceptions, head)


def _check_aspect(key: Key, word: Word) -> None:
    name, _, aspect = word.text.partition(".")
    listed = " or ".join(f"{name}.{aspect}" for aspect in key.aspects)
    if key.aspects and not aspect:
        raise slip(f"'{name}' alone says too little", word, help=f"write {listed}")
    if aspect and aspect not in key.aspects:
        help = f"write {listed}" if key.aspects else f"write {name}"
        raise slip(f"'{name}' has no form '{aspect}'", word, help=help)


def _operator(key: Key, cursor: Cursor) -> str:
    name, allowed = cursor.key.text, " or ".join(f"'{op}'" for op in key.operators)
    word = cursor.peek()
    if word is not None and word.kind == "operator":
        if word.text in key.operators:
            return cursor.take().text
        meant = _SLIPS.get(word.text)
        raise slip(
            f"'{name}' takes {allowed}, not '{word.text}'",
            word,
            help=f"did you mean '{meant}'?" if meant in key.operators else None,
        )
    if "==" in key.operators:
        return "=="
    raise cursor.expected(allowed)


def _value(key: Key, cursor: Cursor) -> tuple[Value, str | None, tuple[Amount, ...]]:
    match key.kind:
        case "flag":
            return None, None, ()
        case "count":
            return read_count(cursor), None, ()
        case "number":
            return *read_amount(key, cursor), ()
        case "word":
            return _word(key, cursor), None, ()
        case "words":
            return _words(key, cursor), None, ()
        case "text":
            return _text(cursor).text[1:-1], None, ()
        case "texts":
            return _texts(cursor), None, ()
        case "amounts":
            return None, None, tuple(Amount(*a) for a in read_amounts(key, cursor))


def _word(key: Key, cursor: Cursor) -> str:
    word = cursor.peek()
    if key.text and word is not None and word.kind == "text":
        return _text(cursor).text
    return cursor.choice(cursor.key.text, key.words).text


def _words(key: Key, cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    while True:
        word = cursor.choice(cursor.key.text, key.words)
        if word.text in found:
            raise slip(f"'{word.text}' is listed twice", word)
        found.append(word.text)
        if cursor.take_if(",") is None:
            return tuple(found)


def _text(cursor: Cursor) -> Word:
    word = cursor.expect("text", "a quoted text")
    if not word.text[1:-1].strip():
        raise slip("this text is empty", word)
    return word


def _texts(cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    while True:
        word = _text(cursor)
        if word.text[1:-1] in found:
            raise slip(f"{word.text} is listed twice", word)
        found.append(word.text[1:-1])
        if cursor.take_if(",") is None:
            return tuple(found)


# === Clauses ===


def _load(key: Key, cursor: Cursor) -> tuple[tuple[str, int], ...]:
    if key.load == "none":
        return ()
    if cursor.take_if("@") is None:
        if key.load == "may":
            return ()
        raise Slip(
            f"'{cursor.key.text}' needs the load that it holds at",
            cursor.key,
            cursor.before,
            f"write it after '@': {key.example}",
        )
    found: dict[str, int] = {}
    while True:
        name = cursor.choice("@", tuple(LOADS))
        if name.text in found:
            raise slip(f"'{name.text}' is given twice", name)
        found[name.text] = _load_value(LOADS[name.text], cursor)
        if cursor.take_if(",") is None:
            return tuple(sorted(found.items(), key=lambda item: list(LOADS).index(item[0])))


def _load_value(key: Key, cursor: Cursor) -> int:
    """A number after `@`, whose unit may be left out: what is counted is clear."""
    count = read_count(cursor)
    if key.quantity:
        cursor.take_if(key.quantity)
    return count


def _versus(key: Key, cursor: Cursor) -> str | None:
    if not key.versus:
        return None
    if cursor.take_if("vs") is None:
        raise Slip(
            f"'{cursor.key.text}' needs what it is compared with",
            cursor.key,
            cursor.before,
            f"write 'vs {REFERENCE}' after it",
        )
    return cursor.choice("vs", (REFERENCE,)).text


def _exceptions(key: Key, cursor: Cursor) -> tuple[Exempt, ...]:
    if not key.exceptions or cursor.take_if("except") is None:
        return ()
    found: dict[str, Exempt] = {}
    while True:
        site = cursor.expect("name", "the name of a weight")
        if site.text in found:
            raise slip(f"'{site.text}' is given twice", site)
        found[site.text] = Exempt(site, cursor.choice(site.text, key.exceptions))
        if cursor.take_if(",") is None:
            return tuple(found.values())
