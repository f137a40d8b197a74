"""The object policy: what the compiler made of kernel bodies is code, constants and no more.

It does not trust that the text policy was right: a body that hid a call or kept memory of its own
shows it here, in what the object asks of the linker and of the loader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metainfer.verify.sandbox.allowed import allowed_symbols
from metainfer.verify.sandbox.elf import (
    ABSOLUTE,
    COMMON,
    UNDEFINED,
    ElfError,
    Object,
    Section,
    Symbol,
    read_object,
)

_WRITE, _EXEC, _TLS = 0x1, 0x4, 0x400
_RUN_AT_LOAD = {14: "a constructor", 15: "a destructor", 16: "a constructor"}
"""Types of sections that the loader calls."""
_RUN_BY_NAME = (".init", ".fini", ".ctors", ".dtors", ".preinit")
_LOCAL, _GLOBAL = 0, 1
_FUNCTION, _FILE, _INDIRECT = 2, 4, 10


@dataclass(frozen=True)
class ObjectBreach:
    """What an object may not have, and the kernels that use it; none where that is unknown."""

    what: str
    kernels: tuple[str, ...] = ()


def refused_objects(raw: bytes, kernels: Sequence[str]) -> dict[str, str]:
    """Kernels that break the policy in the object of all of them, with the first breach of each.

    A breach that no kernel can be told to use is held against all.
    """
    refused: dict[str, str] = {}
    for breach in object_breaches(raw, kernels):
        for name in breach.kernels or kernels:
            refused.setdefault(name, f"the object of the body may not {breach.what}")
    return refused


def object_breaches(raw: bytes, kernels: Sequence[str]) -> list[ObjectBreach]:
    """Every breach of an object file that defines `kernels` and nothing else."""
    try:
        object_ = read_object(raw)
    except ElfError as problem:
        return [ObjectBreach(f"be other than what a compiler writes: {problem}")]
    policy = _Policy(object_, frozenset(kernels))
    return [*policy.sections(), *policy.symbols(), *policy.missing()]


class _Policy:
    def __init__(self, object_: Object, kernels: frozenset[str]) -> None:
        self.object, self.kernels = object_, kernels

    def sections(self) -> Iterator[ObjectBreach]:
        stacks = [s for s in self.object.sections if s.name == ".note.GNU-stack"]
        if not stacks or any(s.flags & _EXEC for s in stacks):
            yield ObjectBreach("ask for an executable stack")
        for number, section in enumerate(self.object.sections):
            if what := _bad_section(section):
                users = self._users([s.section == number for s in self.object.symbols])
                yield ObjectBreach(f"have {what} ('{section.name}')", users)

    def symbols(self) -> Iterator[ObjectBreach]:
        for symbol in self.object.symbols[1:]:
            if what := self._bad_symbol(symbol):
                users = self._users([s is symbol for s in self.object.symbols])
                yield ObjectBreach(what, users)

    def missing(self) -> Iterator[ObjectBreach]:
        defined = {
            s.name
            for s in self.object.symbols
            if (s.type, s.binding) == (_FUNCTION, _GLOBAL) and s.section != UNDEFINED
        }
        for name in sorted(self.kernels - defined):
            yield ObjectBreach(f"lack the function '{name}'", (name,))

    def _bad_symbol(self, symbol: Symbol) -> str | None:
        if symbol.section == UNDEFINED:
            known = symbol.name in allowed_symbols() or symbol.name in self.kernels
            return None if known else f"need the symbol '{symbol.name}'"
        if symbol.section == COMMON:
            return f"have writable data ('{symbol.name}')"
        if symbol.type == _INDIRECT:
            return f"choose a function when it is loaded ('{symbol.name}')"
        if symbol.section == ABSOLUTE and symbol.type != _FILE:
            return f"name an address ('{symbol.name}')"
        if symbol.binding != _LOCAL and symbol.name not in self.kernels:
            return f"define the symbol '{symbol.name}'"
        return None

    def _users(self, wanted: Sequence[bool]) -> tuple[str, ...]:
        """Kernels whose code refers to a symbol, by its number, that is wanted."""
        names = {
            self._owner(r.section, r.offset) for r in self.object.relocations if wanted[r.symbol]
        }
        return tuple(sorted(n for n in names if n in self.kernels))

    def _owner(self, section: int, offset: int) -> str:
        """The kernel whose code holds a place; a clone that a compiler makes is called NAME.why."""
        for symbol in self.object.symbols:
            inside = symbol.value <= offset < symbol.value + symbol.size
            if symbol.type == _FUNCTION and symbol.section == section and inside:
                return symbol.name.split(".")[0]
        return ""


def _bad_section(section: Section) -> str | None:
    if what := _RUN_AT_LOAD.get(section.type):
        return what
    if section.name.startswith(_RUN_BY_NAME):
        return "code that runs when it is loaded"
    if not section.size:
        return None
    if section.flags & _TLS:
        return "memory of a thread's own"
    if section.flags & _WRITE:
        return "writable data"
    if section.flags & _EXEC and not section.name.startswith(".text"):
        return "code outside its functions"
    return None
