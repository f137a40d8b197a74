"""Trace mode: what every kernel read and wrote inside the built engine, held to its own bound.

Inputs are the engine's own, so errors of earlier kernels do not count; weights are decoded from the
model's file, so packing does. Nothing is set by hand: the bound is that of the numeric path.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute

from metainfer.codegen.c.debug import calls_of
from metainfer.interp.batch import Batch
from metainfer.interp.kernel import Input, evaluate
from metainfer.interp.matrix import DecodeCache
from metainfer.interp.numerics import F32, Bounded
from metainfer.interp.state import Slots
from metainfer.interp.weights import WeightSource, load_weight
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import symbols
from metainfer.verify.compare import worst_ratio
from metainfer.verify.engine.footprint import footprint
from metainfer.verify.engine.memory import Slab, SlabPlan
from metainfer.verify.engine.races import places_of
from metainfer.verify.engine.steps import buffers_of, states_of
from metainfer.verify.faults import KernelFault

Floats = npt.NDArray[np.float32]
CACHE_BYTES = 2 << 30
"""Decoded weights that are kept from one step to the next."""


class _Model(ctypes.Structure):
    """`struct mi_model` of engine.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("weights", "state", "arena", "pool")]


_VECTORS = ("ids", "pos", "row", "q_start", "kv_len", "slot")


class _Batch(ctypes.Structure):
    """`struct mi_batch` of batch.h."""

    _fields_ = [
        ("tokens", ctypes.c_int32),
        ("seqs", ctypes.c_int32),
        *((name, ctypes.POINTER(ctypes.c_int32)) for name in _VECTORS),
    ]


HOOK = ctypes.CFUNCTYPE(
    None,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(_Model),
    ctypes.POINTER(_Batch),
)
"""Type of `mi_trace` in a build printed by `CallTracer`."""


@dataclass
class Record:
    """One call: what it was given, and what it left."""

    callee: kernel.FuncOp
    layer: int | None
    places: dict[str, Attribute]
    batch: Batch
    inputs: dict[str, Floats | Slots] = field(default_factory=dict)
    before: dict[str, Slab] = field(default_factory=dict)
    """Slabs that the kernel updates, as they were."""
    outputs: dict[str, Floats] = field(default_factory=dict)
    appended: dict[str, Slots] = field(default_factory=dict)
    """What the slots of the step's tokens hold afterwards, by argument."""
    strays: int = 0
    """Elements of other slots that changed."""


class Recorder:
    """Keeps the calls of a traced engine, in the order in which they ran, until they are taken."""

    def __init__(self, program: engine.ProgramOp, module: ModuleOp) -> None:
        self._calls = calls_of(program)
        self._symbols = symbols(module)
        self._buffers, self._states = buffers_of(program), states_of(program)
        self._records: list[Record] = []
        self.problem: Exception | None = None

    def take(self) -> list[Record]:
        """The calls since the last time; raises what went wrong while they were recorded."""
        if self.problem is not None:
            raise self.problem
        records, self._records = self._records, []
        return records

    def hook(self, call: int, layer: int, done: int, model: Any, batch: Any) -> None:
        """What `mi_trace` is set to; an exception cannot pass through C and is kept."""
        try:
            if done:
                self._after(self._records[-1], model.contents)
            else:
                place = None if layer < 0 else layer
                self._records.append(self._before(self._calls[call], place, model, batch))
        except Exception as problem:
            self.problem = problem

    def _before(self, call: engine.CallOp, layer: int | None, model: Any, batch: Any) -> Record:
        callee = self._symbols[call.callee.root_reference.data]
        assert isinstance(callee, kernel.FuncOp)
        record = Record(callee, layer, places_of(call, callee), _batch_of(batch.contents))
        written = {touch.name for touch in footprint(callee) if touch.write}
        for name in (argument.data for argument in callee.arguments):
            symbol = self._symbol(record, name)
            if symbol in self._buffers:
                record.inputs[name] = self._buffer(symbol, record.batch, model.contents)
            elif symbol in self._states:
                slab = self._slab(symbol, layer, model.contents)
                held = int(record.batch.pos[0] if name in written else record.batch.kv_len[0])
                record.inputs[name] = slab.read(held)
                if name in written:
                    record.before[name] = slab.copy()
        return record

    def _after(self, record: Record, model: Any) -> None:
        for name in (output.data for output in record.callee.outputs):
            if name in record.places:
                symbol = self._symbol(record, name)
                record.outputs[name] = self._buffer(symbol, record.batch, model)
        slots = record.batch.slot
        for name, before in record.before.items():
            slab = self._slab(self._symbol(record, name), record.layer, model)
            record.appended[name] = slab.at(slots)
            kept = before.copy()
            everything = slice(0, before.keys.shape[0] * before.keys.shape[2])
            kept.write(slots, everything, record.appended[name].k, record.appended[name].v)
            record.strays += _differences(kept.keys, slab.keys)
            record.strays += _differences(kept.values, slab.values)
        record.before.clear()

    @staticmethod
    def _symbol(record: Record, name: str) -> str:
        place = record.places[name]
        return place.root_reference.data if isinstance(place, SymbolRefAttr) else ""

    def _buffer(self, name: str, batch: Batch, model: Any) -> Floats:
        buffer = self._buffers[name]
        assert buffer.offset is not None
        dims = {"tokens": batch.tokens, "seqs": batch.seqs}
        shape = tuple(dims[s] if isinstance(s, str) else s for s in sizes(buffer.type))
        address = model.arena + buffer.offset.value.data
        found: Floats = _memory(address, int(np.prod(shape)), ctypes.c_float).reshape(shape)
        return found.copy()

    def _slab(self, name: str, layer: int | None, model: Any) -> Slab:
        kind = self._symbols[name]
        assert isinstance(kind, infer.StateOp)
        plan = SlabPlan.of(self._states[name], kind, layer)
        words = _memory(model.state + plan.start, plan.elements * plan.width, ctypes.c_uint8)
        return plan.view(words.view(np.float32 if plan.width == 4 else np.float16))


def _differences(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> int:
    """Elements that differ in a bit."""
    words = f"<u{a.itemsize}"
    return int((np.ascontiguousarray(a).view(words) != np.ascontiguousarray(b).view(words)).sum())


def _batch_of(batch: Any) -> Batch:
    counts = dict.fromkeys(_VECTORS, batch.tokens)
    counts |= {"q_start": batch.seqs + 1, "kv_len": batch.seqs}
    return Batch(**{n: np.array(getattr(batch, n)[:c], np.int32) for n, c in counts.items()})


def _memory(address: int, count: int, kind: type[Any]) -> npt.NDArray[Any]:
    return np.ctypeslib.as_array((kind * count).from_address(address))


@dataclass
class Bound:
    """The calls of one kernel: how many, and the largest error over its bound."""

    calls: int = 0
    worst: float = 0.0
    layer: int | None = None
    """Where the worst was."""

    def add(self, ratio: float, layer: int | None) -> None:
        """Count a call."""
        self.calls += 1
        if ratio > self.worst:
            self.worst, self.layer = ratio, layer


class Judge:
    """Holds recorded calls to the bounds of their kernels."""

    def __init__(self, module: ModuleOp, weights: WeightSource) -> None:
        self.module, self.weights = module, weights
        self.symbols = symbols(module)
        self.cache = DecodeCache(CACHE_BYTES)
        self.bounds: dict[str, Bound] = {}
        self.faults: list[str] = []

    @property
    def holds(self) -> bool:
        """Whether something was judged, and every error is within its bound."""
        within = all(bound.worst <= 1.0 for bound in self.bounds.values())
        return bool(self.bounds) and within and not self.faults

    def judge(self, record: Record) -> None:
        """One call; what exceeds its bound by far is among `faults`."""
        name = record.callee.sym_name.data
        where = f"@{name}" + ("" if record.layer is None else f" of layer {record.layer}")
        if record.strays:
            self.faults.append(f"{where}: {record.strays} elements of other state slots changed")
        try:
            ratio = max(self._ratios(record), default=0.0)
        except KernelFault as fault:
            self.faults.append(f"{where}: {fault}")
        else:
            self.bounds.setdefault(name, Bound()).add(ratio, record.layer)

    def _ratios(self, record: Record) -> Iterator[float]:
        given = {a.data: self._input(record, a.data) for a in record.callee.arguments}
        found = evaluate(record.callee, self.module, given, numerics=F32)
        for name, result in found.outputs.items():
            if isinstance(result, Bounded):
                yield worst_ratio(
                    name, record.outputs[name], result.value, result.bound, exact=False
                )
        states = [r for r in found.outputs.values() if isinstance(r, list)]
        for (name, got), (slots,) in zip(record.appended.items(), states, strict=True):
            yield from _appended(name, got, slots, record.batch)

    def _input(self, record: Record, name: str) -> Input:
        if name in record.inputs:
            value = record.inputs[name]
            return [value] if isinstance(value, Slots) else value
        place = record.places[name]
        if not isinstance(place, SymbolRefAttr):
            return record.batch
        weight = self.symbols[place.root_reference.data]
        assert isinstance(weight, infer.WeightOp)
        find: Callable[[str], Any] = self.symbols.__getitem__
        return load_weight(weight, record.layer, self.weights, find, self.cache, F32)


def _appended(name: str, got: Slots, want: Slots, batch: Batch) -> Iterator[float]:
    """The new positions of a state, as close as storing them allows."""
    new = batch.slot
    assert want.k_bound is not None and want.v_bound is not None
    for part, found, value, bound in (
        ("k", got.k, want.k[new], want.k_bound[new]),
        ("v", got.v, want.v[new], want.v_bound[new]),
    ):
        yield worst_ratio(f"{name}.{part}", found, value, bound, exact=False)
