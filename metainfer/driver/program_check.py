"""The race check as a check around passes: a program with a race goes no further."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from metainfer.passes.instruments.base import Check, Step
from metainfer.verify.engine.races import check_races
from metainfer.verify.engine.slots import check_slots


def check_program(module: ModuleOp) -> None:
    """Once there is a program: its barriers suffice, and no slot is overwritten too early."""
    check_races(module)
    check_slots(module)


class CheckProgram(Check):
    """`check_program` after every pass."""

    def input(self, module: ModuleOp, ctx: Context) -> None:
        check_program(module)

    def check(self, step: Step) -> None:
        check_program(step.module)
