"""From a case's inputs to the memory and the arguments of the C function."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.abi import CArg, signature
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import all_of
from metainfer.passes.sizes import POSITIONS
from metainfer.verify.cases import Case
from metainfer.verify.execution import Call, Output, poisoned
from metainfer.verify.inputs import Inputs
from metainfer.verify.memory import Buffer, Bytes

Array = npt.NDArray[Any]

BATCH_VECTORS = ("ids", "pos", "row", "q_start", "kv_len", "slot")
"""Pointers of `struct mi_batch`, in order."""


def output_shape(func: kernel.FuncOp, name: str, case: Case) -> tuple[int, ...]:
    """Shape of a tensor result in this case."""
    outputs = [o.data for o in func.outputs]
    type_ = func.function_type.outputs.data[outputs.index(name)]
    return tuple(case.dims[d] if isinstance(d, str) else d for d in sizes(type_))


def bind(func: kernel.FuncOp, module: ModuleOp, case: Case, inputs: Inputs) -> Call:
    """Memory and arguments of the kernel's C function, per `codegen.c.abi`."""
    return _Binder(func, module, case, inputs).call()


class _Binder:
    def __init__(self, func: kernel.FuncOp, module: ModuleOp, case: Case, inputs: Inputs) -> None:
        self.func, self.case, self.inputs = func, case, inputs
        self.align = max((x.align.value.data for x in all_of(module, infer.LayoutOp)), default=4)
        self.args = [a for a in signature(func, module) if a.role not in ("part", "parts")]

    def call(self) -> Call:
        written = [a for a in self.args if a.writable]
        outputs = [self._output(a) for a in written]
        variants: tuple[list[Buffer], list[Buffer]] = (self._inputs(0), self._inputs(1))
        names = [o.name for o in outputs] + [b.name for b in variants[0]]
        arguments = [self._argument(a, names) for a in self.args]
        return Call(variants, outputs, arguments)

    def _output(self, arg: CArg) -> Output:
        if arg.role == "out":
            shape = output_shape(self.func, arg.source, self.case)
            return poisoned(f"out:{arg.source}", shape)
        first, second = (self._slab(arg, variant) for variant in (0, 1))
        before = (_raw(first), _raw(second))
        return Output(_slab_name(arg), before, first.shape, first.itemsize, False)

    def _inputs(self, variant: int) -> list[Buffer]:
        buffers = [
            b for a in self.args if not a.writable and (b := self._input(a, variant)) is not None
        ]
        if any(a.role == "batch" for a in self.args):
            batch = self.inputs.batch
            buffers += [Buffer(f"batch:{v}", _raw(getattr(batch, v))) for v in BATCH_VECTORS]
        return buffers

    def _input(self, arg: CArg, variant: int) -> Buffer | None:
        match arg.role:
            case "tensor" | "vector":
                return Buffer(f"in:{arg.source}", _raw(self.inputs.arrays[arg.source]))
            case "packed":
                weight = self.inputs.weights[arg.source]
                name = f"weight:{arg.source}.{arg.field}:{weight.kind}"
                return Buffer(name, weight.streams[str(arg.field)], self.align, fixed=True)
            case "state_k" | "state_v":
                slab = self._slab(arg, variant)
                return Buffer(_slab_name(arg), _raw(slab), slab.itemsize)
            case _:
                return None

    def _slab(self, arg: CArg, variant: int) -> Array:
        k, v = self.inputs.slabs[arg.source].variant(variant)
        return key_slab(k) if arg.role == "state_k" else value_slab(v)

    def _argument(self, arg: CArg, names: list[str]) -> list[Any]:
        match arg.role:
            case "dim":
                return ["int", self.case.dims[arg.source]]
            case "batch":
                batch = self.inputs.batch
                vectors = [names.index(f"batch:{v}") for v in BATCH_VECTORS]
                return ["batch", batch.tokens, batch.seqs, vectors]
            case "out":
                return ["buffer", names.index(f"out:{arg.source}")]
            case "packed":
                kind = self.inputs.weights[arg.source].kind
                return ["buffer", names.index(f"weight:{arg.source}.{arg.field}:{kind}")]
            case "state_k" | "state_v":
                return ["buffer", names.index(_slab_name(arg))]
            case _:
                return ["buffer", names.index(f"in:{arg.source}")]


def _slab_name(arg: CArg) -> str:
    return f"{arg.role}:{arg.source}"


def _raw(array: Array) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def key_slab(k: Array) -> Array:
    """(positions, heads, head_dim) to `[head][block of 16][head_dim][16]`."""
    positions, heads, head_dim = k.shape
    blocks = k.reshape(positions // POSITIONS, POSITIONS, heads, head_dim)
    return np.ascontiguousarray(blocks.transpose(2, 0, 3, 1))


def value_slab(v: Array) -> Array:
    """(positions, heads, head_dim) to `[head][position][head_dim]`."""
    return np.ascontiguousarray(v.transpose(1, 0, 2))


def keys_of(slab: Array) -> Array:
    """The inverse of `key_slab`."""
    heads, blocks, head_dim, lanes = slab.shape
    return slab.transpose(1, 3, 0, 2).reshape(blocks * lanes, heads, head_dim)


def values_of(slab: Array) -> Array:
    """The inverse of `value_slab`."""
    return slab.transpose(1, 0, 2)


def slab_shape(role: str, values: Array) -> tuple[int, ...]:
    """Shape in memory of a slab whose values are (positions, heads, head_dim)."""
    positions, heads, head_dim = values.shape
    if role == "state_k":
        return heads, positions // POSITIONS, head_dim, POSITIONS
    return heads, positions, head_dim
