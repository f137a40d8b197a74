"""`select-layouts`: one layout per weight and state, the same for all entries.

before: infer.weight @attn_q {type = tensor<576x576x!infer.q<"q4_1">>}
after:  infer.weight @attn_q {type = tensor<576x576x!infer.q<"q4_1">, @rows16>}, every reference
        likewise; infer.state @kv {..., context = 2048, layout = @kv_blocks16, room = 2048}

Vectors stay as they are: there is nothing to lay out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of, symbol_name
from metainfer.knowledge.base import Knowledge
from metainfer.passes.base import Choice, MetaPass, decide
from metainfer.passes.context import knowledge_of
from metainfer.passes.imports import import_layout
from metainfer.passes.pins import view_of
from metainfer.passes.sizes import padded_context
from metainfer.passes.specialize_entries import ranges_of

WEIGHTS, STATE = "rows16", "kv_blocks16"


def _matrices(module: ModuleOp) -> list[infer.WeightOp]:
    return [w for w in all_of(module, infer.WeightOp) if w.type.get_num_dims() == 2]


@dataclass(frozen=True)
class SelectLayouts(MetaPass):
    """Names the layout of each packed matrix in its type, and that of each state."""

    name = "select-layouts"
    summary: ClassVar[str] = "choose one memory layout per weight and state for all entries"
    requires: ClassVar[str] = "expand-model"
    context: int | None = None
    """Tokens that a state has room for; default: the spec's bound."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        weights = [
            Choice(
                str(symbol_name(w)),
                "layout",
                WEIGHTS,
                (WEIGHTS,),
                "chosen",
                "rule",
                f"layout/{WEIGHTS}",
            )
            for w in _matrices(module)
        ]
        states = [
            Choice(
                str(symbol_name(s)), "layout", STATE, (STATE,), "chosen", "rule", f"layout/{STATE}"
            )
            for s in all_of(module, infer.StateOp)
        ]
        return weights + states

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights, knowledge = all_of(op, infer.WeightOp), knowledge_of(ctx)
        self.need(bool(weights))
        types: dict[str, TensorType[Attribute]] = {}
        for weight in _matrices(op):
            name = str(symbol_name(weight))
            layout = decide(op, name, "layout", lambda: WEIGHTS)
            import_layout(op, layout, knowledge)
            packed = TensorType(
                weight.type.element_type, weight.type.get_shape(), SymbolRefAttr(layout)
            )
            types[name] = weight.properties["type"] = packed
        for reference in op.walk():
            if isinstance(reference, infer.WeightRefOp):
                name = reference.weight.root_reference.data
                if name in types:
                    _retype(reference, types[name])
        self._states(op, knowledge)

    def _states(self, module: ModuleOp, knowledge: Knowledge) -> None:
        view = view_of(module)
        context = self.context
        if context is None:
            context = view.max_context if view else None
        self.need(context is not None)
        assert context is not None
        if context < 1:
            raise error(f"context is {context}, want 1 token at least")
        for state in all_of(module, infer.StateOp):
            layout = decide(module, str(symbol_name(state)), "layout", lambda: STATE)
            import_layout(module, layout, knowledge)
            state.properties["layout"] = SymbolRefAttr(layout)
            state.properties["context"] = IntegerAttr(context, i64)
            state.properties["room"] = IntegerAttr(_room(state, context, _chunk(module)), i64)


def _chunk(module: ModuleOp) -> int:
    """Most tokens of one step."""
    functions = all_of(module, func.FuncOp)
    return max((ranges_of(f).get("tokens", (1, 1))[1] for f in functions), default=1)


def _room(state: infer.StateOp, context: int, chunk: int) -> int:
    """Tokens that a slab must hold: all, or what a step's first token sees and the step itself."""
    if state.window is None:
        return context
    ring = padded_context(state.window.value.data + chunk)
    return ring if ring < context else context


def _retype(op: infer.WeightRefOp, type_: Attribute) -> None:
    from xdsl.rewriter import Rewriter

    Rewriter.replace_value_with_new_type(op.result, type_)
