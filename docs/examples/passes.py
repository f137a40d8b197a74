"""Two passes of one's own: `metainfer-opt --load-pass-plugin passes.py`. One of them has a bug."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from metainfer.ir.dialects import infer
from metainfer.ir.text import place_of
from metainfer.passes.context import rewrites_of
from metainfer.passes.greedy import rewrite_greedily


@dataclass(frozen=True)
class SwapAdds(ModulePass):
    """Writes the newer operand of an addition first. Forgets where the addition came from."""

    name = "swap-adds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        adds = [one for one in op.walk() if isinstance(one, infer.AddOp)]
        for add in adds:
            if not rewrites_of(ctx).take(self.name, "swap", place_of(add)):
                return
            new = infer.AddOp.create(operands=[add.b, add.a], result_types=[add.result.type])
            Rewriter.replace_op(add, new)


class _Swap(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp):
            new = infer.AddOp.create(operands=[op.b, op.a], result_types=[op.result.type])
            rewriter.replace(op, new)


@dataclass(frozen=True)
class SwapForEver(ModulePass):
    """A rule that undoes itself."""

    name = "swap-for-ever"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(ctx, op, self.name, {"swap": _Swap()})


PASSES = [SwapAdds, SwapForEver]
