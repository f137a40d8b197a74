"""`plan`: ask every later pass what it could decide, and write down what is decided.

before: a module with functions
after:  one `plan.decision` per choice, with its alternatives, right and author

Pins and bounds of the spec come with the choices; what is left open the rule policy takes, which
is the value that the pass itself would take.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, plan, spec
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.base import Choice, MetaPass
from metainfer.passes.context import knowledge_of, rewrites_of


def deciders() -> list[type[MetaPass]]:
    """The passes that offer choices, in pipeline order."""
    from metainfer.passes.apply_quantization import ApplyQuantization
    from metainfer.passes.fill_kernels import FillKernels
    from metainfer.passes.fuse import Fuse
    from metainfer.passes.schedule import Schedule
    from metainfer.passes.select_layouts import SelectLayouts
    from metainfer.passes.specialize_entries import SpecializeEntries

    return [ApplyQuantization, SpecializeEntries, Fuse, SelectLayouts, FillKernels, Schedule]


def all_choices(module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
    """Every choice of every pass, in pipeline order."""
    return [c for decider in deciders() for c in decider.choices(module, knowledge)]


class PlanPass(MetaPass):
    """Writes the decisions that the rule policy takes."""

    name = "plan"
    summary: ClassVar[str] = "collect the choices of all passes and write the decisions"
    requires: ClassVar[str] = "expand-model"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.need(bool(all_of(op, infer.WeightOp)) and not all_of(op, plan.DecisionOp))
        engines = all_of(op, spec.EngineOp)
        if not engines:
            raise error("there is no spec.engine whose choices could be taken", place_of(op))
        anchor = engines[-1]
        for number, choice in enumerate(all_choices(op, knowledge_of(ctx))):
            rewrites_of(ctx).count(self.name, f"decisions {choice.right}")
            decision = _decision(f"d{number}", choice)
            decision.location = anchor.location
            after = all_of(op, plan.DecisionOp)
            op.body.block.insert_op_after(decision, after[-1] if after else anchor)


def _decision(name: str, choice: Choice) -> plan.DecisionOp:
    return plan.DecisionOp.create(
        properties={
            "sym_name": StringAttr(name),
            "site": StringAttr(choice.site),
            "what": StringAttr(choice.what),
            "value": StringAttr(choice.value),
            "alternatives": ArrayAttr([StringAttr(a) for a in choice.alternatives]),
            "right": StringAttr(choice.right),
            "by": StringAttr(choice.by),
            "because": StringAttr(choice.because),
        }
    )
