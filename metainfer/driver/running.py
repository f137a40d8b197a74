"""`metainfer-opt --run`: one function of a module on given arguments, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation

from metainfer.driver.samples import (
    Callee,
    RandomWeights,
    layers_of,
    random_array,
    random_integers,
    seeded,
)
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DenseMatrix, QuantMatrix
from metainfer.interp.meaning import Value
from metainfer.interp.numerics import F32, Array, Bounded, bound_of, value_of
from metainfer.interp.run import Interpreter, Mode
from metainfer.interp.state import Slots, State
from metainfer.interp.weights import NamedTensors, WeightSource
from metainfer.ir.diagnostics import Note, did_you_mean, error
from metainfer.ir.dialects import infer, kernel, spec
from metainfer.ir.dims import LayersAttr, sizes
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.passes.context import CompilerContext

FORMS = {
    "batch": "ids:1,2,3 or ids:1,2,3@4 (from position 4 on); sequences apart by '/'",
    "state": "empty, or FILE.npz with k and v of one sequence: (positions, kv_heads, head_dim)",
    "tensor": "FILE.npy, random, or integers (from -8 to 8)",
}
"""What an argument may look like, by kind of parameter."""
DRAWN = {"random": random_array, "integers": random_integers}


@dataclass(frozen=True)
class Call:
    """What to run, and how."""

    function: str
    arguments: Sequence[str]
    mode: Mode = "value"
    layer: int | None = None
    dims: Mapping[str, int] | None = None
    """Sizes for `random` arguments; those of a given batch count anyway."""
    seed: int = 0
    random_weights: bool = False
    """Draw the weights although the module names a model."""


@dataclass(frozen=True)
class Traced:
    """An op that was run, as a line of the trace."""

    op: Operation
    layer: int | None
    results: tuple[str, ...]

    def __str__(self) -> str:
        layer = "" if self.layer is None else f" (layer {self.layer})"
        names = ", ".join(f"%{r.name_hint or n}" for n, r in enumerate(self.op.results))
        return f"{names} = {self.op.name}{layer}: {'; '.join(self.results)}"


def run_function(
    module: ModuleOp, ctx: CompilerContext, call: Call, trace: list[Traced] | None = None
) -> tuple[Value, ...]:
    """The results of a function; with `trace`, every op that ran is appended to it.

    Weights come from the model that the module's spec names, else from the seed. Raises
    DiagnosticError for a function that is not there and for arguments that do not fit it.
    """
    function = find_function(module, call.function)
    layer = _layer(function, module, call.layer)
    given = _arguments(function, module, call, layer)

    def keep(op: Operation, in_layer: int | None, results: tuple[Value, ...]) -> None:
        assert trace is not None
        trace.append(Traced(op, in_layer, tuple(map(describe, results))))

    interpreter = Interpreter(
        module,
        _weights(module, ctx, call),
        call.mode,
        numerics=F32,
        trace=None if trace is None else keep,
    )
    try:
        if isinstance(function, func.FuncOp):
            return interpreter.run(call.function, *given, layer=layer)
        return interpreter.run_kernel(function, given)
    except (ValueError, KeyError) as problem:
        # The interpreter's own complaint about values: shapes, gaps in a state, missing positions.
        raise error(
            f"@{call.function} cannot run on these: {problem}", place_of(function)
        ) from problem


def find_function(module: ModuleOp, name: str) -> Callee:
    """The function or kernel of that name."""
    known = {f.sym_name.data: f for f in module.ops if isinstance(f, func.FuncOp | kernel.FuncOp)}
    if name not in known:
        listing = f"there are: {', '.join(f'@{n}' for n in known)}" if known else None
        raise error(f"no function @{name}", help=did_you_mean(name, known) or listing)
    return known[name]


def _layer(function: Callee, module: ModuleOp, wanted: int | None) -> int | None:
    layers = layers_of(function, module)
    if wanted is None:
        return layers[0]
    if wanted not in layers:
        runs = "it is for no layer" if layers == [None] else f"it runs {layers[0]} to {layers[-1]}"
        raise error(f"@{function.sym_name.data} does not run layer {wanted}", help=runs)
    return wanted


def _weights(module: ModuleOp, ctx: CompilerContext, call: Call) -> WeightSource:
    named = any(
        isinstance(op, spec.ModelOp) for e in all_of(module, spec.EngineOp) for op in e.walk()
    )
    if call.random_weights or not named:
        return RandomWeights(module, call.seed)

    from metainfer.passes.resolve_model import open_model

    model = open_model(module, ctx)
    return NamedTensors(lambda name: model.data(model.tensors[name]))


# === Arguments ===


def _arguments(function: Callee, module: ModuleOp, call: Call, layer: int | None) -> list[Value]:
    block = function.body.block if isinstance(function, func.FuncOp) else function.semantics.block
    if len(call.arguments) != len(block.args):
        raise error(
            f"@{call.function} takes {len(block.args)} arguments, {len(call.arguments)} given",
            place_of(function),
            notes=[Note(_parameter(n, value)) for n, value in enumerate(block.args)],
        )
    dims = dict(call.dims or {})
    batches = {}
    for number, (value, text) in enumerate(zip(block.args, call.arguments, strict=True)):
        if isinstance(value.type, infer.BatchType):
            batches[number] = batch = _batch(text)
            dims |= {"tokens": batch.tokens, "seqs": batch.seqs}
    return [
        batches[n] if n in batches else _argument(n, value.type, text, dims, layer, call.seed)
        for n, (value, text) in enumerate(zip(block.args, call.arguments, strict=True))
    ]


def _parameter(number: int, value: BlockArgument) -> str:
    kind = {infer.BatchType: "batch", infer.StateType: "state"}.get(type(value.type), "tensor")
    name = value.name_hint or str(number)
    return f"%{name}: {value.type}: {FORMS[kind]}"


def _argument(
    number: int, type_: Attribute, text: str, dims: dict[str, int], layer: int | None, seed: int
) -> Value:
    """The value of one argument; the sizes of a file's array bind the names in `dims`."""
    if isinstance(type_, infer.StateType):
        return _state(text, layer)
    if not isinstance(type_, TensorType):
        raise error(f"--arg {text}: no value of type {type_} can be given")
    if text in DRAWN:
        return DRAWN[text](seeded(seed, "argument", number), type_, dims)
    array = _load(text, ".npy")
    shape = sizes(type_)
    fits = array.ndim == len(shape) and all(
        given == dims.setdefault(wanted, given) if isinstance(wanted, str) else given == wanted
        for given, wanted in zip(array.shape, shape, strict=False)
    )
    if not fits:
        known = ", ".join(f"{name} = {size}" for name, size in dims.items())
        raise error(
            f"--arg {text}: it has shape {array.shape}, {type_} is wanted",
            notes=[Note(known)] if known else (),
        )
    return array


def _batch(text: str) -> Batch:
    """`ids:1,2,3@4/7,8`: two sequences, the first going on from position 4."""
    try:
        kind, _, rest = text.partition(":")
        if kind != "ids":
            raise ValueError
        spans = []
        for part in rest.split("/"):
            ids, _, start = part.partition("@")
            spans.append(([int(i) for i in ids.split(",")], int(start or 0)))
        return Batch.of(spans)
    except ValueError:
        raise error(f"--arg {text}: no batch", help=f"write {FORMS['batch']}") from None


def _state(text: str, layer: int | None) -> State:
    if text == "empty":
        return State()
    arrays = _load_all(text)
    if set(arrays) != {"k", "v"}:
        raise error(f"--arg {text}: it holds {', '.join(sorted(arrays))}; k and v are wanted")
    return State.of({(layer, 0): Slots(arrays["k"], arrays["v"])})


def _load(text: str, suffix: str) -> Array:
    if not text.endswith(suffix):
        raise error(f"--arg {text}: no tensor", help=f"write {FORMS['tensor']}")
    return _numbers(text, _open(text))


def _load_all(text: str) -> dict[str, Array]:
    if not text.endswith(".npz"):
        raise error(f"--arg {text}: no state", help=f"write {FORMS['state']}")
    with _open(text) as archive:
        return {name: _numbers(text, archive[name]) for name in archive.files}


def _open(text: str) -> Any:
    try:
        return np.load(Path(text), allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        reason = getattr(problem, "strerror", None)
        said = reason.lower() if reason else "it is no NumPy file of numbers"
        raise error(f"--arg {text}: {said}") from None


def _numbers(text: str, array: NDArray[Any]) -> Array:
    if array.dtype.kind not in "fiu":
        raise error(f"--arg {text}: it holds {array.dtype}, numbers are wanted")
    return array.astype(np.float64)


# === Results ===


def describe(value: Value) -> str:
    """A value in one line: its shape, its extremes and, where it has them, its error bounds."""
    match value:
        case Batch():
            return f"batch of {value.tokens} tokens, {value.seqs} sequences"
        case State():
            return ", ".join(_describe_slots(value)) or "empty state"
        case QuantMatrix() | DenseMatrix():
            return f"{value.rows}x{value.cols} weight"
        case _:
            return _describe_array(value)


def _describe_slots(state: State) -> Iterator[str]:
    """Layers in a row that hold the same are told together."""
    held = {key: len(state.slots(*key).k) for key in sorted(state.keys(), key=_order)}
    for (seq, count), keys in groupby(held, key=lambda key: (key[1], held[key])):
        layers = [layer for layer, _ in keys if layer is not None]
        runs = ", ".join(
            f"{a}" if a == b else f"{a} to {b}" for a, b in LayersAttr.of(layers).pairs()
        )
        where = f"layer {runs}, " if runs else ""
        yield f"{where}sequence {seq}: {count} positions"


def _order(key: tuple[int | None, int]) -> tuple[int, int]:
    layer, seq = key
    return seq, -1 if layer is None else layer


def _describe_array(value: Array | Bounded) -> str:
    numbers = value_of(value)
    shape = "x".join(map(str, numbers.shape)) or "scalar"
    if numbers.size == 0:
        return f"{shape}: empty"
    rms = float(np.sqrt(np.mean(np.square(numbers))))
    text = f"{shape}: {_g(numbers.min())} to {_g(numbers.max())}, rms {_g(rms)}"
    if isinstance(value, Bounded):
        text += f", bound {_bound(bound_of(value))}"
    return text


def _bound(bound: Array) -> str:
    if np.isfinite(bound).all():
        return _g(bound.max())
    exact = int((bound == 0).sum())
    return f"inf, 0 in {exact} of {bound.size}" if exact else "inf"


def _g(number: float) -> str:
    return f"{float(number):.6g}"


def result_arrays(values: Sequence[Value]) -> dict[str, Array]:
    """Results as named arrays for a `.npz` file: `r0`, `r0_bound`, `r1_layer3_seq0_k`, ..."""
    arrays: dict[str, Array] = {}
    for number, value in enumerate(values):
        if isinstance(value, State):
            for layer, seq in sorted(value.keys(), key=_order):
                slots = value.slots(layer, seq)
                where = f"r{number}_layer{layer}_seq{seq}"
                arrays |= {f"{where}_k": slots.k, f"{where}_v": slots.v}
        elif isinstance(value, np.ndarray | Bounded):
            arrays[f"r{number}"] = value_of(value)
            if isinstance(value, Bounded):
                arrays[f"r{number}_bound"] = value.bound
    return arrays
