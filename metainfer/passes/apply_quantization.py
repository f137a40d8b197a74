"""`apply-quantization`: the formats of weights, activations and state.

before: infer.state @kv {k = tensor<3x64xf32>, ...}
after:  the state's element type is the decided one; weights keep the checkpoint's formats
        (`as_stored`) and activations stay f32, so no `infer.quantize` is needed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import Float16Type, Float32Type, ModuleOp, TensorType
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.base import Choice, MetaPass, decide
from metainfer.passes.pins import pinned

STATE_TYPES: dict[str, Attribute] = {"f32": Float32Type(), "f16": Float16Type()}


@dataclass(frozen=True)
class ApplyQuantization(MetaPass):
    """Sets the state's element type; checks that the other formats are ones it can apply."""

    name = "apply-quantization"
    summary: ClassVar[str] = "set the formats of weights, activations and state"
    requires: ClassVar[str] = "expand-model"
    weights: str | None = None
    """Format of the weights (`as_stored`); default: what the plan says."""
    acts: str | None = None
    """Format of activations (`f32`); default: what the plan says."""
    kv: str | None = None
    """Format of the state (`f32`, `f16`); default: what the plan says."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        return [
            pinned(
                module,
                "model",
                "weights",
                ("as_stored",),
                "as_stored",
                "rule: the checkpoint's bits are kept",
            ),
            pinned(module, "model", "acts", ("f32",), "f32", "rule: exact activations"),
            pinned(module, "kv", "kv", ("f32", "f16"), "f32", "rule: exact state"),
        ]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        states = all_of(op, infer.StateOp)
        self.need(bool(states))
        self._expect(op, "model", "weights", self.weights, "as_stored")
        self._expect(op, "model", "acts", self.acts, "f32")
        kv = decide(op, "kv", "kv", lambda: "f32", self.kv)
        if kv not in STATE_TYPES:
            raise error(f"state type '{kv}' is none of {', '.join(STATE_TYPES)}")
        for state in states:
            shape = state.k.get_shape()
            state.properties["k"] = TensorType(STATE_TYPES[kv], shape)
            state.properties["v"] = TensorType(STATE_TYPES[kv], shape)

    def _expect(
        self, module: ModuleOp, site: str, what: str, option: str | None, only: str
    ) -> None:
        value = decide(module, site, what, lambda: only, option)
        if value != only:
            raise error(f"{what} '{value}' has no mechanism yet", help=f"supported: {only}")
