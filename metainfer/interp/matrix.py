"""Matrices that stay in their stored form and decode the rows that an op asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metainfer.interp.decode import KINDS, QUANTA, TERMS, Roundings, decode_matrix, roundings
from metainfer.interp.numerics import Array, Bytes, quantum
from metainfer.ir.dialects.infer import FormatOp

Rows: TypeAlias = slice | NDArray[np.integer]
"""Which rows of a matrix: a range without step, or row numbers."""
CHUNK = 1 << 19
"""Values that an op decodes at once: 4 MiB as float64, which stay near while BLAS reads them."""


class Matrix(Protocol):
    """A (rows, cols) matrix of exact values, each the sum of one or more terms."""

    @property
    def rows(self) -> int: ...
    @property
    def cols(self) -> int: ...
    @property
    def roundings(self) -> Roundings:
        """How an implementation comes by an element."""
        ...

    def values(self, rows: Rows) -> Array:
        """The elements of these rows: (len(rows), cols)."""
        ...

    def terms(self, rows: Rows) -> Array:
        """The magnitudes of the terms of each element, summed: at least `|values|`."""
        ...

    def quanta(self, rows: Rows) -> Array:
        """What each element and its terms are multiples of: `numerics.quantum`."""
        ...

    def kinds(self, rows: Rows) -> list[Array]:
        """The values as a sum of kinds of terms, which an implementation may sum apart."""
        ...


def chunks(matrix: Matrix) -> Iterator[slice]:
    """Ranges of rows that cover the matrix, each of at most `CHUNK` values (but one row)."""
    step = max(1, CHUNK // matrix.cols)
    for start in range(0, matrix.rows, step):
        yield slice(start, min(start + step, matrix.rows))


class DecodeCache:
    """Decoded row ranges, up to a number of bytes; what comes later is decoded every time.

    A forward pass reads all weights in turn, so evicting the oldest would never score a hit.
    """

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._held: dict[tuple[object, ...], Array] = {}

    def get(self, key: tuple[object, ...], decode: Callable[[], Array]) -> Array:
        """The array of `key`, from `decode` if it is not held."""
        if (held := self._held.get(key)) is not None:
            return held
        array = decode()
        if array.nbytes <= self._room:
            self._room -= array.nbytes
            self._held[key] = array
        return array


@dataclass(frozen=True)
class QuantMatrix:
    """A matrix stored in a format, row after row as in the checkpoint."""

    format: FormatOp
    raw: Bytes = field(repr=False)
    rows: int
    cols: int
    cache: DecodeCache | None = field(default=None, repr=False, compare=False)
    key: tuple[object, ...] = ()
    """Names this matrix in `cache`."""

    def __post_init__(self) -> None:
        block = self.format.block.value.data
        size = np.frombuffer(self.raw, np.uint8).size
        if self.cols % block or size != self.rows * self._row_bytes():
            raise ValueError(
                f"{self.rows} x {self.cols} of {self.format.sym_name.data}: got {size} bytes"
            )

    def _row_bytes(self) -> int:
        return self.cols // self.format.block.value.data * self.format.bytes.value.data

    @property
    def roundings(self) -> Roundings:
        return roundings(self.format)

    def values(self, rows: Rows) -> Array:
        if self.cache is None or not isinstance(rows, slice):
            return self._values(rows)
        key = (*self.key, rows.start, rows.stop)
        return self.cache.get(key, lambda: self._values(rows))

    def _values(self, rows: Rows) -> Array:
        raw = self._stored(rows)
        return decode_matrix(self.format, raw.reshape(-1), len(raw), self.cols)

    def terms(self, rows: Rows) -> Array:
        raw = self._stored(rows)
        return decode_matrix(self.format, raw.reshape(-1), len(raw), self.cols, TERMS)

    def quanta(self, rows: Rows) -> Array:
        raw = self._stored(rows)
        return decode_matrix(self.format, raw.reshape(-1), len(raw), self.cols, QUANTA)

    def kinds(self, rows: Rows) -> list[Array]:
        if self.roundings.terms != len(KINDS):
            return [self.values(rows)]
        raw = self._stored(rows)
        flat = raw.reshape(-1)
        return [decode_matrix(self.format, flat, len(raw), self.cols, kind) for kind in KINDS]

    def _stored(self, rows: Rows) -> NDArray[np.uint8]:
        return np.frombuffer(self.raw, np.uint8).reshape(self.rows, self._row_bytes())[rows]


@dataclass(frozen=True)
class DenseMatrix:
    """A matrix of plain floats."""

    array: NDArray[np.floating] = field(repr=False)

    @property
    def rows(self) -> int:
        return int(self.array.shape[0])

    @property
    def cols(self) -> int:
        return int(self.array.shape[1])

    @property
    def roundings(self) -> Roundings:
        return Roundings(depth=0, terms=1)

    def values(self, rows: Rows) -> Array:
        return self.array[rows].astype(np.float64, copy=False)

    def terms(self, rows: Rows) -> Array:
        return np.abs(self.values(rows))

    def quanta(self, rows: Rows) -> Array:
        return quantum(self.values(rows))

    def kinds(self, rows: Rows) -> list[Array]:
        return [self.values(rows)]
