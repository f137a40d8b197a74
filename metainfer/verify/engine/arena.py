"""An engine program run on an arena by the meaning of its kernels, part by part, in any order.

Each part is a runner that goes through the calls of the step by itself and waits at barriers. What
a call means for one part: its kernel's semantics on the memory as it is at that moment, of which
the part's share is written back. An `Order` says which part goes on next; with enough barriers
no order changes the result, and a missing one, or a slot that is reused too early, shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute

from metainfer.interp.batch import Batch, Span
from metainfer.interp.matrix import DecodeCache
from metainfer.interp.meaning import Scope, Value
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State
from metainfer.interp.weights import WeightSource, load_weight
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import symbols
from metainfer.verify.engine.footprint import Share, footprint
from metainfer.verify.engine.memory import Array, Memory
from metainfer.verify.engine.races import places_of
from metainfer.verify.engine.steps import Step, entries_of, steps_of

CACHE_BYTES = 64 << 20
"""Decoded weights that are kept from one part of a call to the next."""

Order = Callable[[Sequence[int], int], int]
"""Of the parts that may go on (ascending), and how many parts there are, the next one to do so."""


def ascending(ready: Sequence[int], parts: int) -> int:
    """Each part up to the barrier, the first one first: it runs as far ahead as it can."""
    return ready[0]


def descending(ready: Sequence[int], parts: int) -> int:
    """Each part up to the barrier, the last one first."""
    return ready[-1]


def ahead(part: int) -> Order:
    """One part runs ahead as far as it can; the others follow, call by call in turn."""
    rest = in_turn()
    return lambda ready, parts: part if part in ready else rest(ready, parts)


def behind(part: int) -> Order:
    """One part waits until all others are at the barrier."""

    def next_(ready: Sequence[int], parts: int) -> int:
        return next((p for p in reversed(ready) if p != part), part)

    return next_


def in_turn() -> Order:
    """One call of one part, then one call of another, from the last to the first."""
    last = [0]

    def next_(ready: Sequence[int], parts: int) -> int:
        last[0] = max((p for p in ready if p < last[0]), default=ready[-1])
        return last[0]

    return next_


def shuffled(seed: int) -> Order:
    """Any part that may go on, drawn anew for each call."""
    random = np.random.Generator(np.random.PCG64(seed))
    return lambda ready, parts: ready[int(random.integers(len(ready)))]


class ArenaEngine:
    """A planned program with memory of its own; one sequence, from position 0 on."""

    def __init__(
        self,
        program: engine.ProgramOp,
        module: ModuleOp,
        weights: WeightSource,
        *,
        parts: int,
        order: Order,
    ) -> None:
        self.memory = Memory(program, module)
        self.parts, self.order = parts, order
        self._entries = [(e, list(steps_of(program, e))) for e in entries_of(program)]
        self._kernels = _Kernels(module, weights, self.memory)

    def step(self, span: Span) -> Array:
        """The logits after the last of some ids, (vocab,); the state goes on from there."""
        batch = Batch.of([span])
        entry, steps = self._entry(batch.tokens)
        self.memory.forget()
        for stretch in _stretches(steps):
            self._run(stretch, batch)
        logits: Array = self.memory.buffer(entry.logits.root_reference.data, batch)[0].copy()
        return logits

    def _entry(self, tokens: int) -> tuple[engine.EntryOp, list[Step]]:
        for entry, steps in self._entries:
            first, last = entry.dims.as_dict()["tokens"]
            if first <= tokens <= last:
                return entry, steps
        raise error(f"no entry takes {tokens} tokens")

    def _run(self, calls: list[Step], batch: Batch) -> None:
        """The calls between two barriers: every part runs all of them, in the order it is let."""
        done = [0] * self.parts
        while ready := [p for p in range(self.parts) if done[p] < len(calls)]:
            part = self.order(ready, self.parts)
            self._kernels.run(calls[done[part]], batch, part, self.parts)
            done[part] += 1


def _stretches(steps: list[Step]) -> Iterator[list[Step]]:
    calls: list[Step] = []
    for step in steps:
        if isinstance(step.op, engine.BarrierOp):
            yield calls
            calls = []
        else:
            calls.append(step)
    yield calls


class _Kernels:
    """Runs one part of one call on the memory."""

    def __init__(self, module: ModuleOp, weights: WeightSource, memory: Memory) -> None:
        self.memory, self.weights = memory, weights
        self.interpreter = Interpreter(module)
        self.symbols = symbols(module)
        self._stored: dict[tuple[str, int | None], Value] = {}
        self._cache = DecodeCache(CACHE_BYTES)

    def run(self, step: Step, batch: Batch, part: int, parts: int) -> None:
        """Compute the call on the memory as it is, and write what belongs to the part."""
        assert isinstance(step.op, engine.CallOp)
        callee = self.symbols[step.op.callee.root_reference.data]
        assert isinstance(callee, kernel.FuncOp)
        call = _Call(callee, places_of(step.op, callee), step.layer, batch)
        args = [self._argument(call, name.data) for name in callee.arguments]
        results = self.interpreter.run_kernel(callee, args, call.scope(self.interpreter.scope))
        outputs = dict(zip((n.data for n in callee.outputs), results, strict=True))
        shares = {t.name: t.share for t in footprint(callee) if t.write}
        for name, result in outputs.items():
            if isinstance(result, State):
                self._append(call, result, shares, part, parts)
            elif isinstance(result, np.ndarray):
                target = self.memory.buffer(call.name(name), batch)
                rows, columns = _part_of(shares[name], target.shape, part, parts)
                target[rows, columns] = result[rows, columns]

    def _argument(self, call: _Call, argument: str) -> Value:
        if not isinstance(call.places[argument], SymbolRefAttr):
            return call.batch
        name = call.name(argument)
        target = self.symbols.get(name)
        if isinstance(target, infer.WeightOp):
            return self._weight(target, call.layer)
        if isinstance(target, infer.StateOp):
            held = call.held(argument)
            slots = self.memory.slab(name, call.layer).read(held)
            return State.of({(call.layer, 0): slots})
        return self.memory.buffer(name, call.batch).copy()

    def _weight(self, weight: infer.WeightOp, layer: int | None) -> Value:
        key = (weight.sym_name.data, layer)
        if key not in self._stored:
            stored = load_weight(weight, layer, self.weights, self._format, self._cache)
            self._stored[key] = stored
        return self._stored[key]

    def _format(self, name: str) -> infer.FormatOp:
        return self.interpreter.find(name, infer.FormatOp)

    def _append(
        self, call: _Call, state: State, shares: dict[str, Share], part: int, parts: int
    ) -> None:
        """Write the part's columns of the positions that the step adds."""
        (argument,) = [a for a in shares if a in call.written_states()]
        slots = state.slots(call.layer, 0)
        new = call.batch.slot
        width = int(np.prod(slots.k.shape[1:]))
        tokens, columns = _part_of(shares[argument], (len(new), width), part, parts)
        slab = self.memory.slab(call.name(argument), call.layer)
        slab.write(new[tokens], columns, slots.k[new[tokens]], slots.v[new[tokens]])


@dataclass(frozen=True)
class _Call:
    callee: kernel.FuncOp
    places: dict[str, Attribute]
    layer: int | None
    batch: Batch

    def name(self, argument: str) -> str:
        """The symbol that an argument or result is bound to."""
        place = self.places[argument]
        assert isinstance(place, SymbolRefAttr)
        return place.root_reference.data

    def scope(self, scope: Scope) -> Scope:
        """The scope of the kernel's run."""
        return replace(scope, layer=self.layer)

    def written_states(self) -> set[str]:
        """Arguments that the kernel appends to."""
        block = self.callee.semantics.block
        taken = {op.state for op in block.ops if isinstance(op, infer.StateAppendOp)}
        named = zip(block.args, self.callee.arguments, strict=True)
        return {name.data for value, name in named if value in taken}

    def held(self, argument: str) -> int:
        """Positions that the state holds: those of the step too, unless the kernel adds them."""
        first = int(self.batch.pos[0])
        return first if argument in self.written_states() else int(self.batch.kv_len[0])


def _part_of(share: Share, shape: tuple[int, ...], part: int, parts: int) -> tuple[slice, slice]:
    """Rows and columns of a value that a part owns."""
    nothing, everything = slice(0, 0), slice(None)
    if share.alone:
        return (everything if part == 0 else nothing), everything
    rows = everything
    if share.own_rows:
        rows = slice(shape[0] * part // parts, shape[0] * (part + 1) // parts)
    if share.columns is None:
        return rows, everything
    return rows, slice(*share.columns.of(part, parts))
