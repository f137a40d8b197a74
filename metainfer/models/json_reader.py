"""JSON from outside: read in one pass, strictly, with a bound on depth, values and memory.

Python's own parser builds everything before it can be checked, and a few bytes of brackets become
many bytes of lists. This one also refuses what that one accepts: a key that occurs twice, `NaN`.
"""

from __future__ import annotations

import json
import mmap
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from metainfer.ir.diagnostics import DiagnosticError, Place, error

_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?P<real>(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)")
_WORD = re.compile(rb"[a-zA-Z]++")
_WORDS = {b"true": True, b"false": False, b"null": None}
_MAX_NUMBER = 64
_MAX_STRING = 1 << 20
_MAX_DEPTH = 32
_MAX_DOCUMENT = 4 << 20
_MAX_VALUES = 80_000
"""Most values of a document; Gemma's tokenizer_config.json has 45,000."""

Fail = Callable[[str, int], DiagnosticError]
"""Makes the error for a message and a byte offset."""


class JsonReader:
    """A position in JSON text that lies in `data[start:end]`."""

    def __init__(self, data: bytes | mmap.mmap, start: int, end: int, failure: Fail) -> None:
        self._data = data
        self.pos = start
        self._end = end
        self._failure = failure

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Raise the error for what is wrong at an offset, or here."""
        raise self._failure(what, self.pos if at is None else at)

    def members(self) -> Iterator[tuple[str, int]]:
        """Key and offset of each member of the object here; the caller reads each value."""
        self._take(b"{", "an object")
        seen: set[str] = set()
        if self._has(b"}"):
            return
        while True:
            at = self._next()
            key = self.string("a key")
            if key in seen:
                self.fail(f"the key {key!r} occurs twice", at)
            seen.add(key)
            self._take(b":", "a colon")
            yield key, at
            if self._has(b"}"):
                return
            self._take(b",", "a comma or a closing brace")

    def string(self, what: str) -> str:
        """The string here."""
        at = self._next()
        found = _STRING.match(self._data, at, self._end)
        if found is None:
            self.fail(f"{what} must be a string here, in quotes and closed")
        if found.end() - at > _MAX_STRING:
            self.fail(f"{what} has {found.end() - at:,} bytes, allowed are {_MAX_STRING:,}")
        raw = found[0]
        self.pos = found.end()
        try:
            text = json.loads(raw) if b"\\" in raw else raw[1:-1].decode("utf-8")
        except ValueError:
            self.fail(f"{what} is not valid text", at)
        assert isinstance(text, str)
        return text

    def value(self, most: int, depth: int = 0) -> Any:
        """The value here, of at most `most` values inside each other and side by side."""
        return _Values(self, most).read(depth)

    def finish(self) -> None:
        """Refuse anything but white space before the end."""
        if self._next() != self._end:
            self.fail("there is more after the end of the value")

    def peek(self) -> bytes:
        """The first byte of what comes next; empty at the end."""
        at = self._next()
        return self._data[at : at + 1] if at < self._end else b""

    def scalar(self) -> Any:
        """A string, number, truth value or null."""
        first = self.peek()
        if first == b'"':
            return self.string("a value")
        if word := _WORD.match(self._data, self.pos, self._end):
            if word[0] not in _WORDS:
                self.fail(f"{word[0][:20]!r} is no JSON value")
            self.pos = word.end()
            return _WORDS[word[0]]
        return self._number()

    def _number(self) -> int | float:
        found = _NUMBER.match(self._data, self.pos, self._end)
        if found is None:
            self.fail("a value is missing here")
        if len(found[0]) > _MAX_NUMBER:
            self.fail(f"a number has {len(found[0]):,} characters, allowed are {_MAX_NUMBER}")
        self.pos = found.end()
        return float(found[0]) if found["real"] else int(found[0])

    def _next(self) -> int:
        # Most of the time there is no white space.
        if self.pos < self._end and self._data[self.pos] > 0x20:
            return self.pos
        space = _SPACE.match(self._data, self.pos, self._end)
        assert space is not None
        self.pos = space.end()
        return self.pos

    def _has(self, sign: bytes) -> bool:
        if self.peek() != sign:
            return False
        self.pos += 1
        return True

    def _take(self, sign: bytes, what: str) -> None:
        if not self._has(sign):
            self.fail(f"{what} must be here")


class _Values:
    """Reads nested values and counts them."""

    def __init__(self, reader: JsonReader, most: int) -> None:
        self._reader = reader
        self._left = most

    def read(self, depth: int) -> Any:
        reader = self._reader
        self._left -= 1
        first = reader.peek()
        if self._left < 0:
            reader.fail("there are too many values")
        if first in (b"{", b"[") and depth >= _MAX_DEPTH:
            reader.fail(f"values are nested more than {_MAX_DEPTH} deep")
        if first == b"{":
            return {key: self.read(depth + 1) for key, _ in reader.members()}
        return self._list(depth) if first == b"[" else reader.scalar()

    def _list(self, depth: int) -> list[Any]:
        reader = self._reader
        reader.pos += 1
        out: list[Any] = []
        while reader.peek() != b"]":
            if out:
                if reader.peek() != b",":
                    reader.fail("a comma or a closing bracket must be here")
                reader.pos += 1
            out.append(self.read(depth + 1))
        reader.pos += 1
        return out


@dataclass(frozen=True)
class Document:
    """A JSON file whose top is an object; it can tell where a value stands."""

    path: Path
    values: dict[str, Any]
    _text: bytes

    def place(self, keys: Sequence[str]) -> Place:
        """Where the member stands that these keys lead to, or the deepest one that is there."""
        reader = _reader(self.path, self._text)
        at = 0
        for key in keys:
            if reader.peek() != b"{":
                break
            for found, where in reader.members():
                if found == key:
                    at = where
                    break
                reader.value(_MAX_VALUES)
            else:
                break
        return _place(self.path, self._text, at)


def read_document(path: Path, most_bytes: int = _MAX_DOCUMENT) -> Document:
    """Read a JSON file; DiagnosticError with line and column for what is wrong in it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{path}: not a regular file")
        if status.st_size > most_bytes:
            raise error(f"{path}: has {status.st_size:,} bytes, allowed are {most_bytes:,}")
        with path.open("rb") as file:
            text = file.read(most_bytes + 1)
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from None
    reader = _reader(path, text)
    if reader.peek() != b"{":
        reader.fail("an object must be here")
    values: dict[str, Any] = reader.value(_MAX_VALUES)
    reader.finish()
    return Document(path, values, text)


def _reader(path: Path, text: bytes) -> JsonReader:
    def failure(what: str, at: int) -> DiagnosticError:
        return error(what, _place(path, text, at))

    return JsonReader(text, 0, len(text), failure)


def _place(path: Path, text: bytes, at: int) -> Place:
    before = text[:at]
    start = before.rfind(b"\n") + 1
    column = len(before[start:].decode("utf-8", errors="replace")) + 1
    return Place(str(path), before.count(b"\n") + 1, column)
