"""The race check: between barriers no part's writes meet another part's reads or writes.

It knows nothing of how `schedule` placed the barriers. Every entry is laid out as the line of calls
that a step runs, layer after layer; the calls between two barriers run in any order of parts, so
each pair of them, and each call with itself, is compared for every number of threads up to the
program's. Buffers that share bytes of the arena are one memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import symbols
from metainfer.ir.text import place_of
from metainfer.passes.sizes import buffer_bytes
from metainfer.verify.engine.footprint import Share, footprint
from metainfer.verify.engine.steps import Step, buffers_of, entries_of, programs_of, steps_of

Interval = tuple[int, int]
_Op = engine.CallOp | engine.BarrierOp
_Pair = tuple[engine.EntryOp, _Op, _Op, bool]
"""Two calls of an entry, and whether they are of one layer."""


@dataclass(frozen=True)
class Access:
    """One access of a call: to a buffer, or to a layer's slab of a state."""

    place: str
    layer: int | None
    """Which slab; None for a buffer."""
    write: bool
    share: Share
    extent: Interval | None
    """The buffer's bytes in the arena, once they are planned."""


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders."""

    entry: str
    first: engine.CallOp
    second: engine.CallOp
    a: Access
    b: Access
    parts: int
    p: int
    q: int

    def __str__(self) -> str:
        first, second = (c.callee.root_reference.data for c in (self.first, self.second))
        place = f"@{self.b.place}"
        if self.a.place != self.b.place:
            place += f", which shares bytes with @{self.a.place}"
        return (
            f"part {self.p} of @{first} {_verb(self.a)} and part {self.q} of @{second} "
            f"{_verb(self.b)} {place} ({self.parts} parts)"
        )

    def diagnostic(self) -> Diagnostic:
        """The finding for a reader, at the later call."""
        note = Note("the other call is here", place_of(self.first))
        return Diagnostic(f"no barrier parts two calls: {self}", place_of(self.second), (note,))


def _verb(access: Access) -> str:
    return "writes" if access.write else "reads"


def check_races(module: ModuleOp) -> None:
    """DiagnosticError with every pair of calls that race; modules without a program pass."""
    found = [race.diagnostic() for p in programs_of(module) for race in Races(p, module).all()]
    if found:
        raise DiagnosticError(*found)


class Races:
    """The races of one program, as it is or without one of its barriers."""

    def __init__(self, program: engine.ProgramOp, module: ModuleOp) -> None:
        self.program, self.threads = program, program.threads.value.data
        self._symbols = symbols(module)
        self._buffers = buffers_of(program)
        self._entries = [(e, list(steps_of(program, e))) for e in entries_of(program)]
        self._accesses: dict[tuple[engine.EntryOp, Step], list[Access]] = {}
        self._met: dict[_Pair, Race | None] = {}

    def all(self, without: engine.BarrierOp | None = None) -> list[Race]:
        """Every pair of calls that race, each once."""
        found: dict[tuple[engine.CallOp, engine.CallOp], Race] = {}
        for entry, steps in self._entries:
            for calls in _stretches(steps, without):
                for race in self._among(entry, calls):
                    found.setdefault((race.first, race.second), race)
        return list(found.values())

    def _among(self, entry: engine.EntryOp, calls: list[Step]) -> Iterator[Race]:
        for number, second in enumerate(calls):
            for first in calls[: number + 1]:
                race = self._pair(entry, first, second)
                if race is not None:
                    yield race

    def _pair(self, entry: engine.EntryOp, first: Step, second: Step) -> Race | None:
        key = (entry, first.op, second.op, first.layer == second.layer)
        if key not in self._met:
            self._met[key] = self._meet(entry, first, second)
        return self._met[key]

    def _meet(self, entry: engine.EntryOp, first: Step, second: Step) -> Race | None:
        """The race of two calls, if there is one; rather over one buffer than over shared bytes."""
        assert isinstance(first.op, engine.CallOp) and isinstance(second.op, engine.CallOp)
        both = [(a, b) for a in self._of(entry, first) for b in self._of(entry, second)]
        for a, b in sorted(both, key=lambda pair: pair[0].place != pair[1].place):
            if met := conflict(a, b, self.threads):
                return Race(entry.sym_name.data, first.op, second.op, a, b, *met)
        return None

    def _of(self, entry: engine.EntryOp, step: Step) -> list[Access]:
        assert isinstance(step.op, engine.CallOp)
        key = (entry, step)
        if key not in self._accesses:
            self._accesses[key] = list(self._find(entry, step.op, step.layer))
        return self._accesses[key]

    def _find(
        self, entry: engine.EntryOp, call: engine.CallOp, layer: int | None
    ) -> Iterator[Access]:
        callee = self._symbols[call.callee.root_reference.data]
        assert isinstance(callee, kernel.FuncOp)
        places = places_of(call, callee)
        for touch in footprint(callee):
            place = places[touch.name]
            if not isinstance(place, SymbolRefAttr):
                continue
            name = place.root_reference.data
            if name in self._buffers:
                extent = extent_of(self._buffers[name], entry)
                yield Access(name, None, touch.write, touch.share, extent)
            elif isinstance(self._symbols[name], infer.StateOp):
                yield Access(name, layer, touch.write, touch.share, None)
            elif touch.write:
                raise DiagnosticError(Diagnostic(f"@{name} is a weight", place_of(call)))


def _stretches(steps: list[Step], without: engine.BarrierOp | None) -> Iterator[list[Step]]:
    """The calls between two barriers, of which one may be passed over."""
    calls: list[Step] = []
    for step in steps:
        if isinstance(step.op, engine.CallOp):
            calls.append(step)
        elif step.op is not without:
            yield calls
            calls = []
    yield calls


def places_of(call: engine.CallOp, callee: kernel.FuncOp) -> dict[str, Attribute]:
    """What each argument and tensor result of the kernel is bound to."""
    types = zip(callee.outputs, callee.function_type.outputs, strict=True)
    outs = [name.data for name, type_ in types if not isinstance(type_, infer.StateType)]
    names = [name.data for name in callee.arguments] + outs
    return dict(zip(names, [*call.ins, *call.outs], strict=True))


def extent_of(buffer: engine.BufferOp, entry: engine.EntryOp) -> Interval | None:
    """First and one past the last byte of a buffer in the entry's largest step."""
    if buffer.offset is None:
        return None
    start = buffer.offset.value.data
    return start, start + buffer_bytes(buffer.type, entry.dims.as_dict())


def conflict(a: Access, b: Access, threads: int) -> tuple[int, int, int] | None:
    """`(parts, p, q)`: part p of `a` and another part q of `b` touch the same bytes."""
    if not (a.write or b.write):
        return None
    if (a.place, a.layer) == (b.place, b.layer):
        return _meet(a.share, b.share, threads)
    if a.extent is None or b.extent is None or not _overlap(a.extent, b.extent):
        return None
    # Two shapes over the same bytes: any part may be anywhere in them.
    return _meet(_spread(a.share), _spread(b.share), threads)


def _spread(share: Share) -> Share:
    return Share(alone=share.alone)


@lru_cache(maxsize=4096)
def _meet(a: Share, b: Share, threads: int) -> tuple[int, int, int] | None:
    if a.own_rows and b.own_rows:
        return None
    for parts in range(2, threads + 1):
        for p in range(parts):
            for q in range(parts):
                if p != q and _overlap(_columns(a, p, parts), _columns(b, q, parts)):
                    return parts, p, q
    return None


EVERYTHING = (0, 1 << 62)
NOTHING = (0, 0)


def _columns(share: Share, part: int, parts: int) -> Interval:
    if share.alone:
        return EVERYTHING if part == 0 else NOTHING
    return EVERYTHING if share.columns is None else share.columns.of(part, parts)


def _overlap(a: Interval, b: Interval) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])
