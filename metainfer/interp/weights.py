"""Where the interpreter gets stored weights from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Attribute

from metainfer.interp.decode import TERMS, decode_matrix, roundings
from metainfer.interp.matrix import DecodeCache, DenseMatrix, QuantMatrix
from metainfer.interp.numerics import Array, Bounded, Bytes, Numerics
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects.infer import FormatOp, QuantType, WeightOp
from metainfer.ir.text import place_of

Stored: TypeAlias = Array | Bounded | QuantMatrix | DenseMatrix
_FLOATS: dict[type[Attribute], str] = {Float16Type: "<f2", Float32Type: "<f4"}


class WeightSource(Protocol):
    """Stored bytes of weights, as the checkpoint has them (never packed)."""

    def raw(self, weight: WeightOp, layer: int | None) -> Bytes:
        """The bytes of `weight` in `layer`, None for a weight that is not per layer."""
        ...


@dataclass(frozen=True)
class NamedTensors:
    """A weight source over a function from checkpoint tensor names to bytes."""

    read: Callable[[str], Bytes]

    def raw(self, weight: WeightOp, layer: int | None) -> Bytes:
        return self.read(weight.tensor_name(layer))


def load_weight(
    weight: WeightOp,
    layer: int | None,
    source: WeightSource,
    formats: Callable[[str], FormatOp],
    cache: DecodeCache | None = None,
    numerics: Numerics | None = None,
) -> Stored:
    """A weight as a value: matrices stay in their stored form, vectors are decoded.

    `formats` finds a format by name. Raises DiagnosticError for a shape or type that weights cannot
    have, ValueError when the source gives another number of bytes.
    """
    layer = layer if weight.layers is not None else None
    if weight.layers is not None and layer not in set(weight.layers):
        raise error(f"weight @{weight.sym_name.data} has no layer {layer}", place_of(weight))
    raw, shape = source.raw(weight, layer), weight.type.get_shape()
    element = cast(Attribute, weight.type.element_type)
    if len(shape) not in (1, 2) or isinstance(element, BFloat16Type):
        raise error(f"weights of type {weight.type} cannot be read", place_of(weight))
    if isinstance(element, QuantType):
        format_ = formats(element.format.data)
        if len(shape) == 1:
            return _vector(format_, raw, shape[0], numerics)
        key = (weight.sym_name.data, layer)
        return QuantMatrix(format_, raw, shape[0], shape[1], cache, key)
    array = np.frombuffer(raw, _FLOATS[type(element)]).reshape(shape)
    return DenseMatrix(array) if len(shape) == 2 else _exact(array.astype(np.float64), numerics)


def _exact(array: Array, numerics: Numerics | None) -> Array | Bounded:
    return array if numerics is None else Bounded.exact(array)


def _vector(format_: FormatOp, raw: Bytes, size: int, numerics: Numerics | None) -> Array | Bounded:
    values: Array = decode_matrix(format_, raw, 1, size)[0]
    if numerics is None:
        return values
    terms = decode_matrix(format_, raw, 1, size, TERMS)[0]
    bound: Array = numerics.gamma(roundings(format_).depth) * terms
    return Bounded(values, bound)
