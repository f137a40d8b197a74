"""The `engine` dialect: a program over bytes. Where everything lies, what runs when, who waits.

Inside `engine.program`, packs, states and buffers are symbols; kernel calls name what they read
and write. Parts of one call run on different threads; `engine.barrier` is where all parts meet.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.traits import NoTerminator, SymbolOpInterface, SymbolTable

from metainfer.ir.dims import LayersAttr, RangesAttr, ScheduleAttr
from metainfer.ir.syntax import SimpleOp

Int = IntegerAttr[IntegerType]


@irdl_op_definition
class ProgramOp(SimpleOp):
    """Everything a generated engine is made of.

    ```mlir
    engine.program @tiny_program attributes {package = "tiny", threads = 2 : i64} {
      engine.barrier
    }
    ```
    """

    name = "engine.program"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    package = prop_def(StringAttr)
    """Name of the engine and of the Python package that it becomes."""
    threads = prop_def(Int)
    """Most threads that a step is shared between."""
    arena = opt_prop_def(Int)
    """Bytes of the scratch arena, set by `plan-memory`."""
    weights = opt_prop_def(Int)
    """Bytes of the packed weights."""
    states = opt_prop_def(Int)
    """Bytes of all state slabs."""
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), SymbolTable(), NoTerminator())


@irdl_op_definition
class PackOp(SimpleOp):
    """A weight in the packed file: per layer one stretch of `bytes`, with a stream per field.

    `streams` maps each field to its offset from the start of the layer's stretch.

    ```mlir
    engine.pack @attn_q {bytes = 207360 : i64, layers = #infer.layers<0 to 29>, offset = 0 : i64, \
streams = {d = 0 : i64, m = 20736 : i64, qs = 41472 : i64}}
    ```
    """

    name = "engine.pack"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    layers = opt_prop_def(LayersAttr)
    streams = prop_def(DictionaryAttr)
    bytes = prop_def(Int)
    offset = prop_def(Int)
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class StateOp(SimpleOp):
    """The slabs of a state class: per layer one stretch of `bytes`, for `context` tokens.

    A `ring` holds the latest of them only, of which a token sees a `window`.

    ```mlir
    engine.state @kv {bytes = 3145728 : i64, context = 2048 : i64, \
layers = #infer.layers<0 to 29>, offset = 0 : i64}
    ```
    """

    name = "engine.state"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    layers = prop_def(LayersAttr)
    context = prop_def(Int)
    ring = opt_prop_def(Int)
    window = opt_prop_def(Int)
    bytes = prop_def(Int)
    offset = prop_def(Int)
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class BufferOp(SimpleOp):
    """A value between kernels; `plan-memory` gives it a slot in the arena.

    ```mlir
    engine.buffer @x {offset = 0 : i64, type = tensor<?x576xf32, #infer.dims<tokens, _>>}
    ```
    """

    name = "engine.buffer"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(TensorType)
    offset = opt_prop_def(Int)
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class CallOp(SimpleOp):
    """Run a kernel on packs, states, buffers and the batch (`unit`); `outs` are written.

    ```mlir
    engine.call @decode_add {ins = [@x, @o], outs = [@x]}
    ```
    """

    name = "engine.call"
    SYMBOL: ClassVar[str | None] = "callee"
    callee = prop_def(SymbolRefAttr)
    ins = prop_def(ArrayAttr[SymbolRefAttr | UnitAttr])
    outs = prop_def(ArrayAttr[SymbolRefAttr])


@irdl_op_definition
class BarrierOp(SimpleOp):
    """All parts have finished everything before, and see it, before any goes on.

    ```mlir
    engine.barrier
    ```
    """

    name = "engine.barrier"


@irdl_op_definition
class LayersOp(SimpleOp):
    """Run blocks once per layer, in the order of the schedule.

    ```mlir
    engine.layers {schedule = #infer.schedule<@decode_layer 0 to 29>}
    ```
    """

    name = "engine.layers"
    schedule = prop_def(ScheduleAttr)


@irdl_op_definition
class BlockOp(SimpleOp):
    """The calls of one kind of layer.

    ```mlir
    engine.block @decode_layer {
      engine.barrier
    }
    ```
    """

    name = "engine.block"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), NoTerminator())


@irdl_op_definition
class EntryOp(SimpleOp):
    """A whole step for batches inside a box of dimensions; `logits` is its result.

    ```mlir
    engine.entry @decode attributes {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, \
logits = @logits} {
      engine.barrier
    }
    ```
    """

    name = "engine.entry"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    dims = prop_def(RangesAttr)
    logits = prop_def(SymbolRefAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), NoTerminator())


@irdl_op_definition
class RuntimeOp(SimpleOp):
    """Features of the host that the spec asked for.

    ```mlir
    engine.runtime {features = ["sampling.greedy", "sampling.temperature"]}
    ```
    """

    name = "engine.runtime"
    features = prop_def(ArrayAttr[StringAttr])


Engine = Dialect(
    "engine",
    [
        ProgramOp,
        PackOp,
        StateOp,
        BufferOp,
        CallOp,
        BarrierOp,
        LayersOp,
        BlockOp,
        EntryOp,
        RuntimeOp,
    ],
    [],
)
