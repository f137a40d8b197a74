"""The greedy driver: order, counting, limits, locations, and no endless rewriting."""

import pytest
from opt_ir import ADD, X, module_of
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from metainfer.driver.session import reading_context
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import infer
from metainfer.passes.context import CompilerContext
from metainfer.passes.counters import Rewrites
from metainfer.passes.greedy import rewrite_greedily


class Mark(RewritePattern):
    """Marks an addition once, in place."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp) and "mark" not in op.attributes:
            op.attributes["mark"] = StringAttr("x")
            rewriter.notify_op_modified(op)


class Flip(RewritePattern):
    """Swaps an addition's operands, every time."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp):
            new = infer.AddOp.create(operands=[op.b, op.a], result_types=[op.result.type])
            rewriter.replace(op, new)


class Toggle(RewritePattern):
    """Changes an attribute back and forth, in place."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, func.FuncOp):
            now = op.attributes.pop("t", None)
            if now is None:
                op.attributes["t"] = StringAttr("on")
            rewriter.notify_op_modified(op)


class Grow(RewritePattern):
    """Puts another addition before each addition: always new ops, never the same."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp):
            rewriter.insert(infer.AddOp.create(operands=[op.a, op.b], result_types=[op.a.type]))


class Raise(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp):
            raise IndexError("oops")


def run(module: ModuleOp, limit: int | None = None, **patterns: RewritePattern) -> CompilerContext:
    ctx = reading_context()
    ctx.rewrites = Rewrites(limit)
    rewrite_greedily(ctx, module, "p", patterns)
    return ctx


def adds(module: ModuleOp) -> list[infer.AddOp]:
    return [op for op in module.walk() if isinstance(op, infer.AddOp)]


def test_patterns_run_to_the_end_and_are_counted() -> None:
    module = module_of(ADD)
    ctx = run(module, mark=Mark(), never=Mark())
    assert all("mark" in op.attributes for op in adds(module))
    assert ctx.rewrites.counts == {"p": {"mark": 2}}
    assert rewrite_greedily(ctx, module, "p", {"mark": Mark()}) is False


def test_the_limit_stops_in_the_middle() -> None:
    module = module_of(ADD)
    run(module, limit=1, mark=Mark())
    assert ["mark" in op.attributes for op in adds(module)] == [True, False]


@pytest.mark.parametrize(
    ("pattern", "place"), [(Flip(), "2:8"), (Toggle(), "1:1"), (Grow(), "2:8")]
)
def test_endless_rewriting_is_reported(pattern: RewritePattern, place: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        run(module_of(ADD), again=pattern)
    (found,) = caught.value.diagnostics
    assert found.message == "pass p: endless rewriting by 'again'"
    assert str(found.place) == f"in.mlir:{place}"


def test_a_pair_that_undoes_each_other_is_named() -> None:
    class When(Flip):
        def __init__(self, first: str) -> None:
            self.first = first

        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
            if isinstance(op, infer.AddOp) and op.a.name_hint == self.first:
                super().match_and_rewrite(op, rewriter)

    with pytest.raises(DiagnosticError, match="endless rewriting by 'one' and 'two'"):
        run(module_of(ADD), one=When("a"), two=When("b"))


def test_a_long_chain_of_useful_rewrites_is_no_circle() -> None:
    lines = [f"  %v{n + 1} = infer.add %v{n}, %v{n} : {X}" for n in range(500)]
    text = f"func.func @f(%v0: {X}) attributes {{dims = #infer.ranges<tokens = 1 to 9>}} {{\n"
    module = module_of(text + "\n".join(lines) + "\n  func.return\n}\n")
    assert run(module, mark=Mark()).rewrites.taken == 500


def test_what_a_pattern_makes_gets_a_location() -> None:
    module = module_of(ADD)
    first = adds(module)[0].location
    run(module, limit=1, flip=Flip())
    assert adds(module)[0].location == first
    assert not any(isinstance(op.location, UnknownLoc) for op in adds(module))


def test_a_pattern_that_raises_comes_through_as_it_is() -> None:
    with pytest.raises(IndexError, match=r"^oops$"):
        run(module_of(ADD), bad=Raise())
