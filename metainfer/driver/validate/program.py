"""Engine programs as functions over values: what every call reads and writes, one after the other.

Where buffers lie and what parts race for is the engine gate's business (`verify/engine`); here a
buffer is its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DecodeCache
from metainfer.interp.meaning import Value
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State
from metainfer.interp.weights import WeightSource, load_weight
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.verify.engine.steps import entries_of, programs_of, steps_of


def entries(module: ModuleOp) -> dict[str, engine.EntryOp]:
    """The entries of a module's program by name; none where it has no program."""
    found = [entry for program in programs_of(module) for entry in entries_of(program)]
    return {entry.sym_name.data: entry for entry in found}


@dataclass
class ProgramRun:
    """One step of an entry: the states it was given, and what each buffer holds."""

    module: ModuleOp
    interpreter: Interpreter
    weights: WeightSource
    decoded: DecodeCache
    batch: Batch
    states: dict[str, State]
    buffers: dict[str, Value] = field(default_factory=dict)

    def run(self, entry: engine.EntryOp) -> Value:
        """The logits; DiagnosticError for a buffer that is read before it is written."""
        with np.errstate(over="ignore", invalid="ignore"):
            program = entry.parent_op()
            assert isinstance(program, engine.ProgramOp)
            for step in steps_of(program, entry):
                if isinstance(step.op, engine.CallOp):
                    self._call(step.op, step.layer)
        return self._read(entry.logits, None, entry)

    def _call(self, call: engine.CallOp, layer: int | None) -> None:
        callee = lookup(self.module, call.callee.root_reference.data, kernel.FuncOp)
        given = [self._read(place, layer, call) for place in call.ins]
        scope = replace(self.interpreter.scope, layer=layer)
        results = self.interpreter.run_kernel(callee, given, scope)
        outs = iter(call.outs)
        for result, type_ in zip(results, callee.function_type.outputs, strict=True):
            if isinstance(type_, infer.StateType):
                assert isinstance(result, State)
                self.states[type_.state.root_reference.data] = result
            else:
                self.buffers[next(outs).root_reference.data] = result

    def _read(self, place: Attribute, layer: int | None, user: Operation) -> Value:
        if not isinstance(place, SymbolRefAttr):
            return self.batch
        name = place.root_reference.data
        if name in self.states:
            return self.states[name]
        if name in self.buffers:
            return self.buffers[name]
        for weight in all_of(self.module, infer.WeightOp):
            if weight.sym_name.data == name:
                return self._weight(weight, layer)
        raise error(f"@{name} is read before anything is written to it", place_of(user))

    def _weight(self, weight: infer.WeightOp, layer: int | None) -> Value:
        numerics = self.interpreter.scope.numerics
        return load_weight(weight, layer, self.weights, self._format, self.decoded, numerics)

    def _format(self, name: str) -> infer.FormatOp:
        return lookup(self.module, name, infer.FormatOp)
