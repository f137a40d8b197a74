"""Who writes kernel bodies. The rules always have one."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.lower import lower
from metainfer.codegen.c.sources import LANGUAGE
from metainfer.ir.dialects import kernel
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import host_isa
from metainfer.passes.base import decide
from metainfer.passes.context import Body


class RuleProvider:
    """Lowers the semantics region by rule; correct for every contract."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge

    def propose(self, func: kernel.FuncOp, module: ModuleOp) -> Body:
        """The rule-based body; DiagnosticError where an op has no lowering."""
        isa = decide(module, "model", "isa", lambda: host_isa(self.knowledge))
        return Body(tuple(lower(func, module)), f"{LANGUAGE}:{isa}", "rule")
