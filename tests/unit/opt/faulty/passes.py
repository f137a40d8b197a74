"""Ten passes with one bug each, and two without: `metainfer-opt --load-pass-plugin` takes them.

Each does something sensible almost everywhere, as real bugs do. `tests/unit/opt/test_faults.py`
expects `--bisect-passes` to name each and `--reduce` to shrink what it breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, f64
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from metainfer.ir.dialects import infer
from metainfer.ir.dims import ScheduleAttr, sizes, tensor
from metainfer.ir.symbols import all_of, symbol_name
from metainfer.ir.text import place_of
from metainfer.passes.context import rewrites_of
from metainfer.passes.greedy import rewrite_greedily

OpT = TypeVar("OpT", bound=Operation)


def _each(ctx: Context, module: ModuleOp, one: ModulePass, kind: type[OpT]) -> list[OpT]:
    """The ops of one kind inside functions that may be rewritten under the run's limit."""
    found = [op for f in all_of(module, func.FuncOp) for op in f.walk() if isinstance(op, kind)]
    return [op for op in found if rewrites_of(ctx).take(one.name, kind.name, place_of(op))]


def _swapped(op: infer.AddOp) -> infer.AddOp:
    return infer.AddOp.create(operands=[op.b, op.a], result_types=[op.result.type])


@dataclass(frozen=True)
class SwapAdds(ModulePass):
    """Correct: `a + b` becomes `b + a`."""

    name = "swap-adds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in _each(ctx, op, self, infer.AddOp):
            new = _swapped(add)
            new.location = add.location
            Rewriter.replace_op(add, new)


@dataclass(frozen=True)
class NameValues(ModulePass):
    """Correct: results without a name get their op's."""

    name = "name-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.walk():
            for result in one.results:
                result.name_hint = result.name_hint or one.name.split(".")[-1]


@dataclass(frozen=True)
class Dominance(ModulePass):
    """Sinks weight references to their first user; past it where that is a norm."""

    name = "faulty-dominance"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for ref in _each(ctx, op, self, infer.WeightRefOp):
            users = {use.operation for use in ref.result.uses}
            later = ref.next_op
            while later is not None and later not in users:
                later = later.next_op
            block = ref.parent_block()
            if later is None or block is None:
                continue
            ref.detach()
            if isinstance(later, infer.RmsNormOp):
                block.insert_op_after(ref, later)
            else:
                block.insert_op_before(ref, later)


@dataclass(frozen=True)
class Location(ModulePass):
    """Swaps the operands of additions, and forgets where they came from."""

    name = "faulty-location"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in _each(ctx, op, self, infer.AddOp):
            Rewriter.replace_op(add, _swapped(add))


@dataclass(frozen=True)
class Symbol(ModulePass):
    """Renames weights, but not in references from a function's last third."""

    name = "faulty-symbol"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {}
        for weight in all_of(op, infer.WeightOp):
            name = weight.sym_name.data
            names[name] = f"w_{name}"
            weight.properties["sym_name"] = StringAttr(names[name])
        for function in all_of(op, func.FuncOp):
            refs = [o for o in function.walk() if isinstance(o, infer.WeightRefOp)]
            for ref in refs[: 2 * len(refs) // 3]:
                name = names[ref.weight.root_reference.data]
                ref.properties["weight"] = infer.SymbolRefAttr(name)


@dataclass(frozen=True)
class State(ModulePass):
    """Appends what a layer computes to the state that its predecessor was given."""

    name = "faulty-state"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for append in _each(ctx, op, self, infer.StateAppendOp):
            owner = append.state.owner
            if isinstance(owner, infer.StateAppendOp):
                append.operands[0] = owner.state


@dataclass(frozen=True)
class LostWeight(ModulePass):
    """Removes weights that no product reads; norms read some too."""

    name = "faulty-weight"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        read = set()
        for ref in op.walk():
            if isinstance(ref, infer.WeightRefOp) and any(
                isinstance(use.operation, infer.LinearOp | infer.EmbedOp) for use in ref.result.uses
            ):
                read.add(ref.weight.root_reference.data)
        for weight in all_of(op, infer.WeightOp):
            if symbol_name(weight) not in read:
                weight.detach()
                weight.erase()


@dataclass(frozen=True)
class Dims(ModulePass):
    """Gives activations a dimension that nobody declares."""

    name = "faulty-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for act in _each(ctx, op, self, infer.GatedActOp):
            _, width = sizes(act.result.type)
            for value in (act.gate, act.up, act.result):
                Rewriter.replace_value_with_new_type(
                    value, tensor(value.type.element_type, "rows", width)
                )


@dataclass(frozen=True)
class Schedule(ModulePass):
    """Splits a run of layers in two, and runs the one in the middle twice."""

    name = "faulty-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for layers in _each(ctx, op, self, infer.LayersOp):
            steps = []
            for function, first, last in layers.schedule.steps():
                middle = (first + last) // 2
                steps += [(function, first, middle), (function, middle, last)]
            layers.properties["schedule"] = ScheduleAttr.of(steps)


class _Swap(RewritePattern):
    """Swaps the operands of one addition, whenever it is asked."""

    def __init__(self, wanted: Callable[[infer.AddOp], bool]) -> None:
        self._wanted = wanted

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, infer.AddOp) and self._wanted(op):
            rewriter.replace(op, _swapped(op))


def _is_sum_first(op: infer.AddOp) -> bool:
    return isinstance(op.a.owner, infer.AddOp)


@dataclass(frozen=True)
class PingPong(ModulePass):
    """Two rules that undo each other on a sum of a sum and something else."""

    name = "faulty-pingpong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = {
            "sum-last": _Swap(_is_sum_first),
            "sum-first": _Swap(lambda op: isinstance(op.b.owner, infer.AddOp)),
        }
        rewrite_greedily(ctx, op, self.name, rules)


@dataclass(frozen=True)
class Raises(ModulePass):
    """Looks up the cost of each op of a function in a table that lacks one kind."""

    name = "faulty-raise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        costs = {k.name: 1 for k in infer.Infer.operations if k is not infer.GatedActOp}
        costs |= {"func.return": 0}
        for function in all_of(op, func.FuncOp):
            for one in function.body.block.ops:
                one.attributes["cost"] = StringAttr(str(costs[one.name]))


@dataclass(frozen=True)
class Meaning(ModulePass):
    """Rounds the epsilon of norms to one digit after the point."""

    name = "faulty-meaning"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for norm in _each(ctx, op, self, infer.RmsNormOp):
            norm.properties["eps"] = FloatAttr(round(norm.eps.value.data, 1), f64)


FAULTY = (
    Dominance,
    Location,
    Symbol,
    State,
    LostWeight,
    Dims,
    Schedule,
    PingPong,
    Raises,
    Meaning,
)
PASSES = [SwapAdds, NameValues, *FAULTY]
