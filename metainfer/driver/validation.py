"""The pass gate: what a module means does not change from before a pass to after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.equivalence import compare_modules
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.passes.instruments.base import Check, Step


@dataclass
class Validate(Check):
    """After every pass, interprets the functions of the module before and after it.

    Nothing is compared where one side has no function to run: before `expand-model`, and once
    `schedule` has made a program of them.
    """

    seed: int = 0
    calls: int = 0
    """How many calls were compared so far."""
    _before: ModuleOp | None = field(default=None, init=False)

    def before(self, step: Step) -> None:
        self._before = step.module.clone()

    def check(self, step: Step) -> None:
        assert self._before is not None
        found = compare_modules(self._before, step.module, seed=self.seed)
        self.calls += found.calls
        if found.differences:
            raise DiagnosticError(*(d.diagnostic() for d in found.differences))
