"""The arena: what is live where, and that nothing is overwritten before it was read.

Like the race check this takes the plan as it is, bytes and all, and knows nothing of `plan-memory`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import symbols
from metainfer.ir.text import place_of
from metainfer.verify.engine.races import Interval, extent_of
from metainfer.verify.engine.steps import Step, buffers_of, entries_of, programs_of, steps_of


def check_slots(module: ModuleOp) -> None:
    """DiagnosticError with every read of a buffer that does not hold what was written to it.

    Programs whose buffers have no place yet pass.
    """
    found = [d for p in programs_of(module) if p.arena is not None for d in _program(p, module)]
    if found:
        raise DiagnosticError(*found)


def _program(program: engine.ProgramOp, module: ModuleOp) -> Iterator[Diagnostic]:
    names = symbols(module)
    seen = set[tuple[engine.CallOp | None, str]]()
    for entry in entries_of(program):
        for op, name, message in _Walk(program, entry, names).findings():
            if (op, name) not in seen:
                seen.add((op, name))
                yield Diagnostic(message, place_of(op or entry))


Finding = tuple[engine.CallOp | None, str, str]


class _Walk:
    """One step of an entry, with what each buffer holds: `lost` says who overwrote it."""

    def __init__(
        self, program: engine.ProgramOp, entry: engine.EntryOp, names: Mapping[str, object]
    ) -> None:
        self.entry, self.names = entry, names
        self.steps = list(steps_of(program, entry))
        self.extents = extents_of(program, entry)
        assert program.arena is not None
        self.arena = program.arena.value.data
        self.lost = dict.fromkeys(self.extents, "is read before anything is written to it")

    def findings(self) -> Iterator[Finding]:
        logits = self.entry.logits.root_reference.data
        for name, (_, end) in self.extents.items():
            if end > self.arena:
                yield None, name, f"@{name} ends past the arena of {self.arena} bytes"
        for step in self.steps:
            if isinstance(step.op, engine.CallOp):
                yield from self._call(step.op)
        if logits in self.lost:
            yield None, logits, f"@{logits} {self.lost[logits]}"

    def _call(self, call: engine.CallOp) -> Iterator[Finding]:
        ins, outs = self._buffers(call.ins), self._buffers(call.outs)
        for name in ins:
            if name in self.lost:
                yield call, name, f"@{name} {self.lost[name]}"
        for number, name in enumerate(outs):
            for other in (*ins, *outs[:number]):
                if self._clash(call, name, other):
                    yield call, name, f"@{name} is written over @{other}, which the call reads"
            self._write(call, name)

    def _clash(self, call: engine.CallOp, out: str, other: str) -> bool:
        """Whether a call's own result destroys what the call still needs."""
        if out == other:
            return not self._in_place(call)
        return meets(self.extents[out], self.extents[other])

    def _in_place(self, call: engine.CallOp) -> bool:
        """Whether the kernel works element by element, so that a result may replace an input."""
        callee = self.names[call.callee.root_reference.data]
        assert isinstance(callee, kernel.FuncOp)
        ops = [op for op in callee.semantics.block.ops if not isinstance(op, kernel.ReturnOp)]
        return len(ops) == 1 and ops[0].has_trait(infer.Elementwise)

    def _write(self, call: engine.CallOp, name: str) -> None:
        self.lost.pop(name, None)
        callee = call.callee.root_reference.data
        for other, extent in self.extents.items():
            if other != name and meets(self.extents[name], extent):
                self.lost[other] = f"was overwritten by @{name}, a result of @{callee}"

    def _buffers(self, places: ArrayAttr[Attribute]) -> list[str]:
        return [n for n in names_of(places) if n in self.extents]


def names_of(places: ArrayAttr[Attribute]) -> list[str]:
    """The symbols that a call is bound to."""
    return [p.root_reference.data for p in places if isinstance(p, SymbolRefAttr)]


def extents_of(program: engine.ProgramOp, entry: engine.EntryOp) -> dict[str, Interval]:
    """Bytes in the arena of every buffer that the entry's steps use, and of its logits."""
    mine = used(list(steps_of(program, entry))) | {entry.logits.root_reference.data}
    found: dict[str, Interval] = {}
    for name, buffer in buffers_of(program).items():
        extent = extent_of(buffer, entry) if name in mine else None
        if extent is not None:
            found[name] = extent
    return found


def used(steps: list[Step]) -> set[str]:
    """Names of all that the calls are bound to."""
    calls = [s.op for s in steps if isinstance(s.op, engine.CallOp)]
    return {n for call in calls for n in (*names_of(call.ins), *names_of(call.outs))}


def live_at(
    program: engine.ProgramOp, entry: engine.EntryOp
) -> dict[engine.BarrierOp, frozenset[str]]:
    """The buffers that are still to be read after a barrier, in whatever layer it runs."""
    extents = extents_of(program, entry)
    live = {entry.logits.root_reference.data}
    found: dict[engine.BarrierOp, frozenset[str]] = {}
    for step in reversed(list(steps_of(program, entry))):
        if isinstance(step.op, engine.BarrierOp):
            found[step.op] = found.get(step.op, frozenset()) | live
            continue
        live -= {n for n in names_of(step.op.outs) if n in extents}
        live |= {n for n in names_of(step.op.ins) if n in extents}
    return found


def dead_bytes(extents: Mapping[str, Interval], live: frozenset[str]) -> list[Interval]:
    """The bytes of the entry's buffers that belong to none of the live ones, in order."""
    kept = sorted(extent for name, extent in extents.items() if name in live)
    end = max(extent[1] for extent in extents.values())
    found, at = [], 0
    for start, stop in (*kept, (end, end)):
        if at < start:
            found.append((at, start))
        at = max(at, stop)
    return found


def meets(a: Interval, b: Interval) -> bool:
    """Whether two stretches of bytes have one in common."""
    return max(a[0], b[0]) < min(a[1], b[1])
