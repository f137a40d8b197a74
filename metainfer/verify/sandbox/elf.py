"""A reader of relocatable ELF files that trusts no number in them.

Only what the object policy asks for: sections, symbols and relocations of 64-bit little-endian
objects. Layout: System V ABI, chapter 4 (Object Files).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MOST_SECTIONS = 4096
MOST_SYMBOLS = 1 << 16
MOST_NAME = 4096
RELOCATABLE = 1
SYMTAB, RELA = 2, 4
"""Types of sections."""
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
"""Sections of a symbol that are none."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class ElfError(Exception):
    """Why a file is no object that we read."""


@dataclass(frozen=True)
class Section:
    """A section header and where its bytes are."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    """`section` is an index, or one of `UNDEFINED`, `ABSOLUTE` and `COMMON`."""

    name: str
    binding: int
    type: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """Place `offset` in section `section` refers to symbol number `symbol`."""

    section: int
    offset: int
    symbol: int


@dataclass(frozen=True)
class Object:
    """The parts of an object file."""

    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


def read_object(raw: bytes) -> Object:
    """Parse an object file; `ElfError` where it is none, or is damaged."""
    sections = _sections(raw)
    tables = [s for s in sections if s.type == SYMTAB]
    if len(tables) > 1:
        raise ElfError("two symbol tables")
    symbols = tuple(_symbols(raw, sections, tables[0])) if tables else ()
    found = tuple(r for s in sections if s.type == RELA for r in _relocations(raw, s))
    if any(r.symbol >= len(symbols) or r.section >= len(sections) for r in found):
        raise ElfError("a relocation refers to nothing")
    return Object(sections, symbols, found)


def _sections(raw: bytes) -> tuple[Section, ...]:
    if len(raw) < _HEADER.size:
        raise ElfError("too short")
    ident, type_, *_, offset, _, _, _, _, size, count, names = _HEADER.unpack_from(raw)
    if ident[:6] != b"\x7fELF\x02\x01" or type_ != RELOCATABLE:
        raise ElfError("not a 64-bit little-endian object file")
    if size != _SECTION.size or not 0 < count <= MOST_SECTIONS or names >= count:
        raise ElfError("impossible section headers")
    headers = list(_records(raw, _SECTION, offset, count * size))
    text = _part(raw, headers[names][4], headers[names][5])
    return tuple(Section(_name(text, h[0]), h[1], h[2], h[4], h[5], h[6], h[7]) for h in headers)


def _symbols(raw: bytes, sections: tuple[Section, ...], table: Section) -> Iterator[Symbol]:
    if table.size > MOST_SYMBOLS * _SYMBOL.size or table.link >= len(sections):
        raise ElfError("impossible symbol table")
    strings = sections[table.link]
    text = _part(raw, strings.offset, strings.size)
    for name, info, _, section, value, size in _records(raw, _SYMBOL, table.offset, table.size):
        yield Symbol(_name(text, name), info >> 4, info & 15, section, value, size)


def _relocations(raw: bytes, table: Section) -> Iterator[Relocation]:
    for offset, info, _ in _records(raw, _RELOCATION, table.offset, table.size):
        yield Relocation(table.info, offset, info >> 32)


def _records(
    raw: bytes, layout: struct.Struct, offset: int, size: int
) -> Iterator[tuple[int, ...]]:
    if size % layout.size:
        raise ElfError("a table does not end with its last entry")
    return layout.iter_unpack(_part(raw, offset, size))


def _part(raw: bytes, offset: int, size: int) -> bytes:
    if offset > len(raw) or size > len(raw) - offset:
        raise ElfError("a table lies outside the file")
    return raw[offset : offset + size]


def _name(text: bytes, at: int) -> str:
    end = text.find(b"\0", at, at + MOST_NAME)
    if at >= len(text) or end < 0:
        raise ElfError("a name lies outside its table")
    return text[at:end].decode("ascii", errors="backslashreplace")
