"""The pass gate: what a module means does not change from before a pass to after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.equivalence import compare_modules, paired
from metainfer.driver.program_check import check_program
from metainfer.driver.validate.policy import omissions
from metainfer.driver.validate.storage import storage_findings
from metainfer.driver.validate.structure import findings
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note, render
from metainfer.passes.instruments.base import Check, Step
from metainfer.passes.pipelines import DEFAULT

STRUCTURAL = frozenset(DEFAULT)
"""Passes after which results are the same bit by bit; those of others may differ by roundings.

Among them is `apply-quantization`: today it only says that a state is stored in f16, and the
interpreter's values are never rounded, so that the one lossy step is the identity here. What f16
loses is in the bounds that kernels are held to.
"""


def to_stderr(warning: Diagnostic) -> None:
    """Print a warning where errors are printed."""
    print(render(warning), file=sys.stderr)


@dataclass
class Validate(Check):
    """After every pass, runs twins of the module before and after it (`validate/twin.py`).

    Nothing is compared where one side has nothing to run: before `expand-model`. A program is held
    to the engine gate's checks of barriers and slots as well.
    """

    seed: int = 0
    calls: int = 0
    """How many calls were compared so far."""
    warn: Callable[[Diagnostic], None] = to_stderr
    """Told where a module could not be made small."""
    _before: ModuleOp | None = field(default=None, init=False)

    def before(self, step: Step) -> None:
        self._before = step.module.clone()

    def check(self, step: Step) -> None:
        assert self._before is not None
        found = _places(step.module) or self._compared(self._before, step)
        found = found or list(omissions(step))
        if found:
            raise DiagnosticError(*found)

    def _compared(self, before: ModuleOp, step: Step) -> list[Diagnostic]:
        pairs = paired(before, step.module)
        lost = list(findings(before, step.module, pairs))
        if lost:
            return lost
        exact = step.name in STRUCTURAL
        result = compare_modules(before, step.module, seed=self.seed, exact=exact)
        self.calls += result.calls
        diagnostics = [d.diagnostic() for d in result.differences]
        if not result.why_not_small:
            return diagnostics
        reason = f"no small twin of the module can be made: {result.why_not_small}"
        self.warn(Diagnostic(f"pass {step.name}: {reason}", severity="warning"))
        return [replace(d, notes=(*d.notes, Note(reason))) for d in diagnostics]


def _places(module: ModuleOp) -> list[Diagnostic]:
    """What is wrong with a program's barriers, slots, packs and slabs."""
    try:
        check_program(module)
    except DiagnosticError as problem:
        return list(problem.diagnostics)
    return list(storage_findings(module))
