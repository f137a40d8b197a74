"""The interface around passes: before, ran, after, failed.

Instruments see the module and never change it. `before` hooks run in the order of the list, the
others in reverse, so that an instrument encloses those after it. A `Check` may also refuse what a
pass made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Step:
    """One pass of a run, about to run or done."""

    number: int
    """From 1."""
    passes: tuple[ModulePass, ...]
    """All passes of the run."""
    module: ModuleOp
    ctx: Context

    @property
    def one(self) -> ModulePass:
        """The pass of this step."""
        return self.passes[self.number - 1]

    @property
    def name(self) -> str:
        """Name of the pass."""
        return self.one.name

    @property
    def rest(self) -> tuple[ModulePass, ...]:
        """This pass and those after it."""
        return self.passes[self.number - 1 :]


class Instrument:
    """Watches a run; every hook does nothing unless a subclass says otherwise."""

    def start(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """The run begins; `module` is sound."""

    def before(self, step: Step) -> None:
        """The pass is about to run."""

    def ran(self, step: Step) -> None:
        """The pass returned; what it made is still unchecked."""

    def after(self, step: Step) -> None:
        """The pass is done and its result was found sound."""

    def failed(self, step: Step, problem: Exception) -> None:
        """The pass raised `problem`, or a check refused its result with it."""


class Check(Instrument):
    """Something that must hold after every pass."""

    def input(self, module: ModuleOp, ctx: Context) -> None:
        """Raise DiagnosticError if a module that is about to enter the passes is not sound."""

    def check(self, step: Step) -> None:
        """Raise DiagnosticError if the pass of `step` broke what is checked."""
