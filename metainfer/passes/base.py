"""What our passes have beyond xDSL's: a summary, a precondition, and the choices they offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import plan
from metainfer.ir.symbols import all_of

if TYPE_CHECKING:
    from metainfer.knowledge.base import Knowledge


STAGE = "metainfer.stage"
"""Attribute of a module: the pass of our pipeline that ran last, for a dump to resume after."""


@dataclass(frozen=True)
class Choice:
    """One decision that a pass offers: at `site`, `what` may be any of `alternatives`.

    `value` and `right` are what the spec pins or bounds, else what the rule policy takes.
    """

    site: str
    what: str
    value: str
    alternatives: tuple[str, ...]
    right: str
    by: str
    because: str


class MetaPass(ModulePass):
    """A pass of the pipeline."""

    summary: ClassVar[str]
    requires: ClassVar[str] = ""
    """Name of the pass that must have run before."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        """The decisions this pass would take on `module`, in a stable order."""
        return []

    @classmethod
    def need(cls, ok: bool) -> None:
        """Refuse a module that the pass before has not prepared."""
        if not ok:
            raise error(f"pass {cls.name} needs: run {cls.requires} first")


def decided(module: ModuleOp, site: str, what: str) -> str | None:
    """The planned value for `what` at `site`, or None on a module without that decision."""
    for op in all_of(module, plan.DecisionOp):
        if (op.site.data, op.what.data) == (site, what):
            return op.value.data
    return None


def decide(
    module: ModuleOp, site: str, what: str, rule: Callable[[], str], option: str | None = None
) -> str:
    """Option before plan before rule."""
    if option is not None:
        return option
    planned = decided(module, site, what)
    return rule() if planned is None else planned


def derived(op: Operation, source: Operation, by: str) -> None:
    """Give `op` the location of what it replaces, marked with the pass that made it."""
    op.location = NameLoc(StringAttr(by), source.location)
