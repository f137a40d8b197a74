"""The meaning of each `infer` op, as a table from op class to function.

A function gets the scope, the op and its operands' values. In a scope with numerics every array is
a `Bounded` and results carry bounds; otherwise arrays are bare float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from metainfer.interp import bounds, ops
from metainfer.interp.attention import Heads, attend
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DenseMatrix, Matrix, QuantMatrix
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics, bound_of, value_of
from metainfer.interp.rules import Rules
from metainfer.interp.state import State
from metainfer.ir.dialects import infer
from metainfer.ir.dialects.infer import Elementwise, StateOp, StateType

Real: TypeAlias = Array | Bounded
Value: TypeAlias = Array | Bounded | QuantMatrix | DenseMatrix | Batch | State
"""What an SSA value stands for."""


@dataclass(frozen=True)
class Scope:
    """What the meaning of an op depends on besides its operands."""

    numerics: Numerics | None
    """Rounding of the implementation that bounds are for; None: values only."""
    layer: int | None
    """The layer whose weights and state slab are meant."""
    state_type: Callable[[str], StateOp]
    """The definition of a state symbol."""
    rules: Rules = bounds.RULES
    """Where bounds come from."""
    rows: Ints | None = None
    """Which columns of a kernel's linear results are wanted; None: all."""

    def result(self, value: Array, bound: Callable[[Numerics], Array]) -> tuple[Real]:
        """`value`, with its bound if this scope has numerics."""
        if self.numerics is None:
            return (value,)
        return (Bounded(value, bound(self.numerics)),)


Meaning: TypeAlias = Callable[..., tuple[Value, ...]]


def _bounded(x: Real) -> Bounded:
    return Bounded(value_of(x), bound_of(x))


def _matrix(w: Real | Matrix) -> Matrix:
    return DenseMatrix(value_of(w)) if isinstance(w, np.ndarray | Bounded) else w


def _embed(scope: Scope, op: infer.EmbedOp, batch: Batch, w: Real | Matrix) -> tuple[Value, ...]:
    matrix = _matrix(w)
    return scope.result(
        matrix.values(batch.ids), lambda n: scope.rules.decoded(matrix, batch.ids, n)
    )


def _linear(
    scope: Scope, op: infer.LinearOp, x: Real, w: Real | Matrix, bias: Real | None = None
) -> tuple[Value, ...]:
    (product,) = _product(scope, op, x, w)
    if bias is None:
        return (product,)
    return scope.result(
        value_of(product) + value_of(bias),
        lambda n: scope.rules.add(_bounded(product), _bounded(bias), n),
    )


def _product(scope: Scope, op: infer.LinearOp, x: Real, w: Real | Matrix) -> tuple[Real]:
    matrix = _matrix(w)
    rows = scope.rows
    if rows is not None:
        rows = rows[rows < matrix.rows] if _reaches_outputs_by_element(op.result) else None
    return scope.result(
        ops.linear(value_of(x), matrix, rows),
        lambda n: scope.rules.linear(_bounded(x), matrix, rows, n),
    )


def _reaches_outputs_by_element(value: SSAValue) -> bool:
    """Whether no column of a kernel's result depends on another column of `value`."""
    for use in value.uses:
        user = use.operation
        if user.results and not user.has_trait(Elementwise):
            return False
        if not all(_reaches_outputs_by_element(r) for r in user.results):
            return False
    return True


def _rms_norm(scope: Scope, op: infer.RmsNormOp, x: Real, w: Real) -> tuple[Value, ...]:
    eps = op.eps.value.data
    shape, run = value_of(x).shape, len(value_of(w))

    def runs(values: Array) -> Array:
        return values.reshape(-1, run)

    return scope.result(
        ops.rms_norm(runs(value_of(x)), value_of(w), eps).reshape(shape),
        lambda n: scope.rules.rms_norm(
            Bounded(runs(value_of(x)), runs(bound_of(x))), _bounded(w), eps, n
        ).reshape(shape),
    )


def _rope(scope: Scope, op: infer.RopeOp, x: Real, batch: Batch) -> tuple[Value, ...]:
    how = (batch.pos, op.head_dim.value.data, op.theta.value.data, op.pairing.data)
    return scope.result(
        ops.rope(value_of(x), *how), lambda n: scope.rules.rope(_bounded(x), *how, n)
    )


def _state_append(
    scope: Scope, op: infer.StateAppendOp, state: State, k: Real, v: Real, batch: Batch
) -> tuple[Value, ...]:
    kind = scope.state_type(state_symbol(op.state.type))
    rows = {}
    for part, x, type_ in (("k", k, kind.k), ("v", v, kind.v)):
        shape = (batch.tokens, *type_.get_shape())
        rows[part] = value_of(x).reshape(shape)
        if scope.numerics is not None:
            bound = scope.rules.stored(_bounded(x), str(type_.element_type))
            rows[f"{part}_bound"] = bound.reshape(shape)
    return (state.append(scope.layer, batch, rows),)


def state_symbol(type_: Attribute) -> str:
    """The name of the state class that a type refers to."""
    assert isinstance(type_, StateType)
    return type_.state.root_reference.data


def _attend(
    scope: Scope, op: infer.AttendOp, q: Real, state: State, batch: Batch
) -> tuple[Value, ...]:
    heads = Heads(
        op.q_heads.value.data,
        op.kv_heads.value.data,
        op.head_dim.value.data,
        op.scale.value.data,
        op.window.value.data if op.window is not None else None,
    )
    return scope.result(
        attend(value_of(q), state, scope.layer, batch, heads),
        lambda n: scope.rules.attend(_bounded(q), state, scope.layer, batch, heads, n),
    )


def _add(scope: Scope, op: infer.AddOp, a: Real, b: Real) -> tuple[Value, ...]:
    return scope.result(
        value_of(a) + value_of(b), lambda n: scope.rules.add(_bounded(a), _bounded(b), n)
    )


def _gated_act(scope: Scope, op: infer.GatedActOp, gate: Real, up: Real) -> tuple[Value, ...]:
    act = ops.GATES[op.act.data]
    return scope.result(
        ops.gated_act(value_of(gate), value_of(up), act),
        lambda n: scope.rules.gated_act(_bounded(gate), _bounded(up), act, n),
    )


def _scale(scope: Scope, op: infer.ScaleOp, x: Real) -> tuple[Value, ...]:
    factor = op.factor.value.data
    return scope.result(factor * value_of(x), lambda n: scope.rules.scale(_bounded(x), factor, n))


def _select_last(scope: Scope, op: infer.SelectLastOp, x: Real, batch: Batch) -> tuple[Value, ...]:
    return scope.result(
        ops.select_last(value_of(x), batch.q_start),
        lambda n: ops.select_last(bound_of(x), batch.q_start),
    )


MEANING: Mapping[type[Operation], Meaning] = {
    infer.EmbedOp: _embed,
    infer.LinearOp: _linear,
    infer.RmsNormOp: _rms_norm,
    infer.RopeOp: _rope,
    infer.StateAppendOp: _state_append,
    infer.AttendOp: _attend,
    infer.AddOp: _add,
    infer.GatedActOp: _gated_act,
    infer.ScaleOp: _scale,
    infer.SelectLastOp: _select_last,
}
"""What each op computes; `run.py` adds the ops that hold or call other ops."""
