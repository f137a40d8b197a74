"""Running a function or a program's entry on drawn inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from metainfer.driver.samples import (
    Case,
    RandomWeights,
    arguments,
    random_batch,
    random_state,
    seeded,
)
from metainfer.driver.validate.program import ProgramRun
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DecodeCache
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import F64
from metainfer.interp.run import Interpreter, Mode
from metainfer.interp.state import State
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, infer
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of

Runnable: TypeAlias = func.FuncOp | engine.EntryOp
Trace: TypeAlias = Callable[[Operation, int | None, tuple[Value, ...]], None]
Results: TypeAlias = dict[str, Value]
"""Tensors by number, states by name."""
CACHE_BYTES = 256 << 20
"""Decoded weights that a call keeps: a graph may read one weight many times."""


@dataclass
class Machine:
    """A module with drawn weights; what is decoded of them is kept from call to call."""

    module: ModuleOp
    seed: int = 0

    @cached_property
    def weights(self) -> RandomWeights:
        """The weights, by their tensors' names."""
        return RandomWeights(self.module, self.seed)

    @cached_property
    def decoded(self) -> DecodeCache:
        """What the calls of programs have decoded."""
        return DecodeCache(CACHE_BYTES)

    @cached_property
    def _untraced(self) -> dict[Mode, Interpreter]:
        return {}

    def interpreter(self, mode: Mode, trace: Trace | None = None) -> Interpreter:
        """An interpreter of the module; one for all calls that are not traced."""
        if trace is not None:
            return self._interpreter(mode, trace)
        if mode not in self._untraced:
            self._untraced[mode] = self._interpreter(mode, None)
        return self._untraced[mode]

    def _interpreter(self, mode: Mode, trace: Trace | None) -> Interpreter:
        return Interpreter(
            self.module, self.weights, mode, numerics=F64, trace=trace, cache_bytes=CACHE_BYTES
        )


@dataclass(frozen=True)
class Side:
    """What is run: a function or entry of a module."""

    machine: Machine
    code: Runnable

    @property
    def module(self) -> ModuleOp:
        """The module that it is in."""
        return self.machine.module

    @property
    def name(self) -> str:
        """Its symbol."""
        name: str = self.code.sym_name.data
        return name

    def types(self) -> list[Attribute]:
        """Types of the arguments; an entry takes the batch and every state."""
        if isinstance(self.code, func.FuncOp):
            return list(self.code.body.block.arg_types)
        names = [s.sym_name for s in all_of(self.module, infer.StateOp)]
        return [infer.BatchType(), *(infer.StateType(SymbolRefAttr(n)) for n in names)]

    def draw(self, case: Case) -> list[Value]:
        """A value for every argument; the same for the same case."""
        if isinstance(self.code, func.FuncOp):
            return arguments(self.code, self.module, case)
        batch = random_batch(self.module, case)
        states = all_of(self.module, infer.StateOp)
        return [batch, *(_drawn(s, n, case, batch.seqs) for n, s in enumerate(states, 1))]

    def run(
        self,
        case: Case,
        given: list[Value],
        types: list[Attribute],
        mode: Mode,
        trace: Trace | None = None,
    ) -> Results:
        """The results of a call with arguments of these types."""
        interpreter = self.machine.interpreter(mode, trace)
        try:
            with np.errstate(all="ignore"):  # a bound of nothing is infinite, and says nothing
                if isinstance(self.code, engine.EntryOp):
                    return self._run_entry(interpreter, given, types)
                results = interpreter.run(self.name, *given, layer=case.layer)
        except (ValueError, LookupError, RuntimeError) as problem:
            # The interpreter's own complaint about values: shapes, gaps in a state, stale states.
            raise error(f"@{self.name} cannot be run: {problem}", place_of(self.code)) from problem
        return {n: _own(r) for n, r in zip(_result_names(self.code), results, strict=True)}

    def _run_entry(
        self,
        interpreter: Interpreter,
        given: list[Value],
        types: list[Attribute],
    ) -> Results:
        assert isinstance(self.code, engine.EntryOp)
        batch = next(v for v in given if isinstance(v, Batch))
        states = {_key(t, 0): v for t, v in zip(types, given, strict=True) if isinstance(v, State)}
        machine = self.machine
        run = ProgramRun(self.module, interpreter, machine.weights, machine.decoded, batch, states)
        logits = run.run(self.code)
        return {"0": logits} | {name: _own(state) for name, state in run.states.items()}


def _drawn(state: infer.StateOp, number: int, case: Case, seqs: int) -> State:
    return random_state(seeded(case.seed, "argument", number), state, case, seqs)


def _result_names(function: func.FuncOp) -> list[str]:
    last = function.body.block.last_op
    assert last is not None
    return [_key(o.type, n) for n, o in enumerate(last.operands)]


def _key(type_: Attribute, number: int) -> str:
    if isinstance(type_, infer.StateType):
        return type_.state.root_reference.data
    return str(number)


def _own(value: Value) -> Value:
    """A state's storage is shared with later values of it: what it holds now is copied."""
    return value.copy() if isinstance(value, State) else value
