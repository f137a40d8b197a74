"""What stored blocks mean: runs the `decode` region of an `infer.format` over many blocks at once.

Integers are NumPy unsigned integers of their width (they wrap, as in `arith`); every float is
float64, so a decoded value is the exact result on the stored bits. An array has the block number
first and may have length 1 where its value repeats; `_full` gives it the shape of its type.

`terms` runs the same region with absolute values at each float step, so that a weight `d*q - m`
counts as `|d*q| + |m|`: the terms that an implementation may form and sum apart. `quanta` runs it
with the lowest set bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from metainfer.interp.numerics import Array, Bytes, quantum
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects.infer import (
    CastOp,
    ConcatOp,
    DecodedOp,
    FormatOp,
    LookupOp,
    ReshapeOp,
    SliceOp,
    field_bytes,
    vector_shape,
)
from metainfer.ir.text import place_of

Blocks: TypeAlias = NDArray[Any]
"""Values of one SSA value in all blocks: (blocks or 1, *shape of the type, each length or 1)."""
Step: TypeAlias = Callable[[Operation, tuple[Blocks, ...]], Blocks]


# === The ops of a decode region, as data ===


def _element(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, VectorType) else type_


def _unsigned(type_: Attribute) -> np.dtype[Any]:
    element = _element(type_)
    assert isinstance(element, IntegerType)
    return np.dtype(f"<u{element.bitwidth // 8}")


def _signed(x: Blocks) -> Blocks:
    return x.view(np.dtype(f"i{x.dtype.itemsize}"))


def _full(x: Blocks, type_: Attribute) -> Blocks:
    return np.broadcast_to(x, (x.shape[0], *vector_shape(type_)))


def _constant(op: Operation, _: tuple[Blocks, ...]) -> Blocks:
    assert isinstance(op, arith.ConstantOp)
    attribute, type_ = op.value, op.result.type
    shape = vector_shape(type_)
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        numbers: list[int | float] = list(attribute.get_values())
        if attribute.is_splat():
            numbers, shape = numbers[:1], (1,) * len(shape)
    else:
        assert isinstance(attribute, IntegerAttr | FloatAttr)
        numbers = [attribute.value.data]
    if isinstance(_element(type_), AnyFloat):
        return np.array(numbers, np.float64).reshape(1, *shape)
    dtype = _unsigned(type_)
    wrapped = [int(n) % 256**dtype.itemsize for n in numbers]
    return np.array(wrapped, dtype).reshape(1, *shape)


def _cast(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
    assert isinstance(op, CastOp)
    (x,) = args
    given, wanted = _element(op.x.type), _element(op.result.type)
    if isinstance(given, IntegerType) and op.signed:
        x = _signed(x)
    missing = len(vector_shape(op.result.type)) - len(vector_shape(op.x.type))
    x = x.reshape(x.shape + (1,) * missing)
    if isinstance(wanted, AnyFloat):
        return x.astype(np.float64)
    if not isinstance(given, IntegerType) or field_bytes(given) > field_bytes(wanted):
        raise error(f"'infer.cast' from {given} to {wanted} is not exact", place_of(op))
    dtype = _unsigned(op.result.type)
    return _signed_or_not(x, dtype)


def _signed_or_not(x: Blocks, dtype: np.dtype[Any]) -> Blocks:
    """Widen to the unsigned `dtype`; a signed `x` extends its sign."""
    if x.dtype.kind == "i":
        return x.astype(np.dtype(f"i{dtype.itemsize}")).view(dtype)
    return x.astype(dtype)


def _concat(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
    count = max(x.shape[0] for x in args)
    parts = [_full(x, operand.type) for x, operand in zip(args, op.operands, strict=True)]
    assert isinstance(op, ConcatOp)
    whole = [np.broadcast_to(p, (count, *p.shape[1:])) for p in parts]
    return np.concatenate(whole, axis=1 + op.along())


def _slice(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
    assert isinstance(op, SliceOp)
    first = op.offset.value.data
    return _full(args[0], op.x.type)[:, first : first + vector_shape(op.result.type)[0]]


def _reshape(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
    assert isinstance(op, ReshapeOp)
    return _full(args[0], op.x.type).reshape(args[0].shape[0], *vector_shape(op.result.type))


def _lookup(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
    assert isinstance(op, LookupOp)
    table = np.array(list(op.table.get_values()), np.float64)
    if args[0].max(initial=0) >= table.size:
        raise error(f"'{op.name}' looks beyond its {table.size} entries", place_of(op))
    return table[args[0]]


def _shift(shift: Callable[[Blocks, Blocks], Blocks]) -> Step:
    """A shift whose count is below the width, as `arith` demands; anything else is refused."""

    def run(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
        x, count = args
        if np.any(count >= 8 * x.dtype.itemsize):
            raise error(f"'{op.name}' shifts by the width of its type or more", place_of(op))
        return shift(x, count)

    return run


def _elementwise(function: Callable[..., Blocks]) -> Step:
    """A NumPy function of two operands, written over one of them where nobody misses it."""

    def run(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
        shape = np.broadcast_shapes(*(x.shape for x in args))
        operands = zip(args, op.operands, strict=True)
        out = next((x for x, operand in operands if _is_scratch(x, operand, shape)), None)
        return function(args[0], args[1], out=out)

    return run


def _is_scratch(x: Blocks, value: SSAValue, shape: tuple[int, ...]) -> bool:
    """Whether `x` may be overwritten: floats have storage of their own, stored fields have not."""
    return x.dtype == np.float64 and x.shape == shape and value.has_one_use()


def _absolute(step: Step) -> Step:
    """The step, with magnitudes in place of floats."""

    def run(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
        y = step(op, args)
        return np.abs(y) if isinstance(_element(op.results[0].type), AnyFloat) else y

    return run


@dataclass(frozen=True)
class Reading:
    """One way to run a decode region."""

    floats: Callable[[Blocks], Blocks]
    """What becomes of a stored float."""
    steps: Mapping[type[Operation], Step]
    """What each op computes."""


VALUES = Reading(
    lambda x: x,
    {
        arith.ConstantOp: _constant,
        arith.AndIOp: _elementwise(np.bitwise_and),
        arith.OrIOp: _elementwise(np.bitwise_or),
        arith.XOrIOp: _elementwise(np.bitwise_xor),
        arith.AddiOp: _elementwise(np.add),
        arith.SubiOp: _elementwise(np.subtract),
        arith.MuliOp: _elementwise(np.multiply),
        arith.ShLIOp: _shift(np.left_shift),
        arith.ShRUIOp: _shift(np.right_shift),
        arith.ShRSIOp: _shift(lambda x, n: (_signed(x) >> _signed(n)).view(x.dtype)),
        arith.AddfOp: _elementwise(np.add),
        arith.SubfOp: _elementwise(np.subtract),
        arith.MulfOp: _elementwise(np.multiply),
        CastOp: _cast,
        ConcatOp: _concat,
        SliceOp: _slice,
        ReshapeOp: _reshape,
        LookupOp: _lookup,
    },
)
"""The values of a block."""

TERMS = Reading(
    np.abs,
    {
        **VALUES.steps,
        arith.ConstantOp: _absolute(_constant),
        arith.SubfOp: _elementwise(np.add),
        CastOp: _absolute(_cast),
        LookupOp: _absolute(_lookup),
    },
)
"""For each value the magnitudes of its terms, summed."""


def _quantum(step: Step) -> Step:
    """The step, with quanta in place of floats."""

    def run(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
        y = step(op, args)
        return quantum(y) if isinstance(_element(op.results[0].type), AnyFloat) else y

    return run


QUANTA = Reading(
    quantum,
    {
        **VALUES.steps,
        arith.ConstantOp: _quantum(_constant),
        arith.AddfOp: _elementwise(np.minimum),
        arith.SubfOp: _elementwise(np.minimum),
        CastOp: _quantum(_cast),
        LookupOp: _quantum(_lookup),
    },
)
"""For each value a number that it and all its terms are multiples of: see `numerics.quantum`."""


def _operand(which: int) -> Step:
    """The sum's operand alone, as if the other were 0."""

    def run(op: Operation, args: tuple[Blocks, ...]) -> Blocks:
        shape = np.broadcast_shapes(*(x.shape for x in args))
        negated = which == 1 and isinstance(op, arith.SubfOp)
        return np.broadcast_to(-args[which] if negated else args[which], shape).copy()

    return run


KINDS = tuple(
    Reading(
        VALUES.floats,
        {**VALUES.steps, arith.AddfOp: _operand(which), arith.SubfOp: _operand(which)},
    )
    for which in (0, 1)
)
"""The two kinds of terms of values that are one sum, such as `d*q` and `m`."""


# === Running a region ===


def decode_blocks(format_: FormatOp, raw: Bytes, count: int, reading: Reading = VALUES) -> Array:
    """The values of `count` stored blocks: (count, block) float64.

    `reading` is `VALUES`, `TERMS` for magnitudes, or `QUANTA` for lowest bits. Raises ValueError
    when `raw` has another size, DiagnosticError for an op or type that has no meaning in a decode
    region.
    """
    data = np.frombuffer(raw, np.uint8)
    if data.size != count * format_.bytes.value.data:
        raise ValueError(f"{count} blocks of {format_.sym_name.data}: got {data.size} bytes")
    fields = data.view(_storage(format_))
    env: dict[SSAValue, Blocks] = {
        argument: _load(fields[name.data], argument.type, reading)
        for argument, name in zip(format_.decode.block.args, format_.fields, strict=True)
    }
    for op in format_.decode.block.ops:
        args = tuple(env[operand] for operand in op.operands)
        if isinstance(op, DecodedOp):
            values = _full(args[0], op.values.type)
            shape = (count, prod(values.shape[1:]))
            return np.broadcast_to(values, (count, *values.shape[1:])).reshape(shape)
        env[op.results[0]] = _step(op, reading)(op, args)
    raise error(f"the decode region of @{format_.sym_name.data} has no infer.decoded")


def _step(op: Operation, reading: Reading) -> Step:
    step = reading.steps.get(type(op))
    if step is None:
        raise error(f"'{op.name}' has no meaning in a decode region", place_of(op))
    return step


_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "<f2",
    Float32Type: "<f4",
    BFloat16Type: "<u2",
}
"""How stored floats are read; NumPy has no bf16, so its bits are."""


def _storage(format_: FormatOp) -> np.dtype[Any]:
    """The block as a NumPy record, fields in file order without padding."""
    fields = zip(format_.fields, format_.decode.block.arg_types, strict=True)
    record = []
    for name, type_ in fields:
        element = _element(type_)
        code = _FLOATS.get(type(element)) or _unsigned(type_)
        record.append((name.data, code, vector_shape(type_)))
    return np.dtype(record)


def _load(field: Blocks, type_: Attribute, reading: Reading) -> Blocks:
    """A stored field as decode regions see it; float64 holds every stored float exactly."""
    if isinstance(_element(type_), BFloat16Type):
        field = (field.astype(np.uint32) << 16).view(np.float32)
    if isinstance(_element(type_), IntegerType):
        # Contiguous, since NumPy is ten times slower on the short rows of a strided field.
        return np.ascontiguousarray(field)
    return reading.floats(field.astype(np.float64))


# === What an implementation may round, from the same region ===


@dataclass(frozen=True)
class Roundings:
    """How a decoded value comes about: by how many float operations, from how many terms."""

    depth: int
    """Float operations on the longest path from a stored field to a value."""
    terms: int
    """Terms of the sum that a value is, products multiplied out: 2 for `d*q + m`."""


def roundings(format_: FormatOp) -> Roundings:
    """The roundings of the worst value of a block."""
    env: dict[SSAValue, Roundings] = dict.fromkeys(format_.decode.block.args, Roundings(0, 1))
    for op in format_.decode.block.ops:
        args = [env[operand] for operand in op.operands]
        depth = max((a.depth for a in args), default=0)
        match op:
            case arith.MulfOp():
                result = Roundings(args[0].depth + args[1].depth + 1, args[0].terms * args[1].terms)
            case arith.AddfOp() | arith.SubfOp():
                result = Roundings(depth + 1, args[0].terms + args[1].terms)
            case DecodedOp():
                return args[0]
            case _:
                result = Roundings(depth, max((a.terms for a in args), default=1))
        env[op.results[0]] = result
    raise error(f"the decode region of @{format_.sym_name.data} has no infer.decoded")


def decode_matrix(
    format_: FormatOp,
    raw: Bytes,
    rows: int,
    cols: int,
    reading: Reading = VALUES,
) -> Array:
    """The values of a matrix whose rows are whole blocks: (rows, cols) float64."""
    block = format_.block.value.data
    if cols % block:
        raise ValueError(f"{cols} columns are no whole blocks of {block} values")
    return decode_blocks(format_, raw, rows * cols // block, reading).reshape(rows, cols)
