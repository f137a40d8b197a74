"""What expressions of a body evaluate to: C types, and numbers, data and pointers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metainfer.verify.static.affine import Form


@dataclass(frozen=True, slots=True)
class CType:
    """A type that a body can name; `size` in bytes, of a vector of `MI_V` lanes per lane."""

    name: str
    kind: Literal["int", "float", "lanes", "register"]
    size: int
    lo: int = 0
    hi: int = 0

    def bytes(self, width: int) -> int:
        """Bytes of one where vectors have `width` lanes."""
        return self.size * width if self.kind == "lanes" else self.size


def _integer(name: str, size: int, signed: bool) -> CType:
    bits = 8 * size
    lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return CType(name, "int", size, lo, hi)


INT = _integer("int32_t", 4, True)
UINT = _integer("uint32_t", 4, False)
LONG = _integer("int64_t", 8, True)
SIZE = _integer("size_t", 8, False)
FLOAT = CType("float", "float", 4)
DOUBLE = CType("double", "float", 8)
VF = CType("vf", "lanes", 4)
VI = CType("vi", "lanes", 4, INT.lo, INT.hi)

TYPES: dict[str, CType] = {
    "int": INT,
    "int32_t": INT,
    "uint32_t": UINT,
    "int64_t": LONG,
    "uint64_t": SIZE,
    "size_t": SIZE,
    "char": _integer("char", 1, True),
    "int8_t": _integer("int8_t", 1, True),
    "uint8_t": _integer("uint8_t", 1, False),
    "int16_t": _integer("int16_t", 2, True),
    "uint16_t": _integer("uint16_t", 2, False),
    "_Float16": CType("_Float16", "float", 2),
    "float": FLOAT,
    "double": DOUBLE,
    "vf": VF,
    "vi": VI,
    **{
        name: CType(name, "register", size)
        for name, size in (
            ("__m128", 16),
            ("__m128i", 16),
            ("__m256", 32),
            ("__m256i", 32),
            ("__m512", 64),
            ("__m512i", 64),
        )
    },
}


def promoted(type_: CType) -> CType:
    """C's integer promotion."""
    return INT if type_.size < INT.size else type_


def common(a: CType, b: CType) -> CType:
    """The type in which C computes with two integers (C11 6.3.1.8)."""
    a, b = promoted(a), promoted(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    return a if a.lo == 0 else b


@dataclass(slots=True)
class Num:
    """An integer that depends on nothing but dimensions, the part, the batch and loops."""

    form: Form
    type: CType


@dataclass(slots=True)
class Data:
    """A value that depends on data, or is none an index can be; an integer within a range."""

    type: CType
    lo: int | None = None
    hi: int | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a body reaches by a name; `size` in bytes."""

    name: str
    size: Form
    element: CType
    writable: bool
    field: str | None = None
    """The vector of `struct mi_batch` that it is."""
    slot: int | None = None
    """The variable of a local array."""
    table: bool = False
    """A constant local array: a value may select among its elements."""
    lo: int = 0
    hi: int = 0
    """Range of the elements of a table of integers."""


@dataclass(slots=True)
class Pointer:
    """An address: a buffer and an offset in bytes; `dims` are those of an array's elements."""

    buffer: Buffer
    offset: Form
    element: CType
    dims: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch's pointer, of which only fields can be taken."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value about which nothing is known, and why."""

    why: str


Value = Num | Data | Pointer | Batch | Unknown


def decayed(value: Value) -> Value:
    """An array as the pointer to its first element."""
    if isinstance(value, Pointer) and value.dims:
        if len(value.dims) > 1:
            return Unknown("it points to a row of an array")
        return Pointer(value.buffer, value.offset, value.element)
    return value


@dataclass(frozen=True, slots=True)
class Finding:
    """An access or a step of a body that is not proven to be safe."""

    line: int
    """In the body, from 1."""
    text: str
    """What stands there."""
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why} in `{self.text}`"
