"""`fuse`: wrap ops that a fusion contract matches in `infer.group`; no op is changed or added.

before: %q = infer.linear %h, %wq   %k = infer.linear %h, %wk   %v = infer.linear %h, %wv
after:  %q, %k, %v = infer.group {rule = "fusion/qkv"} { the three, unchanged }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Fusion
from metainfer.passes.base import Choice, MetaPass, decide, derived
from metainfer.passes.context import knowledge_of, rewrites_of
from metainfer.passes.counters import Rewrites
from metainfer.passes.imports import parse_fragment

Match = dict[Operation, Operation]
"""Pattern op → matched op."""


@dataclass(frozen=True)
class Fuse(MetaPass):
    """Groups every place that a fusion contract matches and the plan allows."""

    name = "fuse"
    summary: ClassVar[str] = "group ops that a fusion contract lets share a kernel"
    requires: ClassVar[str] = "expand-model"
    rules: tuple[str, ...] | None = None
    """Fusion contracts to use, by id; default: those that the plan or the rule policy allows."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        found = []
        for contract in knowledge.all("fusion", Fusion):
            pattern = _pattern(contract.id, knowledge)
            for function in all_of(module, func.FuncOp):
                if find_match(pattern, function.body.block, module) is not None:
                    site = f"{base_name(function)}:{contract.id}"
                    found.append(
                        Choice(
                            site,
                            "fuse",
                            "yes",
                            ("yes", "no"),
                            "chosen",
                            "rule",
                            f"{contract.id}: {contract.benefit}",
                        )
                    )
        return found

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.need(bool(all_of(op, func.FuncOp)) and not all_of(op, kernel.FuncOp))
        knowledge = knowledge_of(ctx)
        known = knowledge.ids("fusion")
        for name in self.rules or ():
            if name not in known:
                raise error(f"no fusion contract {name}", help=f"there are: {', '.join(known)}")
        for id_ in known:
            pattern = _pattern(id_, knowledge)
            for function in all_of(op, func.FuncOp):
                if self._allowed(op, function, id_):
                    _fuse_all(pattern, id_, function, op, rewrites_of(ctx))

    def _allowed(self, module: ModuleOp, function: func.FuncOp, id_: str) -> bool:
        if self.rules is not None:
            return id_ in self.rules
        site = f"{base_name(function)}:{id_}"
        return decide(module, site, "fuse", lambda: "yes") == "yes"


def base_name(function: func.FuncOp) -> str:
    """`layer` of `decode_layer`: the site of a decision is the same in every entry."""
    name = function.sym_name.data
    at = max(name.rfind("layer"), name.rfind("forward"))
    return name[at:] if at > 0 else name


def _pattern(id_: str, knowledge: Knowledge) -> func.FuncOp:
    fragment = knowledge.fragment(id_, "pattern.mlir")
    patterns = all_of(parse_fragment(fragment), func.FuncOp)
    if len(patterns) != 1:
        raise error(f"{fragment.name}: one function is wanted, it has {len(patterns)}")
    return patterns[0]


def _fuse_all(
    pattern: func.FuncOp, id_: str, function: func.FuncOp, module: ModuleOp, rewrites: Rewrites
) -> None:
    while (match := find_match(pattern, function.body.block, module)) is not None:
        if not rewrites.take(Fuse.name, id_, place_of(next(iter(match.values())))):
            return
        _wrap(match, id_, pattern)


def find_match(pattern: func.FuncOp, block: Block, module: ModuleOp) -> Match | None:
    """The first place in `block` that looks like the pattern; grouped ops do not count again."""
    wanted = [op for op in pattern.body.block.ops if not isinstance(op, func.ReturnOp)]
    return _extend(wanted, {}, {}, list(block.ops), module)


def _extend(
    wanted: list[Operation],
    match: Match,
    values: dict[SSAValue, SSAValue],
    ops: list[Operation],
    module: ModuleOp,
) -> Match | None:
    if not wanted:
        return match
    first, rest = wanted[0], wanted[1:]
    for op in ops:
        if op in match.values() or (bound := _unify(first, op, values, module)) is None:
            continue
        found = _extend(rest, match | {first: op}, bound, ops, module)
        if found is not None:
            return found
    return None


def _unify(
    wanted: Operation, op: Operation, values: dict[SSAValue, SSAValue], module: ModuleOp
) -> dict[SSAValue, SSAValue] | None:
    """The value bindings extended by `wanted` = `op`, or None if they differ."""
    if type(wanted) is not type(op) or len(wanted.operands) != len(op.operands):
        return None
    if isinstance(wanted, infer.WeightRefOp) and isinstance(op, infer.WeightRefOp):
        weight = lookup(module, op.weight.root_reference.data, infer.WeightOp)
        if weight.slot.data != wanted.weight.root_reference.data:
            return None
    bound = dict(values)
    for left, right in zip(wanted.operands, op.operands, strict=True):
        if bound.setdefault(left, right) is not right:
            return None
    return bound | dict(zip(wanted.results, op.results, strict=True))


def _wrap(match: Match, id_: str, pattern: func.FuncOp) -> None:
    """Move the matched ops, but for weight references, into a group at the last one's place."""
    ops = [op for op in match.values() if not isinstance(op, infer.WeightRefOp)]
    ops.sort(key=_position)
    outputs = [r for op in ops for r in op.results]
    group = infer.GroupOp.create(
        result_types=[r.type for r in outputs],
        properties={"rule": StringAttr(id_)},
        regions=[Region(Block())],
    )
    derived(group, ops[0], Fuse.name)
    block = ops[0].parent_block()
    assert block is not None
    block.insert_op_before(group, _earliest_use(ops))
    for inner, outer in zip(outputs, group.results, strict=True):
        outer.name_hint = inner.name_hint
        inner.replace_all_uses_with(outer)
    for op in ops:
        op.detach()
        group.body.block.add_op(op)
    last = infer.YieldOp.create(operands=outputs)
    derived(last, ops[-1], Fuse.name)
    group.body.block.add_op(last)


def _position(op: Operation) -> int:
    block = op.parent_block()
    assert block is not None
    return block.get_operation_index(op)


def _earliest_use(ops: list[Operation]) -> Operation:
    """Where the group goes: right after the last member, which must precede every outside use."""
    after = ops[-1].next_op
    assert after is not None
    uses = [u.operation for op in ops for r in op.results for u in r.uses]
    outside = [u for u in uses if u not in ops and u.parent_block() is ops[0].parent_block()]
    if any(_position(u) < _position(after) for u in outside):
        raise error(f"cannot group {ops[0].name}: a result is used between the group's ops")
    return after
