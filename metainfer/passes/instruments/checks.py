"""Checks after every pass: sound IR with places, and text that parses back to the same module."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation

from metainfer.ir.diagnostics import error
from metainfer.ir.roundtrip import check_round_trip
from metainfer.ir.text import place_of
from metainfer.ir.verify import verify_module
from metainfer.passes.instruments.base import Check, Step


class Verify(Check):
    """The module is sound, and every op that a pass made says where it comes from."""

    def __init__(self) -> None:
        self._unplaced: set[Operation] = set()

    def input(self, module: ModuleOp, ctx: Context) -> None:
        verify_module(module)

    def before(self, step: Step) -> None:
        self._unplaced = _unplaced(step.module)

    def check(self, step: Step) -> None:
        verify_module(step.module)
        for op in step.module.walk():
            if isinstance(op.location, UnknownLoc) and op not in self._unplaced:
                above = op.parent_op()
                raise error(
                    f"a new {op.name} has no location",
                    place_of(above) if above is not None else None,
                )


def _unplaced(module: ModuleOp) -> set[Operation]:
    return {op for op in module.walk() if isinstance(op.location, UnknownLoc)}


class RoundTrip(Check):
    """Both printed forms, with locations, parse back to the module that was printed."""

    def input(self, module: ModuleOp, ctx: Context) -> None:
        check_round_trip(module, ctx)

    def check(self, step: Step) -> None:
        check_round_trip(step.module, step.ctx)
