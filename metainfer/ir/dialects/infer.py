"""The `infer` dialect: a language model's mathematics, without pointers, threads or files.

Values are builtin tensors whose dynamic dimensions are named (`dims.py`). `tokens` are the tokens
of one step, `seqs` the sequences of a step. State (the KV cache) has value semantics and is used
linearly. Weights, formats, layouts, numeric paths and states are symbols of the module.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    base,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    OpTrait,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.dims import (
    DimsAttr,
    LayersAttr,
    RangesAttr,
    ScheduleAttr,
    sizes,
    verify_dims,
)
from metainfer.ir.syntax import SimpleOp

I64 = IntegerType(64)
Int = IntegerAttr[IntegerType]
F64Attr = FloatAttr[Float64Type]


@irdl_attr_definition
class QuantType(ParametrizedAttribute, TypeAttribute):
    """Element type of a quantised tensor, defined by the `infer.format` of that name."""

    name = "infer.q"
    format: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.format.data)


@irdl_attr_definition
class BatchType(ParametrizedAttribute, TypeAttribute):
    """What a step computes, as int32 vectors; the same for every engine.

    `ids[tokens]`; `pos[tokens]`: position in its sequence; `row[tokens]`: the sequence of a token;
    `q_start[seqs + 1]`: first token of each sequence; `kv_len[seqs]`: positions valid after the
    step; `slot[tokens]`: the state position that a token writes.
    """

    name = "infer.batch"


@irdl_attr_definition
class StateType(ParametrizedAttribute, TypeAttribute):
    """A value of the state class defined by an `infer.state` op: `!infer.state<@kv>`."""

    name = "infer.state"
    state: SymbolRefAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [SymbolRefAttr(parser.parse_symbol_name())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_symbol_name(self.state.root_reference.data)


class Elementwise(OpTrait):
    """Result element i depends on operand elements i only, so it may be written in their place."""


class MathOp(SimpleOp):
    """Base of the ops that compute: tensors in, tensors out, no effects."""

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            verify_dims(value.type)
            if isinstance(value.type, TensorType):
                _expect(bool(sizes(value.type)), "a tensor has dimensions here", value.type)
        self.verify_shapes()

    def verify_shapes(self) -> None:
        """Check the op's own shape rule; the dims of all types have been checked."""


def _expect(ok: bool, rule: str, *types: Attribute) -> None:
    if not ok:
        raise VerifyException(f"{rule}; got {', '.join(map(str, types))}")


def _same_rows(x: Attribute, y: Attribute) -> bool:
    return sizes(x)[:-1] == sizes(y)[:-1]


# === Symbols: what is imported from contracts, and what a model has ===


@irdl_op_definition
class FormatOp(SimpleOp):
    """A storage format: `decode` turns the fields of one block into its values.

    ```mlir
    infer.format @pair attributes {block = 2, bytes = 4, contract = "quant/pair", \
fields = ["d", "q"], hash = "00", type_id = 99} {
    ^bb0(%d: f16, %q: vector<2xi8>):
      %df = infer.cast %d : vector<2xf32>
      %qf = infer.cast %q {signed} : vector<2xf32>
      %w = arith.mulf %df, %qf : vector<2xf32>
      infer.decoded %w
    }
    ```
    """

    name = "infer.format"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    contract = prop_def(StringAttr)
    hash = prop_def(StringAttr)
    type_id = prop_def(Int)
    """Number of the format in GGUF files."""
    block = prop_def(Int)
    """Values per block."""
    bytes = prop_def(Int)
    """Stored bytes per block."""
    fields = prop_def(ArrayAttr[StringAttr])
    """Names of the stored fields, in file order; their types are the block arguments'."""
    decode = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def verify_(self) -> None:
        block = self.decode.block
        _expect(
            len(block.args) == len(self.fields), "one block argument per field", *block.arg_types
        )
        total = sum(field_bytes(t) for t in block.arg_types)
        if total != self.bytes.value.data:
            raise VerifyException(
                f"fields take {total} bytes, the block has {self.bytes.value.data}"
            )
        end = block.last_op
        if isinstance(end, DecodedOp):
            count = prod(vector_shape(end.values.type))
            if count != self.block.value.data:
                raise VerifyException(
                    f"{count} values are decoded, the block has {self.block.value.data}"
                )


def field_bytes(type_: Attribute) -> int:
    """Stored bytes of a format field: a scalar or a vector of integers or floats."""
    count = 1
    if isinstance(type_, VectorType):
        for size in type_.get_shape():
            count *= size
        type_ = cast(Attribute, type_.element_type)
    width = getattr(type_, "bitwidth", None)
    if not isinstance(width, int) or width % 8:
        raise VerifyException(f"{type_} is no storage type")
    return count * width // 8


@irdl_op_definition
class DecodedOp(SimpleOp):
    """Ends a `decode` region with the values of the block, as one f32 vector."""

    name = "infer.decoded"
    values = operand_def(VectorType)
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(FormatOp)))


@irdl_op_definition
class CastOp(SimpleOp):
    """Convert each element of a `decode` region's value, exactly, to the result's element type.

    Integers are unsigned unless `signed`. The input's shape is a prefix of the result's; what is
    missing is filled by repetition, so a scalar becomes a vector of equal elements.

    ```mlir
    %d = "test.values"() : () -> (f16)
    %v = infer.cast %d : vector<32xf32>
    ```
    """

    name = "infer.cast"
    x = operand_def()
    signed = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given, wanted = vector_shape(self.x.type), vector_shape(self.result.type)
        _expect(given == wanted[: len(given)], "shape must be a prefix", self.x.type)


def vector_shape(type_: Attribute) -> tuple[int, ...]:
    """Shape of a vector type, `()` of a scalar."""
    return type_.get_shape() if isinstance(type_, VectorType) else ()


@irdl_op_definition
class ConcatOp(SimpleOp):
    """Join vectors of a `decode` region along dimension `axis` (default 0).

    ```mlir
    %a, %b = "test.values"() : () -> (vector<4x1x32xi8>, vector<4x1x32xi8>)
    %c = infer.concat %a, %b {axis = 1 : i64} : vector<4x2x32xi8>
    ```
    """

    name = "infer.concat"
    parts = var_operand_def(VectorType)
    axis = opt_prop_def(Int)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def along(self) -> int:
        """The dimension that grows."""
        return self.axis.value.data if self.axis is not None else 0

    def verify_(self) -> None:
        shapes = [vector_shape(p.type) for p in self.parts]
        whole, axis = vector_shape(self.result.type), self.along()
        if not 0 <= axis < len(whole) or any(len(s) != len(whole) for s in shapes):
            raise VerifyException(f"axis {axis} is no dimension of every vector")
        others = {s[:axis] + s[axis + 1 :] for s in (*shapes, whole)}
        _expect(len(others) == 1, "vectors may differ along the axis only", self.result.type)
        total = sum(s[axis] for s in shapes)
        _expect(total == whole[axis], "lengths must add up", self.result.type)


@irdl_op_definition
class SliceOp(SimpleOp):
    """Consecutive elements of the first dimension, from `offset` on, as many as the result has.

    ```mlir
    %x = "test.values"() : () -> (vector<12xi8>)
    %y = infer.slice %x {offset = 4 : i64} : vector<4xi8>
    ```
    """

    name = "infer.slice"
    x = operand_def(VectorType)
    offset = prop_def(Int)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given, wanted = vector_shape(self.x.type), vector_shape(self.result.type)
        _expect(given[1:] == wanted[1:], "only the first dimension is cut", self.result.type)
        first = self.offset.value.data
        if first < 0 or first + wanted[0] > given[0]:
            raise VerifyException(f"slice leaves the {given[0]} elements of its input")


@irdl_op_definition
class ReshapeOp(SimpleOp):
    """The same elements in the same order, in another shape.

    ```mlir
    %x = "test.values"() : () -> (vector<128xi8>)
    %y = infer.reshape %x : vector<4x32xi8>
    ```
    """

    name = "infer.reshape"
    x = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given, wanted = prod(vector_shape(self.x.type)), prod(vector_shape(self.result.type))
        _expect(given == wanted, "the number of elements stays", self.x.type, self.result.type)


@irdl_op_definition
class LookupOp(SimpleOp):
    """Element `x` of a table, for each x: a codebook. Integers are unsigned and below its length.

    ```mlir
    %x = "test.values"() : () -> (vector<32xi8>)
    %y = infer.lookup %x {table = dense<[-1.0, 0.0, 1.0, 2.0]> : vector<4xf32>} : vector<32xf32>
    ```
    """

    name = "infer.lookup"
    x = operand_def(VectorType)
    table = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given, wanted = vector_shape(self.x.type), vector_shape(self.result.type)
        _expect(given == wanted, "one result per index", self.x.type, self.result.type)


@irdl_op_definition
class LayoutOp(SimpleOp):
    """How the blocks of a weight lie in memory, imported from a layout contract.

    `lanes` output rows lie side by side: element `e` of field `f` of the block `b` of row `r` is
    at `[r / lanes][b][e][r % lanes]` of the stream of `f`; rows are padded with zeros.

    ```mlir
    infer.layout @rows16 {align = 64, contract = "layout/rows16", hash = "00", lanes = 16}
    ```
    """

    name = "infer.layout"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    contract = prop_def(StringAttr)
    hash = prop_def(StringAttr)
    lanes = prop_def(Int)
    align = prop_def(Int)
    """Alignment of each stream in bytes."""
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class PathOp(SimpleOp):
    """A numeric path: where a kernel rounds and in which order it sums, from its contract.

    ```mlir
    infer.path @f32_rows16 {accumulate = "f32", contract = "numeric_path/f32_rows16", fma = true, \
hash = "00", order = "k ascending, lanes are output rows"}
    ```
    """

    name = "infer.path"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    contract = prop_def(StringAttr)
    hash = prop_def(StringAttr)
    accumulate = prop_def(StringAttr)
    fma = prop_def(IntegerAttr[IntegerType])
    order = prop_def(StringAttr)
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class WeightOp(SimpleOp):
    """A tensor of the checkpoint, or one per layer; `{layer}` in `source` is the layer number.

    `select-layouts` names the layout of the packed copy as the encoding of `type`.

    ```mlir
    infer.weight @attn_q {layers = #infer.layers<0 to 29>, slot = "attn_q", \
source = "blk.{layer}.attn_q.weight", type = tensor<576x576x!infer.q<"q4_1">>}
    ```
    """

    name = "infer.weight"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(TensorType)
    source = prop_def(StringAttr)
    slot = prop_def(StringAttr)
    """Name of the weight in its family, the same for layers of every kind."""
    layers = opt_prop_def(LayersAttr)
    traits = traits_def(SymbolOpInterface())

    def tensor_name(self, layer: int | None) -> str:
        """Name of the checkpoint tensor that holds this weight in `layer`."""
        return self.source.data.replace("{layer}", str(layer))


@irdl_op_definition
class StateOp(SimpleOp):
    """One class of state slabs: what a token keeps for later tokens, per layer.

    ```mlir
    infer.state @kv {k = tensor<3x64xf32>, layers = #infer.layers<0 to 29>, v = tensor<3x64xf32>}
    ```

    With a `window`, only that many tokens before and with a token matter to it. `select-layouts`
    adds the layout of a slab, the longest `context` and the `room` for tokens in a slab: all of
    the context, or a ring that the window and one step fit into (position p lies at p modulo room).
    """

    name = "infer.state"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    k = prop_def(TensorType)
    """Keys of one token: (kv_heads, head_dim)."""
    v = prop_def(TensorType)
    layers = prop_def(LayersAttr)
    window = opt_prop_def(Int)
    layout = opt_prop_def(SymbolRefAttr)
    context = opt_prop_def(Int)
    room = opt_prop_def(Int)
    traits = traits_def(SymbolOpInterface())

    def slots(self) -> int:
        """Tokens that a slab has room for; the layout must have been selected."""
        if self.room is None:
            raise VerifyException(f"state @{self.sym_name.data} has no layout yet")
        return self.room.value.data

    def is_ring(self) -> bool:
        """Whether later tokens take the place of earlier ones."""
        return self.context is not None and self.slots() < self.context.value.data

    def bytes_per_token(self) -> int:
        """Bytes that one token takes in one layer."""
        return sum(field_bytes(t.element_type) * _count(t) for t in (self.k, self.v))


def _count(type_: TensorType[Attribute]) -> int:
    total = 1
    for size in type_.get_shape():
        total *= size
    return total


# === Values ===


@irdl_op_definition
class WeightRefOp(MathOp):
    """The weight of this layer as a value.

    ```mlir
    %w = infer.weight_ref @attn_norm : tensor<576xf32>
    ```
    """

    name = "infer.weight_ref"
    SYMBOL: ClassVar[str | None] = "weight"
    weight = prop_def(SymbolRefAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class EmbedOp(MathOp):
    """Rows of a table: `y[t, :] = w[ids[t], :]`.

    ```mlir
    %b, %w = "test.values"() : () -> (!infer.batch, tensor<100x32xf32>)
    %x = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "infer.embed"
    batch = operand_def(BatchType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        y, w = self.result.type, self.weight.type
        _expect(len(sizes(w)) == 2, "the table is a matrix", w)
        _expect(sizes(y)[-1] == sizes(w)[-1], "result and table need one width", y, w)


@irdl_op_definition
class RmsNormOp(MathOp):
    """`y[t, i] = x[t, i] / sqrt(mean_j(x[t, j]^2) + eps) * w[i]`, for each run of len(w) columns.

    A weight as long as a row normalises the row; one as long as a head normalises each head.

    ```mlir
    %x, %w = "test.values"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<32xf32>)
    %y = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "infer.rms_norm"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    eps = prop_def(FloatAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        x, w, y = self.x.type, self.weight.type, self.result.type
        _expect(x == y, "result has the type of the input", x, y)
        width, run = sizes(x)[-1], sizes(w)[0]
        whole = isinstance(width, int) and isinstance(run, int) and width % run == 0
        _expect(len(sizes(w)) == 1 and whole, "weight's length divides the columns", w, x)


@irdl_op_definition
class LinearOp(MathOp):
    """`y[t, r] = sum_k x[t, k] * w[r, k]`, plus `bias[r]` where there is a third operand.

    ```mlir
    %x, %w = "test.values"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, \
tensor<64x32x!infer.q<"q8_0">>)
    %y = infer.linear %x, %w : tensor<?x64xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "infer.linear"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        x, w, y = self.x.type, self.weight.type, self.result.type
        _expect(len(sizes(w)) == 2, "the weight is a matrix", w)
        if self.bias is not None:
            b = self.bias.type
            _expect(sizes(b) == sizes(w)[:1], "bias has one element per row of the weight", b, w)
        _expect(sizes(x)[-1] == sizes(w)[-1], "input and weight need one inner size", x, w)
        _expect(_same_rows(x, y) and sizes(y)[-1] == sizes(w)[0], "result is (x rows, w rows)", y)


@irdl_op_definition
class RopeOp(MathOp):
    """Rotate pairs of each head by `pos[t] * theta^(-2i / head_dim)`, i the pair.

    `pairing` is `interleaved` (elements 2i, 2i + 1) or `half` (elements i, i + head_dim / 2).

    ```mlir
    %x, %b = "test.values"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
    %y = infer.rope %x, %b {head_dim = 16 : i64, pairing = "half", theta = 1.0e+05 : f64} \
: tensor<?x32xf32, #infer.dims<tokens, _>>
    ```
    """

    PAIRINGS: ClassVar = ("interleaved", "half")
    name = "infer.rope"
    x = operand_def(TensorType)
    batch = operand_def(BatchType)
    head_dim = prop_def(Int)
    theta = prop_def(FloatAttr)
    pairing = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        x, y = self.x.type, self.result.type
        _expect(x == y, "result has the type of the input", x, y)
        width, head = sizes(x)[-1], self.head_dim.value.data
        if head < 2 or head % 2 or not isinstance(width, int) or width % head:
            raise VerifyException(f"head_dim {head} must be even and divide the width {width}")
        if self.pairing.data not in self.PAIRINGS:
            raise VerifyException(f"pairing '{self.pairing.data}' is none of {self.PAIRINGS}")


@irdl_op_definition
class StateAppendOp(MathOp):
    """The state in which `slot[t]` of this layer holds `k[t, :]` and `v[t, :]`.

    ```mlir
    %s, %k, %v, %b = "test.values"() : () -> (!infer.state<@kv>, \
tensor<?x192xf32, #infer.dims<tokens, _>>, tensor<?x192xf32, #infer.dims<tokens, _>>, !infer.batch)
    %s1 = infer.state_append %s, %k, %v, %b : !infer.state<@kv>
    ```
    """

    name = "infer.state_append"
    state = operand_def(StateType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)
    batch = operand_def(BatchType)
    result = result_def(StateType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        s, r = self.state.type, self.result.type
        _expect(s == r, "result is the state that came in", s, r)
        _expect(_same_rows(self.k.type, self.v.type), "k and v have the same tokens", self.k.type)


@irdl_op_definition
class AttendOp(MathOp):
    """`y[t, h] = softmax_j(scale * q[t, h] . k[j, g]) . v[j, g]` over the keys j that t may see.

    `g = h / (q_heads / kv_heads)`; mask `causal`: `j <= pos[t]` in the sequence of t, and with a
    `window` also `j > pos[t] - window`.

    ```mlir
    %q, %s, %b = "test.values"() : () -> (tensor<?x576xf32, #infer.dims<tokens, _>>, \
!infer.state<@kv>, !infer.batch)
    %y = infer.attend %q, %s, %b {head_dim = 64 : i64, kv_heads = 3 : i64, mask = "causal", \
q_heads = 9 : i64, scale = 0.125 : f64} : tensor<?x576xf32, #infer.dims<tokens, _>>
    ```
    """

    MASKS: ClassVar = ("causal",)
    name = "infer.attend"
    q = operand_def(TensorType)
    state = operand_def(StateType)
    batch = operand_def(BatchType)
    q_heads = prop_def(Int)
    kv_heads = prop_def(Int)
    head_dim = prop_def(Int)
    scale = prop_def(FloatAttr)
    mask = prop_def(StringAttr)
    window = opt_prop_def(Int)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        if self.window is not None and self.window.value.data < 1:
            raise VerifyException("a window holds at least the token itself")
        q_heads, kv_heads = self.q_heads.value.data, self.kv_heads.value.data
        if kv_heads < 1 or q_heads % kv_heads:
            raise VerifyException(f"{kv_heads} KV heads do not divide {q_heads} query heads")
        if self.mask.data not in self.MASKS:
            raise VerifyException(f"mask '{self.mask.data}' is none of {self.MASKS}")
        q = self.q.type
        width = q_heads * self.head_dim.value.data
        _expect(sizes(q)[-1] == width, f"the query is q_heads x head_dim = {width} wide", q)
        _expect(q == self.result.type, "result has the type of the query", self.result.type)


@irdl_op_definition
class AddOp(MathOp):
    """`y = a + b`, element by element.

    ```mlir
    %a, %b = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>, \
tensor<?x8xf32, #infer.dims<tokens, _>>)
    %y = infer.add %a, %b : tensor<?x8xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "infer.add"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())

    def verify_shapes(self) -> None:
        a, b, y = self.a.type, self.b.type, self.result.type
        _expect(a == b == y, "operands and result have one type", a, b, y)


@irdl_op_definition
class GatedActOp(MathOp):
    """`y = act(gate) * up`, element by element.

    `silu(z) = z / (1 + exp(-z))`;
    `gelu_tanh(z) = z / (1 + exp(-2 c (z + 0.044715 z^3)))`, `c = sqrt(2 / pi)`, which equals
    `0.5 z (1 + tanh(c (z + 0.044715 z^3)))`.

    ```mlir
    %g, %u = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>, \
tensor<?x8xf32, #infer.dims<tokens, _>>)
    %y = infer.gated_act %g, %u {act = "silu"} : tensor<?x8xf32, #infer.dims<tokens, _>>
    ```
    """

    ACTS: ClassVar = ("silu", "gelu_tanh")
    name = "infer.gated_act"
    gate = operand_def(TensorType)
    up = operand_def(TensorType)
    act = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())

    def verify_shapes(self) -> None:
        g, u, y = self.gate.type, self.up.type, self.result.type
        _expect(g == u == y, "operands and result have one type", g, u, y)
        if self.act.data not in self.ACTS:
            raise VerifyException(f"act '{self.act.data}' is none of {self.ACTS}")


@irdl_op_definition
class ScaleOp(MathOp):
    """`y = factor * x`, element by element.

    ```mlir
    %x = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>)
    %y = infer.scale %x {factor = 2.5e+01 : f64} : tensor<?x8xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "infer.scale"
    x = operand_def(TensorType)
    factor = prop_def(FloatAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())

    def verify_shapes(self) -> None:
        x, y = self.x.type, self.result.type
        _expect(x == y, "result has the type of the input", x, y)


@irdl_op_definition
class SelectLastOp(MathOp):
    """The last token of each sequence: `y[s, :] = x[q_start[s + 1] - 1, :]`.

    ```mlir
    %x, %b = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>, !infer.batch)
    %y = infer.select_last %x, %b : tensor<?x8xf32, #infer.dims<seqs, _>>
    ```
    """

    name = "infer.select_last"
    x = operand_def(TensorType)
    batch = operand_def(BatchType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        x, y = self.x.type, self.result.type
        _expect(sizes(y) == ("seqs", *sizes(x)[1:]), "result is (seqs, columns of x)", y, x)


# === Structure ===


@irdl_op_definition
class LayersOp(MathOp):
    """Run the layer functions of `schedule` in order, each on its own slab of its states.

    A layer function takes x, the batch and those of the states that it names, and returns x and
    the same states.

    ```mlir
    %x, %b, %s = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>, !infer.batch, \
!infer.state<@kv>)
    %y, %s1 = infer.layers %x, %b, %s {schedule = #infer.schedule<@layer 0 to 29>} \
: tensor<?x8xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
    ```
    """

    name = "infer.layers"
    x = operand_def(TensorType)
    batch = operand_def(BatchType)
    states = var_operand_def(StateType)
    schedule = prop_def(ScheduleAttr)
    result = result_def(TensorType)
    next_states = var_result_def(StateType)
    traits = traits_def(Pure())

    def verify_shapes(self) -> None:
        given, wanted = [s.type for s in self.states], [s.type for s in self.next_states]
        _expect(given == wanted, "each state has its successor", *given, *wanted)
        _expect(self.x.type == self.result.type, "x keeps its type", self.result.type)


@irdl_op_definition
class GroupOp(SimpleOp):
    """Ops that become one kernel; `rule` is the fusion contract that allows it. Changes no op.

    ```mlir
    %x, %w = "test.values"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<64x32xf32>)
    %y = infer.group attributes {rule = "fusion/example"} \
: tensor<?x64xf32, #infer.dims<tokens, _>> {
      %0 = infer.linear %x, %w : tensor<?x64xf32, #infer.dims<tokens, _>>
      infer.yield %0
    }
    ```
    """

    name = "infer.group"
    rule = prop_def(StringAttr)
    outputs = var_result_def(base(TensorType) | base(StateType))
    body = region_def("single_block")
    traits = traits_def(Pure())

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("a group ends with infer.yield")
        given, wanted = [o.type for o in last.operands], [r.type for r in self.results]
        _expect(given == wanted, "the group yields its results", *given)


@irdl_op_definition
class YieldOp(SimpleOp):
    """Ends a group with its results."""

    name = "infer.yield"
    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(GroupOp)))


Infer = Dialect(
    "infer",
    [
        FormatOp,
        DecodedOp,
        CastOp,
        ConcatOp,
        SliceOp,
        ReshapeOp,
        LookupOp,
        LayoutOp,
        PathOp,
        WeightOp,
        StateOp,
        WeightRefOp,
        EmbedOp,
        RmsNormOp,
        LinearOp,
        RopeOp,
        StateAppendOp,
        AttendOp,
        AddOp,
        GatedActOp,
        ScaleOp,
        SelectLastOp,
        LayersOp,
        GroupOp,
        YieldOp,
    ],
    [QuantType, BatchType, StateType, DimsAttr, RangesAttr, LayersAttr, ScheduleAttr],
)
