"""Two passes for tests: one loses locations, one raises."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from metainfer.ir.dialects import infer


@dataclass(frozen=True)
class Lose(ModulePass):
    """Rebuilds products without their locations."""

    name = "lose"
    kinds: int = 1
    """How many kinds of op are rebuilt."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in [o for o in op.walk() if isinstance(o, infer.LinearOp)]:
            new = infer.LinearOp.create(operands=one.operands, result_types=[one.result.type])
            Rewriter.replace_op(one, new)


@dataclass(frozen=True)
class Raise(ModulePass):
    name = "raise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise IndexError("no such thing")


PASSES = [Lose, Raise]
