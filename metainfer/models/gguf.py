"""A bounded reader for GGUF files, versions 2 and 3, little-endian.

Layout (llama.cpp `gguf.h`)::

    "GGUF"  version:u32  tensors:u64  pairs:u64
    pairs   x { key:string  type:u32  value }                    string = length:u64, UTF-8
    tensors x { name:string  dims:u32  dim:u64 x dims  format:u32  offset:u64 }
    padding to `general.alignment` (32), then tensor data; offsets count from there

The file is input from outside: every count, length, offset, alignment, type and name is compared
with the bytes that are really there before it is used, so neither time nor memory can exceed a
small multiple of the file size. What is wrong ends in one `DiagnosticError` that names the file,
the byte offset and the rule.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from pathlib import Path
from sys import byteorder
from typing import Any, NoReturn

from metainfer.ir.diagnostics import error
from metainfer.models.mapped import Budget, map_file
from metainfer.models.tensors import Scalar, Tensor, TensorFormat, Value

__all__ = ["GgufFile", "GgufTensor", "Scalar", "TensorFormat", "Value", "read_gguf"]

GgufTensor = Tensor

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_BOOL, _STRING, _ARRAY = 7, 8, 9
_NUMBERS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_DEFAULT_ALIGNMENT = 32
_MAX_DIMS = 4
_MAX_KEY = 65535
_MAX_NAME = 64
_MIN_PAIR = 8 + 1 + 4 + 1
"""Bytes of the smallest pair: key length, one-byte key, type, one-byte value."""
_MIN_TENSOR = 8 + 1 + 4 + 8 + 4 + 8
"""Bytes of the smallest tensor entry: name length, name, dims, one dim, format, offset."""


# What objects take in memory, rounded up, for the budget.
_STRING_COST = 64
_NUMBER_COST = 40
_PAIR_COST = 200
_TENSOR_COST = 700


@dataclass(frozen=True)
class GgufFile:
    """A checked GGUF file; the tensor data stays mapped for as long as this object lives."""

    path: Path
    version: int
    metadata: dict[str, Value]
    tensors: dict[str, GgufTensor]
    _map: mmap.mmap = field(repr=False, compare=False)

    def data(self, tensor: GgufTensor) -> memoryview:
        """The stored bytes of a tensor of this file, read-only and without a copy."""
        return memoryview(self._map)[tensor.offset : tensor.offset + tensor.nbytes]


def read_gguf(path: Path, formats: Mapping[int, TensorFormat]) -> GgufFile:
    """Read the header of a GGUF file and check it against the file's size.

    `formats` maps the type ids that tensors may have. Raises `DiagnosticError` for a file that
    cannot be read, breaks the layout, or has a tensor of another type.
    """
    mapped = map_file(path, 24, "GGUF")
    cursor = _Cursor(path, mapped)
    version, tensor_count, pair_count = _read_header(cursor)
    metadata = _read_pairs(cursor, pair_count)
    alignment = _alignment(cursor, metadata)
    cursor.spend(_TENSOR_COST * tensor_count, "the list of tensors")
    entries = [_read_entry(cursor, formats) for _ in range(tensor_count)]
    tensors = _place_tensors(cursor, entries, alignment)
    return GgufFile(path, version, metadata, tensors, mapped)


class _Cursor:
    """A position in the file from which nothing is read that is not there."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data
        self.size = len(data)
        self.pos = 0
        self._budget = Budget(self.size)

    def fail(self, what: str, at: int | None = None, help: str | None = None) -> NoReturn:
        where = self.pos if at is None else at
        raise error(f"{self.path}: {what} (at byte {where:,} of {self.size:,})", help=help)

    def need(self, count: int, what: str) -> None:
        """Refuse to go on when fewer than `count` bytes are left."""
        left = self.size - self.pos
        if count > left:
            self.fail(
                f"{what} takes {count:,} bytes, and {left:,} are left",
                help="the file is damaged or cut short; fetch it again",
            )

    def spend(self, nbytes: int, what: str) -> None:
        """Refuse to build objects of `nbytes` that would exceed the file's budget."""
        if not self._budget.spend(nbytes):
            self._too_much(what)

    def _too_much(self, what: str) -> NoReturn:
        self.fail(f"{what} would take more memory than the {self._budget.limit:,} bytes allowed")

    def number(self, code: str, what: str) -> Any:
        layout = struct.Struct("<" + code)
        self.need(layout.size, what)
        (value,) = layout.unpack_from(self.data, self.pos)
        self.pos += layout.size
        return value

    def string(self, what: str, limit: int | None = None) -> str:
        start = self.pos
        length: int = self.number("Q", f"the length of {what}")
        if limit is not None and not 0 < length <= limit:
            self.fail(f"{what} has {length:,} bytes, allowed are 1 to {limit:,}", start)
        self.need(length, what)
        self.spend(4 * length + _STRING_COST, what)
        raw = self.data[self.pos : self.pos + length]
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            self.fail(f"{what} is not UTF-8")
        self.pos += length
        return text

    def name(self, what: str, limit: int) -> str:
        """A key or tensor name: not empty, at most `limit` bytes, printable."""
        start = self.pos
        text = self.string(what, limit)
        if not text.isprintable():
            self.fail(f"{what} {text!r} has unprintable characters", start)
        return text

    def flags(self, count: int, what: str) -> list[bool]:
        self.need(count, what)
        self.spend(10 * count, what)
        raw = self.data[self.pos : self.pos + count]
        if raw.strip(b"\0\1"):
            self.fail(f"{what} has a truth value other than 0 and 1")
        self.pos += count
        return [byte == 1 for byte in raw]

    def numbers(self, code: str, count: int, what: str) -> list[Any]:
        """`count` numbers in a row."""
        found = array(code)
        nbytes = count * found.itemsize
        self.need(nbytes, what)
        self.spend(nbytes + _NUMBER_COST * count, what)
        found.frombytes(self.data[self.pos : self.pos + nbytes])
        if byteorder == "big":
            found.byteswap()
        self.pos += nbytes
        return found.tolist()

    def strings(self, count: int, what: str) -> list[str]:
        """`count` strings in a row; a tight loop, since a vocabulary has 10^5 of them."""
        self.need(8 * count, what)
        self.spend((_STRING_COST + 8) * count, what)
        data, start, pos = self.data, self.pos, self.pos
        # A character takes up to four bytes in memory.
        stop = min(self.size, pos + 8 * count + self._budget.left // 4)
        length_at = struct.Struct("<Q").unpack_from
        out: list[str] = []
        try:
            for _ in range(count):
                (length,) = length_at(data, pos)
                end = pos + 8 + length
                if end > stop:
                    self._bad_string(pos, len(out), what)
                out.append(data[pos + 8 : end].decode("utf-8"))
                pos = end
        except (struct.error, UnicodeDecodeError):
            self._bad_string(pos, len(out), what)
        self.spend(4 * (pos - start - 8 * count), what)
        self.pos = pos
        return out

    def _bad_string(self, pos: int, index: int, what: str) -> NoReturn:
        self.pos = pos
        self.string(f"string {index:,} of {what}")
        self._too_much(what)  # it is well formed, so all of them together are too many


def _read_header(cursor: _Cursor) -> tuple[int, int, int]:
    magic = cursor.data[:4]
    if magic != _MAGIC:
        cursor.fail(f"not a GGUF file: it starts with {magic!r}, not {_MAGIC!r}")
    cursor.pos = 4
    version = cursor.number("I", "the version")
    if version not in _VERSIONS:
        big_endian = int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS
        what = "big-endian GGUF" if big_endian else f"GGUF version {version}"
        cursor.fail(f"{what} is not supported, little-endian versions 2 and 3 are", 4)
    tensors = _count(cursor, "tensors", _MIN_TENSOR)
    pairs = _count(cursor, "metadata pairs", _MIN_PAIR)
    return version, tensors, pairs


def _count(cursor: _Cursor, what: str, smallest: int) -> int:
    start = cursor.pos
    count: int = cursor.number("Q", f"the number of {what}")
    if count * smallest > cursor.size - cursor.pos:
        cursor.fail(f"{count:,} {what} do not fit into the file", start)
    return count


def _read_pairs(cursor: _Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    cursor.spend(_PAIR_COST * count, "the metadata")
    for _ in range(count):
        start = cursor.pos
        key = cursor.name("a metadata key", _MAX_KEY)
        if key in metadata:
            cursor.fail(f"metadata key {key!r} occurs twice", start)
        metadata[key] = _read_value(cursor, f"the value of {key!r}")
    return metadata


def _read_value(cursor: _Cursor, what: str) -> Value:
    kind = cursor.number("I", f"the type of {what}")
    if kind == _STRING:
        return cursor.string(what)
    if kind == _BOOL:
        return cursor.flags(1, what)[0]
    if kind == _ARRAY:
        return _read_array(cursor, what)
    if kind not in _NUMBERS:
        cursor.fail(f"{what} has the unknown type {kind}", cursor.pos - 4)
    value: int | float = cursor.number(_NUMBERS[kind], what)
    return value


def _read_array(cursor: _Cursor, what: str) -> Value:
    kind = cursor.number("I", f"the element type of {what}")
    if kind == _ARRAY:
        cursor.fail(f"{what} is an array of arrays, which is not supported", cursor.pos - 4)
    if kind not in _NUMBERS and kind not in (_BOOL, _STRING):
        cursor.fail(f"{what} has the unknown element type {kind}", cursor.pos - 4)
    count: int = cursor.number("Q", f"the length of {what}")
    if kind == _STRING:
        return cursor.strings(count, what)
    if kind == _BOOL:
        return cursor.flags(count, what)
    return cursor.numbers(_NUMBERS[kind], count, what)


def _alignment(cursor: _Cursor, metadata: Mapping[str, Value]) -> int:
    value = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_count() != 1 or value < 1:
        cursor.fail("'general.alignment' is not a power of two")
    return value


@dataclass(frozen=True)
class _Entry:
    """A tensor entry as read; `offset` counts from the start of the data part."""

    at: int
    name: str
    shape: tuple[int, ...]
    format: TensorFormat
    offset: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) // self.format.block * self.format.bytes


def _read_entry(cursor: _Cursor, formats: Mapping[int, TensorFormat]) -> _Entry:
    start = cursor.pos
    name = cursor.name("a tensor name", _MAX_NAME)
    what = f"tensor {name!r}"
    dims = cursor.number("I", f"the rank of {what}")
    if not 1 <= dims <= _MAX_DIMS:
        cursor.fail(f"{what} has {dims} dimensions, allowed are 1 to {_MAX_DIMS}", start)
    sizes = [cursor.number("Q", f"a dimension of {what}") for _ in range(dims)]
    if 0 in sizes:
        cursor.fail(f"{what} has a dimension of size 0", start)
    type_id = cursor.number("I", f"the type of {what}")
    if type_id not in formats:
        known = ", ".join(f"{f.name} ({f.type_id})" for f in formats.values())
        cursor.fail(
            f"{what} has the unsupported type {type_id}", start, help=f"supported types: {known}"
        )
    form = formats[type_id]
    if sizes[0] % form.block:
        cursor.fail(
            f"{what} has rows of {sizes[0]:,} values, not a multiple of "
            f"the {form.block} in a block of {form.name}",
            start,
        )
    offset = cursor.number("Q", f"the offset of {what}")
    return _Entry(start, name, tuple(reversed(sizes)), form, offset)


def _place_tensors(cursor: _Cursor, entries: list[_Entry], alignment: int) -> dict[str, GgufTensor]:
    base = -(-cursor.pos // alignment) * alignment
    tensors: dict[str, GgufTensor] = {}
    for entry in entries:
        what = f"tensor {entry.name!r}"
        if entry.name in tensors:
            cursor.fail(f"{what} occurs twice", entry.at)
        if entry.offset % alignment:
            cursor.fail(f"{what} has offset {entry.offset:,}, not aligned to {alignment}", entry.at)
        start, nbytes = base + entry.offset, entry.nbytes
        if start + nbytes > cursor.size:
            cursor.fail(
                f"{what} ends at byte {start + nbytes:,}, past the end of the file",
                entry.at,
                help="the file is damaged or cut short; fetch it again",
            )
        tensors[entry.name] = GgufTensor(entry.name, entry.shape, entry.format, start, nbytes)
    _check_overlap(cursor, tensors)
    return tensors


def _check_overlap(cursor: _Cursor, tensors: Mapping[str, GgufTensor]) -> None:
    ordered = sorted(tensors.values(), key=lambda tensor: tensor.offset)
    for before, after in pairwise(ordered):
        if before.offset + before.nbytes > after.offset:
            cursor.fail(f"tensors {before.name!r} and {after.name!r} overlap", after.offset)
