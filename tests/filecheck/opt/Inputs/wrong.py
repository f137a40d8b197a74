"""Passes for tests whose options, rewrites or results are wrong, each in another way."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from metainfer.ir.dialects import infer
from metainfer.ir.symbols import lookup
from metainfer.passes.greedy import rewrite_greedily


@dataclass(frozen=True)
class Choosy(ModulePass):
    """Must be told how much, and takes less than ten only."""

    name = "choosy"
    amount: int

    def __post_init__(self) -> None:
        if self.amount > 9:
            raise ValueError("more than nine")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


class Swap(RewritePattern):
    """Swaps the operands of an addition, every time."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp):
            new = infer.AddOp.create(operands=[op.b, op.a], result_types=[op.result.type])
            rewriter.replace(op, new)


class Spin(ModulePass):
    """Never comes to an end."""

    name = "spin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(ctx, op, self.name, {"swap": Swap()})


class Shadow(ModulePass):
    """Gives an op an attribute that is printed in the place of its property."""

    name = "shadow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.walk():
            if isinstance(one, infer.GatedActOp):
                one.attributes["act"] = StringAttr("gelu_tanh")


class Foreign(ModulePass):
    """Adds an op that no dialect has, so that the text of the module is not read back."""

    name = "foreign"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        new = UnregisteredOp.with_name("foreign.op").create()
        block = op.body.block
        assert block.first_op is not None
        new.location = block.first_op.location
        block.add_op(new)


class Refuse(ModulePass):
    """Fails on what `foreign` adds."""

    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(one, UnregisteredOp) for one in op.ops):
            raise IndexError("foreign")


@dataclass(frozen=True)
class Mislead(ModulePass):
    """Lets `forward` return its last argument, without any op to blame."""

    name = "mislead"
    prefix: str = ""
    """Put before the function's name, as entries do."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = lookup(op, "forward", func.FuncOp)
        function.properties["sym_name"] = StringAttr(f"{self.prefix}forward")
        last = function.body.block.last_op
        assert last is not None
        last.operands = [function.body.block.args[-1]]


PASSES = [Choosy, Spin, Shadow, Foreign, Refuse, Mislead]
