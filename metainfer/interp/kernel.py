"""Evaluates one kernel on given inputs: what the verifier holds a body to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from metainfer.interp import bounds
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DenseMatrix, QuantMatrix
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import F32, Bounded, Ints, Numerics
from metainfer.interp.rules import Rules
from metainfer.interp.run import Interpreter
from metainfer.interp.state import Slots, State
from metainfer.ir.dialects.kernel import FuncOp
from metainfer.ir.dims import sizes

Input: TypeAlias = NDArray[np.floating] | Bounded | QuantMatrix | DenseMatrix | Batch | list[Slots]
"""A state is given as what each sequence holds; arrays without a bound are exact."""
Output: TypeAlias = Bounded | list[Slots]


@dataclass(frozen=True)
class Evaluation:
    """What a kernel's results are, and how far a correct body may be from them."""

    outputs: dict[str, Output]
    dims: dict[str, int]
    """Sizes of the named dimensions in this call."""


def evaluate(
    kernel: FuncOp,
    module: ModuleOp,
    inputs: Mapping[str, Input],
    rows: Sequence[int] | None = None,
    *,
    numerics: Numerics = F32,
    rules: Rules = bounds.RULES,
) -> Evaluation:
    """The results of `kernel` on `inputs`, by argument and result name; inputs are left unchanged.

    `module` defines the formats and states that the kernel mentions. With `rows`, a linear whose
    result reaches the outputs only element by element is computed in those columns; elsewhere
    values and bounds are NaN. `rules` say how bounds come about. Raises ValueError for inputs that
    do not fit the signature.
    """
    names = [name.data for name in kernel.arguments]
    if set(names) != set(inputs):
        raise ValueError(f"arguments are {', '.join(names)}; given {', '.join(inputs)}")
    args = [_value(inputs[name]) for name in names]
    dims = bind_dims(kernel.function_type.inputs.data, args)
    interpreter = Interpreter(module, mode="magnitude", numerics=numerics)
    wanted = None if rows is None else np.asarray(rows, np.int32)
    results = interpreter.run_kernel(
        kernel, args, replace(interpreter.scope, rows=wanted, rules=rules)
    )
    outputs = {n.data: _output(r) for n, r in zip(kernel.outputs, results, strict=True)}
    return Evaluation(outputs, dims)


def _value(given: Input) -> Value:
    if isinstance(given, list):
        return State.of({(None, seq): slots for seq, slots in enumerate(given)})
    return given.astype(np.float64) if isinstance(given, np.ndarray) else given


def _output(result: Value) -> Output:
    if isinstance(result, State):
        return [result.slots(*key) for key in sorted(result.keys(), key=lambda key: key[1])]
    if not isinstance(result, Bounded):
        raise ValueError("a kernel's results are tensors and states")
    return result


def bind_dims(types: Sequence[Attribute], values: Sequence[Value]) -> dict[str, int]:
    """Sizes of the named dims of a call; ValueError where values and types do not fit."""
    dims: dict[str, int] = {}
    for type_, value in zip(types, values, strict=True):
        if isinstance(value, Batch):
            _bind(dims, ("tokens", "seqs"), (value.tokens, value.seqs), "the batch")
        if isinstance(type_, TensorType):
            _bind(dims, sizes(type_), _shape(value), str(type_))
    return dims


def _bind(
    dims: dict[str, int], wanted: tuple[int | str, ...], given: tuple[int, ...], what: str
) -> None:
    if len(wanted) != len(given):
        raise ValueError(f"{what}: got a value of shape {given}")
    for name, size in zip(wanted, given, strict=True):
        expected = dims.setdefault(name, size) if isinstance(name, str) else name
        if size != expected:
            raise ValueError(f"{what}: got {size} where {name} is {expected}")


def _shape(value: Value) -> tuple[int, ...]:
    match value:
        case QuantMatrix() | DenseMatrix():
            return (value.rows, value.cols)
        case Bounded():
            return value.value.shape
        case np.ndarray():
            return value.shape
    raise ValueError(f"a tensor is wanted, got {type(value).__name__}")


def columns(output: Bounded, rows: Ints) -> Bounded:
    """The columns of a sampled result that were computed."""
    return Bounded(output.value[:, rows], output.bound[:, rows])
