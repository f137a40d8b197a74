"""What a kernel is given: ranges of its numbers and sizes of its buffers, as the host keeps them.

The host checks every request before it makes a step (`codegen/host/templates/runtime.c.in`): ids
are below the vocabulary, positions below the context; a token's slot is its position, so that a
ring's body takes it modulo its room. A step has at least one token of each of its sequences.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute

from metainfer.codegen.c.abi import CArg, signature
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup
from metainfer.passes.sizes import padded_context, stream_bytes, weight_format
from metainfer.verify.cases import Facts
from metainfer.verify.static.affine import Form
from metainfer.verify.static.integers import Integers
from metainfer.verify.static.values import INT, TYPES, Batch, Buffer, CType, Num, Pointer, Value

MOST_PARTS = 64
"""Threads that may share a step (the range of the schedule's `threads`)."""


Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Interface:
    """What a kernel's type says of its parameters."""

    arguments: Sequence[CArg]
    ranges: Ranges
    """Of the named dimensions."""
    bytes: Mapping[str, tuple[int, tuple[str, ...]]]
    """Of each pointer's buffer: a number, times named dimensions."""
    limits: Mapping[str, int]
    """One past the largest element of vectors of the batch."""

    @staticmethod
    def of(func: kernel.FuncOp, module: ModuleOp) -> Interface:
        """That of a kernel."""
        arguments = signature(func, module)
        inputs = zip(func.arguments, func.function_type.inputs, strict=True)
        outputs = zip(func.outputs, func.function_type.outputs, strict=True)
        types = {n.data: t for n, t in (*outputs, *inputs)}
        sizes_ = {
            a.name: _bytes(a, types[a.source], module)
            for a in arguments
            if a.ctype.endswith("*") and a.role != "batch"
        }
        return Interface(arguments, func.dims.as_dict(), sizes_, _limits(func, module))

    def key(self) -> Hashable:
        """Equal for interfaces that differ in their ranges only."""
        named = (tuple(m.items()) for m in (self.bytes, self.limits))
        return (*self.arguments, *named, *self.ranges)

    @staticmethod
    def covering(alike: Sequence[Interface]) -> Interface:
        """The interface with all calls of several that have the same key."""
        cover = {
            name: (min(i.ranges[name][0] for i in alike), max(i.ranges[name][1] for i in alike))
            for name in alike[0].ranges
        }
        return replace(alike[0], ranges=cover)


def _element(arg: CArg) -> CType:
    return TYPES[arg.ctype.removeprefix("const ").removesuffix(" *")]


def _bytes(arg: CArg, type_: Attribute, module: ModuleOp) -> tuple[int, tuple[str, ...]]:
    if isinstance(type_, infer.StateType):
        state = lookup(module, type_.state.root_reference.data, infer.StateOp)
        token = state.k if arg.role == "state_k" else state.v
        count = padded_context(state.slots()) * prod(token.get_shape())
        return count * _element(arg).size, ()
    assert isinstance(type_, TensorType)
    if arg.role == "packed":
        return _stream(str(arg.field), type_, module), ()
    fixed = prod(d for d in sizes(type_) if isinstance(d, int))
    return fixed * _element(arg).size, tuple(d for d in sizes(type_) if isinstance(d, str))


def _stream(field_: str, type_: TensorType[Attribute], module: ModuleOp) -> int:
    assert isinstance(type_.encoding, SymbolRefAttr)
    layout = lookup(module, type_.encoding.root_reference.data, infer.LayoutOp)
    rows, cols = (int(n) for n in type_.get_shape())
    format_ = weight_format(type_, module)
    return stream_bytes(rows, cols, format_, layout.lanes.value.data)[field_]


def _limits(func: kernel.FuncOp, module: ModuleOp) -> dict[str, int]:
    context = Facts.of(func, module).context
    limits = {"pos": context, "slot": context, "kv_len": context + 1}
    for op in func.semantics.block.ops:
        if isinstance(op, infer.EmbedOp):
            limits["ids"] = int(sizes(op.weight.type)[0])
    return limits


@dataclass(frozen=True)
class Given:
    """The parameters of a kernel as values, and what its batch may hold."""

    values: dict[int, Value]
    """By the place of the parameter."""
    fields: dict[str, Value]
    """Of `struct mi_batch`."""
    limits: Mapping[str, int]


def given(interface: Interface, integers: Integers) -> Given:
    """The parameters of a kernel with the ranges and sizes of every call that the ABI allows."""
    dims = _dimensions(interface.ranges, integers)
    values: dict[int, Value] = {}
    for slot, arg in enumerate(interface.arguments):
        if arg.role in ("dim", "part", "parts"):
            values[slot] = Num(dims[arg.source], INT)
        elif arg.role == "batch":
            values[slot] = Batch()
        else:
            fixed, named = interface.bytes[arg.name]
            size = Form.of(fixed)
            for name in named:
                size = integers.product(size, dims[name])
            values[slot] = _pointer(Buffer(arg.name, size, _element(arg), arg.writable))
    return Given(values, _fields(dims), interface.limits)


def _dimensions(ranges: Ranges, integers: Integers) -> dict[str, Form]:
    """A symbol per named dimension, and those of the part: `part <= parts - 1`."""
    space = integers.space
    known = {"tokens": (1, INT.hi), "seqs": (1, INT.hi)} | dict(ranges)
    dims = {name: space.new(name, *bounds) for name, bounds in known.items()}
    space.assume(dims["tokens"].plus(dims["seqs"], -1))
    parts = space.new("parts", 1, MOST_PARTS)
    part = space.new("part", 0, MOST_PARTS - 1)
    space.bound_above(part, parts.shifted(-1))
    (integers.parts,), (integers.part,) = parts.terms, part.terms
    return dims | {"part": part, "parts": parts}


def _fields(dims: Mapping[str, Form]) -> dict[str, Value]:
    tokens, seqs = dims["tokens"], dims["seqs"]
    lengths = dict.fromkeys(("ids", "pos", "row", "slot"), tokens)
    lengths |= {"q_start": seqs.shifted(1), "kv_len": seqs}
    vectors = {
        name: _pointer(Buffer(f"batch->{name}", n.scaled(4), INT, False, field=name))
        for name, n in lengths.items()
    }
    return {"tokens": Num(tokens, INT), "seqs": Num(seqs, INT), **vectors}


def _pointer(buffer: Buffer) -> Pointer:
    return Pointer(buffer, Form.of(0), buffer.element)


def batch_element(field_: str, index: Form, given_: Given, integers: Integers) -> Form:
    """An element of a vector of the batch; the same symbol for the same index.

    `q_start` begins at 0, ends with `tokens` and rises by at least one token from sequence to
    sequence: `i <= q_start[i] <= tokens - (seqs - i)`, and `q_start[i + d] >= q_start[i] + d`.
    """
    space = integers.space
    key = ("element", field_, index.key())
    if known := space.known.get(key):
        return known
    tokens, seqs = (given_.fields[n] for n in ("tokens", "seqs"))
    assert isinstance(tokens, Num) and isinstance(seqs, Num)
    first = 1 if field_ == "kv_len" else 0
    last = given_.limits.get(field_, INT.hi + 1) - 1
    form = space.new(f"{field_}[{space.text(index)}]", first, last)
    if field_ == "row":
        space.bound_above(form, seqs.form.shifted(-1))
    if field_ == "q_start":
        space.bound_below(form, index)
        space.bound_above(form, tokens.form.plus(seqs.form, -1).plus(index))
        _order(form, index, integers)
    space.remember(("index", field_, form.key()), index)
    return space.remember(key, form)


def _order(form: Form, index: Form, integers: Integers) -> None:
    """Bounds of an element of `q_start` by those already read."""
    space = integers.space
    for key, other in list(space.known.items()):
        if not (isinstance(key, tuple) and key[:2] == ("element", "q_start")):
            continue
        (number,) = other.terms
        gap = index.plus(space.known["index", "q_start", other.key()], -1)
        if not gap.terms and gap.const > 0:
            space.bound_below(form, Form({number: 1}, gap.const))
        elif not gap.terms and gap.const < 0:
            space.bound_above(form, Form({number: 1}, gap.const))
