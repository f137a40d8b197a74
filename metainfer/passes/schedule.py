"""`schedule`: from functions over values to a program over bytes.

before: func @decode_layer, @decode_forward of kernel calls; weights and states as symbols
after:  engine.program with packs, state slabs, buffers, one block per kind of layer, one entry
        per box, and a barrier exactly where parts of different calls would meet
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import RangesAttr
from metainfer.ir.symbols import all_of, lookup, symbol_name
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.barriers import insert_barriers
from metainfer.passes.base import Choice, MetaPass, decide, derived
from metainfer.passes.pins import pinned, view_of
from metainfer.passes.sizes import align, pack_streams, padded_context, state_bytes
from metainfer.passes.specialize_entries import ranges_of

DEFAULT_THREADS = 2


@dataclass(frozen=True)
class Schedule(MetaPass):
    """Orders calls, names buffers, and inserts the barriers that the access sets demand."""

    name = "schedule"
    summary: ClassVar[str] = "make the engine program: packs, buffers, entries, barriers"
    requires: ClassVar[str] = "fill-kernels"
    threads: int | None = None
    """Most threads that share a step, 1 to 64; default: what the plan says."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        alternatives = tuple(str(n) for n in (1, 2, 4, 8))
        return [
            pinned(
                module,
                "model",
                "threads",
                alternatives,
                str(DEFAULT_THREADS),
                "rule: memory bandwidth saturates early",
            )
        ]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = all_of(op, kernel.FuncOp)
        self.need(bool(all_of(op, func.FuncOp)) and bool(kernels))
        self.need(all(k.body is not None for k in kernels))
        self.need(all(s.room is not None for s in all_of(op, infer.StateOp)))
        text = decide(
            op,
            "model",
            "threads",
            lambda: str(DEFAULT_THREADS),
            None if self.threads is None else str(self.threads),
        )
        if not text.isdigit() or not 1 <= int(text) <= 64:
            raise error(f"threads is '{text}', want a number from 1 to 64")
        _Scheduler(op, int(text)).run()


class _Scheduler:
    def __init__(self, module: ModuleOp, threads: int) -> None:
        self.module, self.threads = module, threads
        view = view_of(module)
        self.name = view.name if view else "engine"
        self.features = sorted(view.features) if view else []
        self.block = Block()

    def run(self) -> None:
        functions = all_of(self.module, func.FuncOp)
        program = engine.ProgramOp.create(
            properties={
                "sym_name": StringAttr(f"{self.name}_program"),
                "package": StringAttr(self.name),
                "threads": IntegerAttr(self.threads, i64),
            },
            regions=[Region(self.block)],
        )
        self._packs(program)
        self._states(program)
        words = ArrayAttr([StringAttr(f) for f in self.features])
        runtime = engine.RuntimeOp.create(properties={"features": words})
        derived(program, self.module, Schedule.name)
        derived(runtime, self.module, Schedule.name)
        self.block.add_op(runtime)
        for forward in functions:
            if forward.sym_name.data.endswith("forward"):
                _Entry(self.module, self.block, forward).emit()
        for function in functions:
            function.detach()
            function.erase()
        self.module.body.block.add_op(program)
        insert_barriers(program, self.module, self.threads)

    def _packs(self, program: engine.ProgramOp) -> None:
        offset = 0
        for weight in all_of(self.module, infer.WeightOp):
            streams, size = pack_streams(weight, self.module)
            pack = engine.PackOp.create(
                properties={
                    "sym_name": weight.sym_name,
                    "streams": DictionaryAttr({k: IntegerAttr(v, i64) for k, v in streams.items()}),
                    "bytes": IntegerAttr(size, i64),
                    "offset": IntegerAttr(offset, i64),
                }
            )
            if weight.layers is not None:
                pack.properties["layers"] = weight.layers
            derived(pack, weight, Schedule.name)
            self.block.add_op(pack)
            offset = align(offset + size * (len(list(weight.layers)) if weight.layers else 1))
        program.properties["weights"] = IntegerAttr(offset, i64)

    def _states(self, program: engine.ProgramOp) -> None:
        offset = 0
        for state in all_of(self.module, infer.StateOp):
            assert state.context is not None
            size = state_bytes(state)
            slab = engine.StateOp.create(
                properties={
                    "sym_name": state.sym_name,
                    "layers": state.layers,
                    "context": state.context,
                    "bytes": IntegerAttr(size, i64),
                    "offset": IntegerAttr(offset, i64),
                }
            )
            if state.is_ring() and state.window is not None:
                slab.properties["ring"] = IntegerAttr(padded_context(state.slots()), i64)
                slab.properties["window"] = state.window
            derived(slab, state, Schedule.name)
            self.block.add_op(slab)
            offset = align(offset + size * len(list(state.layers)))
        program.properties["states"] = IntegerAttr(offset, i64)


class _Entry:
    """Emits one forward function as an entry, and its layer functions as blocks."""

    def __init__(self, module: ModuleOp, block: Block, forward: func.FuncOp) -> None:
        self.module, self.block, self.forward = module, block, forward
        self.name = forward.sym_name.data.removesuffix("_forward")
        self.dims = RangesAttr.of(ranges_of(forward))
        self.taken: set[str] = {n for op in block.ops if (n := symbol_name(op))}
        self.blocks: list[Operation] = []

    def emit(self) -> None:
        names = self._arguments(self.forward)
        body = self._sequence(self.forward, names)
        result = self.forward.body.block.last_op
        assert isinstance(result, func.ReturnOp)
        entry = engine.EntryOp.create(
            properties={
                "sym_name": StringAttr(self.name),
                "dims": self.dims,
                "logits": names[result.operands[0]],
            },
            regions=[Region(body)],
        )
        derived(entry, self.forward, Schedule.name)
        for block in self.blocks:
            self.block.add_op(block)
        self.block.add_op(entry)

    def _arguments(self, function: func.FuncOp) -> dict[SSAValue, Attribute]:
        """Batch and state arguments by what they name; others are bound by the caller."""
        names: dict[SSAValue, Attribute] = {}
        for argument in function.body.block.args:
            if isinstance(argument.type, infer.BatchType):
                names[argument] = UnitAttr()
            elif isinstance(argument.type, infer.StateType):
                names[argument] = argument.type.state
            elif function is self.forward:
                raise error(
                    f"@{function.sym_name.data} takes a batch and states only, not {argument.type}",
                    place_of(function),
                )
        return names

    def _sequence(self, function: func.FuncOp, names: dict[SSAValue, Attribute]) -> Block:
        body = Block()
        for op in function.body.block.ops:
            if isinstance(op, infer.WeightRefOp):
                names[op.result] = op.weight
            elif isinstance(op, kernel.CallOp):
                body.add_op(self._call(op, names))
            elif isinstance(op, infer.LayersOp):
                body.add_op(self._layers(op, names))
            elif not isinstance(op, func.ReturnOp):
                raise error(
                    f"{op.name} is no kernel call", place_of(op), help="run outline-kernels first"
                )
        return body

    def _call(self, op: kernel.CallOp, names: dict[SSAValue, Attribute]) -> engine.CallOp:
        ins: list[Attribute] = [names[o] for o in op.operands]
        outs = []
        for result in op.results:
            if isinstance(result.type, infer.StateType):
                names[result] = result.type.state
                _check_replaced(op, result)
            else:
                names[result] = self._home(op, result, names)
                outs.append(names[result])
        call = engine.CallOp.create(
            properties={"callee": op.callee, "ins": ArrayAttr(ins), "outs": ArrayAttr(outs)}
        )
        derived(call, op, Schedule.name)
        return call

    def _home(
        self, op: kernel.CallOp, result: SSAValue, names: dict[SSAValue, Attribute]
    ) -> Attribute:
        """The buffer of a result: an operand's where the kernel may write in place, else new."""
        callee = lookup(self.module, op.callee.root_reference.data, kernel.FuncOp)
        only = next(iter(callee.semantics.block.ops))
        if only.has_trait(infer.Elementwise) and len(op.results) == 1:
            for operand in op.operands:
                dead = all(_before(u.operation, op) for u in operand.uses)
                if operand.type == result.type and dead and operand in names:
                    return names[operand]
        return self._buffer(result)

    def _buffer(self, value: SSAValue) -> SymbolRefAttr:
        assert isinstance(value.type, TensorType)
        base = f"{self.name}_{value.name_hint or 'value'}"
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        buffer = engine.BufferOp.create(
            properties={"sym_name": StringAttr(name), "type": value.type}
        )
        if isinstance(value.owner, Operation):
            derived(buffer, value.owner, Schedule.name)
        self.block.add_op(buffer)
        return SymbolRefAttr(name)

    def _layers(self, op: infer.LayersOp, names: dict[SSAValue, Attribute]) -> engine.LayersOp:
        carried = names[op.x]
        names[op.result] = carried
        for before, after in zip(op.states, op.next_states, strict=True):
            names[after] = names[before]
        done: set[str] = set()
        for name, _, _ in op.schedule.steps():
            if name not in done:
                done.add(name)
                self._layer(lookup(self.module, name, func.FuncOp), carried)
        layers = engine.LayersOp.create(properties={"schedule": op.schedule})
        derived(layers, op, Schedule.name)
        return layers

    def _layer(self, function: func.FuncOp, carried: Attribute) -> None:
        names = self._arguments(function)
        names[function.body.block.args[0]] = carried
        body = self._sequence(function, names)
        result = function.body.block.last_op
        assert isinstance(result, func.ReturnOp)
        if names[result.operands[0]] != carried:
            raise error(
                f"@{function.sym_name.data} does not end in the buffer that it started from",
                place_of(function),
                help="end the layer with an elementwise op on its running value, such as infer.add",
            )
        block = engine.BlockOp.create(
            properties={"sym_name": function.properties["sym_name"]}, regions=[Region(body)]
        )
        derived(block, function, Schedule.name)
        self.blocks.append(block)


def _before(op: Operation, other: Operation) -> bool:
    """Whether `op` is `other` or stands before it in the same block."""
    return op is other or op in _predecessors(other)


def _predecessors(op: Operation) -> Iterable[Operation]:
    previous = op.prev_op
    while previous is not None:
        yield previous
        previous = previous.prev_op


def _check_replaced(op: kernel.CallOp, result: SSAValue) -> None:
    """The update is in place, so nobody may read the old state afterwards."""
    for operand in op.operands:
        if operand.type != result.type:
            continue
        late = [u.operation for u in operand.uses if not _before(u.operation, op)]
        if late:
            raise error(
                f"{late[0].name} reads a state after it was updated in place", place_of(late[0])
            )
