"""Runs functions of a module: bodies, groups, layer schedules and kernel calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeVar

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from metainfer.interp import bounds, exactness
from metainfer.interp.matrix import DecodeCache
from metainfer.interp.meaning import MEANING, Meaning, Scope, Value
from metainfer.interp.numerics import F32, Bounded, Numerics
from metainfer.interp.weights import WeightSource, load_weight
from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import symbols
from metainfer.ir.text import place_of

Mode = Literal["value", "magnitude", "exact"]
Observer = Callable[[str, int | None, Value], None]
"""Called with a value's name (its name hint, else its op's; `@f` for the first result of a layer
function f), its layer and the value."""
Trace = Callable[[Operation, int | None, tuple[Value, ...]], None]
"""Called with every op that was run, the layer it was run for and its results."""
OpT = TypeVar("OpT", bound=Operation)


class Interpreter:
    """Gives the functions of a module their meaning.

    In mode `value` arrays are float64. In mode `magnitude` they are `Bounded`: the same values,
    with the error that an implementation in `numerics` may have; bare arrays given are exact. In
    mode `exact` the bound is 0 where no correct implementation rounds, and infinite elsewhere.

    `cache_bytes` bounds the decoded weights kept between calls; without it an op holds its stored
    weight and at most `matrix.CHUNK` decoded values of it at a time.
    """

    def __init__(
        self,
        module: ModuleOp,
        weights: WeightSource | None = None,
        mode: Mode = "value",
        *,
        numerics: Numerics = F32,
        observe: Observer | None = None,
        trace: Trace | None = None,
        cache_bytes: int = 0,
    ) -> None:
        self._symbols = symbols(module)
        self._weights = weights
        self._observe = observe
        self._trace = trace
        self._cache = DecodeCache(cache_bytes) if cache_bytes else None
        self._scope = Scope(
            None if mode == "value" else numerics,
            layer=None,
            state_type=lambda name: self.find(name, infer.StateOp),
            rules=exactness.RULES if mode == "exact" else bounds.RULES,
        )

    def run(self, function: str, *args: Value, layer: int | None = None) -> tuple[Value, ...]:
        """The results of `func.func @function`; `layer` says which one a layer function is for."""
        scope = replace(self._scope, layer=layer)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._call(function, [self.lift(a) for a in args], scope)

    def run_kernel(
        self, definition: kernel.FuncOp, args: Iterable[Value], scope: Scope | None = None
    ) -> tuple[Value, ...]:
        """The results of a kernel's semantics, in the order of its outputs."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._block(
                definition.semantics.block, [self.lift(a) for a in args], scope or self._scope, {}
            )

    @property
    def scope(self) -> Scope:
        """The scope outside of all layers."""
        return self._scope

    def lift(self, value: Value) -> Value:
        """The value in the form of this interpreter's mode."""
        if self._scope.numerics is not None and isinstance(value, np.ndarray):
            return Bounded.exact(value.astype(np.float64, copy=False))
        if self._scope.numerics is None and isinstance(value, Bounded):
            return value.value
        return value

    def find(self, name: str, kind: type[OpT], user: Operation | None = None) -> OpT:
        """The op of class `kind` that defines `@name`; DiagnosticError if there is none."""
        found = self._symbols.get(name)
        if isinstance(found, kind):
            return found
        names = [n for n, op in self._symbols.items() if isinstance(op, kind)]
        raise error(
            f"the module has no {kind.name} @{name}",
            place_of(user) if user else None,
            help=did_you_mean(name, names),
        )

    def _call(
        self, name: str, args: list[Value], scope: Scope, user: Operation | None = None
    ) -> tuple[Value, ...]:
        function = self.find(name, func.FuncOp, user)
        return self._block(function.body.block, args, scope, {})

    def _block(
        self, block: Block, args: list[Value], scope: Scope, outer: Mapping[SSAValue, Value]
    ) -> tuple[Value, ...]:
        """Run a block to its terminator, whose operands are the result."""
        if len(args) != len(block.args):
            raise ValueError(f"{len(block.args)} arguments wanted, {len(args)} given")
        env: dict[SSAValue, Value] = dict(outer)
        env.update(zip(block.args, args, strict=True))
        for op in block.ops:
            operands = [env[operand] for operand in op.operands]
            if isinstance(op, _TERMINATORS):
                return tuple(operands)
            results = self._op(op, operands, scope, env)
            env.update(zip(op.results, results, strict=True))
            self._report(op, results, scope)
        raise error("a block has no terminator that the interpreter knows")

    def _op(
        self, op: Operation, operands: list[Value], scope: Scope, env: Mapping[SSAValue, Value]
    ) -> tuple[Value, ...]:
        meaning: Meaning | None = MEANING.get(type(op))
        if meaning is not None:
            return meaning(scope, op, *operands)
        match op:
            case infer.WeightRefOp():
                return (self._weight(op, scope),)
            case infer.GroupOp():
                return self._block(op.body.block, [], scope, env)
            case infer.LayersOp():
                return self._layers(op, operands, scope)
            case kernel.CallOp():
                callee = self.find(op.callee.root_reference.data, kernel.FuncOp, op)
                return self._block(callee.semantics.block, operands, scope, {})
            case func.CallOp():
                return self._call(op.callee.root_reference.data, operands, scope, op)
        raise error(f"the interpreter has no meaning for '{op.name}'", place_of(op))

    def _layers(self, op: infer.LayersOp, operands: list[Value], scope: Scope) -> tuple[Value, ...]:
        x, batch, *given = operands
        states: dict[Attribute, Value] = dict(zip(op.states.types, given, strict=True))
        for function, first, last in op.schedule.steps():
            block = self.find(function, func.FuncOp, op).body.block
            mine = [a.type for a in block.args[2:]]
            for layer in range(first, last + 1):
                inside = replace(scope, layer=layer)
                arguments = [x, batch, *(states[s] for s in mine)]
                x, *after = self._block(block, arguments, inside, {})
                states |= dict(zip(mine, after, strict=True))
                if self._observe:
                    self._observe(f"@{function}", layer, x)
        return x, *states.values()

    def _weight(self, op: infer.WeightRefOp, scope: Scope) -> Value:
        if self._weights is None:
            raise error("this module reads weights and the interpreter has none", place_of(op))
        weight = self.find(op.weight.root_reference.data, infer.WeightOp, op)
        return load_weight(
            weight, scope.layer, self._weights, self._format, self._cache, scope.numerics
        )

    def _format(self, name: str) -> infer.FormatOp:
        return self.find(name, infer.FormatOp)

    def _report(self, op: Operation, results: tuple[Value, ...], scope: Scope) -> None:
        if self._trace is not None:
            self._trace(op, scope.layer, results)
        if self._observe is None:
            return
        for ssa, value in zip(op.results, results, strict=True):
            self._observe(ssa.name_hint or op.name, scope.layer, value)


_TERMINATORS = (func.ReturnOp, infer.YieldOp, kernel.ReturnOp)
