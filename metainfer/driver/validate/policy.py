"""What a pass of the pipeline should have done and did not: results are right, an engine is slow.

Only looked for where the pass decided alone: not where an option or a plan says otherwise, nor
where a limit stopped it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from metainfer.ir.diagnostics import Diagnostic
from metainfer.ir.dialects import engine, infer, kernel, plan
from metainfer.ir.symbols import all_of, symbols
from metainfer.ir.text import place_of
from metainfer.knowledge.contracts import Fusion, PerfRule
from metainfer.passes.apply_quantization import ApplyQuantization
from metainfer.passes.base import decided
from metainfer.passes.context import knowledge_of, rewrites_of
from metainfer.passes.fuse import Fuse, base_name
from metainfer.passes.imports import parse_fragment
from metainfer.passes.instruments.base import Step
from metainfer.passes.pins import view_of
from metainfer.passes.specialize_entries import SpecializeEntries, ranges_of
from metainfer.verify.engine.slots import extents_of
from metainfer.verify.engine.steps import entries_of

Member = tuple[str, tuple[str, ...]]
"""An op's name, and the slots of the weights that it takes."""


def omissions(step: Step) -> Iterator[Diagnostic]:
    """What the pass of this step left out or wasted, or did otherwise than plan and rule say."""
    if step.name == "fuse" and isinstance(step.one, Fuse) and step.one.rules is None:
        if not rewrites_of(step.ctx).exhausted:
            yield from _unfused(step.module, step.ctx)
    elif isinstance(step.one, SpecializeEntries) and step.one.entries is None:
        yield from _other_boxes(step.module, step.ctx)
    elif isinstance(step.one, ApplyQuantization) and step.one.kv is None:
        yield from _other_states(step.module)
    elif step.name == "plan-memory":
        yield from _unused(step.module)
    elif step.name == "resolve-model":
        yield from _other_fields(step.module)
    elif step.name == "schedule":
        yield from _idle(step.module)
        yield from _other_features(step.module)


# === Fusions ===


@dataclass(frozen=True)
class _Pattern:
    """Ops over one value that a contract lets share a kernel."""

    id: str
    members: frozenset[Member]


def _unfused(module: ModuleOp, ctx: Context) -> Iterator[Diagnostic]:
    patterns = list(_patterns(ctx))
    slots = {w.sym_name.data: w.slot.data for w in all_of(module, infer.WeightOp)}
    for function in all_of(module, func.FuncOp):
        rows = _rows(function, slots)
        for pattern in patterns:
            site = f"{base_name(function)}:{pattern.id}"
            for value, members in rows.items():
                if pattern.members <= members and decided(module, site, "fuse") != "no":
                    yield Diagnostic(
                        f"@{function.sym_name.data}: {pattern.id} was not applied to the ops over "
                        f"%{value.name_hint}",
                        place_of(function),
                    )


def _patterns(ctx: Context) -> Iterator[_Pattern]:
    """The contracts whose ops all take one value; others are not looked for."""
    knowledge = knowledge_of(ctx)
    for contract in knowledge.all("fusion", Fusion):
        fragment = parse_fragment(knowledge.fragment(contract.id, "pattern.mlir"))
        for function in all_of(fragment, func.FuncOp):
            rows = _rows(function, {})
            if len(rows) == 1:
                yield _Pattern(contract.id, frozenset(*rows.values()))


def _rows(function: func.FuncOp, slots: dict[str, str]) -> dict[SSAValue, set[Member]]:
    """The ungrouped ops that take weights, by the value that they are applied to."""
    rows: dict[SSAValue, set[Member]] = {}
    for op in function.body.block.ops:
        taken = tuple(_slot(o.owner, slots) for o in op.operands if _is_weight(o))
        if taken and op.operands and not _is_weight(op.operands[0]):
            rows.setdefault(op.operands[0], set()).add((op.name, taken))
    return rows


def _is_weight(value: SSAValue) -> bool:
    return isinstance(value.owner, infer.WeightRefOp)


def _slot(owner: object, slots: dict[str, str]) -> str:
    assert isinstance(owner, infer.WeightRefOp)
    name = owner.weight.root_reference.data
    return slots.get(name, name)


# === Formats ===


def _other_fields(module: ModuleOp) -> Iterator[Diagnostic]:
    """Formats whose contract names the fields otherwise than their decode region does."""
    for format_ in all_of(module, infer.FormatOp):
        named = [argument.name_hint for argument in format_.decode.block.args]
        found = [field.data for field in format_.fields]
        if found != named:
            yield Diagnostic(
                f"@{format_.sym_name.data} has the fields {found}, its decode region {named}",
                place_of(format_),
            )


def _other_states(module: ModuleOp) -> Iterator[Diagnostic]:
    """Keys or values that are stored otherwise than the plan says."""
    wanted = decided(module, "kv", "kv")
    for state in all_of(module, infer.StateOp):
        found = [str(type_.element_type) for type_ in (state.k, state.v)]
        if wanted is not None and found != [wanted, wanted]:
            yield Diagnostic(
                f"@{state.sym_name.data} is stored as {', '.join(found)}, the plan says {wanted}",
                place_of(state),
            )


# === Entries ===


def _other_boxes(module: ModuleOp, ctx: Context) -> Iterator[Diagnostic]:
    """Entries that are not those of the rule, where the rule decided."""
    for op in all_of(module, plan.DecisionOp):
        if op.what.data == "entries" and op.by.data != "rule":
            return
    forwards = [f for f in all_of(module, func.FuncOp) if base_name(f) == "forward"]
    found = [ranges_of(f)["tokens"] for f in forwards]
    most = max(last for _, last in found)
    ends = knowledge_of(ctx).get("perf_rule/cpu_entries", PerfRule).entries.values()
    wanted = [end for end in ends if end < most] + [most]
    if sorted(last for _, last in found) != wanted:
        yield Diagnostic(f"entries end at {[last for _, last in found]}, the rule says {wanted}")


# === Memory ===


def _unused(module: ModuleOp) -> Iterator[Diagnostic]:
    """Bytes of the arena that are no buffer's."""
    for program in all_of(module, engine.ProgramOp):
        extents = [e for entry in entries_of(program) for e in extents_of(program, entry).values()]
        at = 0
        for start, end in sorted(extents):
            if start > at:
                message = f"bytes {at} to {start} of the arena are unused"
                yield Diagnostic(message, place_of(program))
            at = max(at, end)


# === The runtime ===


def _other_features(module: ModuleOp) -> Iterator[Diagnostic]:
    """Features in an order that another run may not repeat, or others than the spec asks for."""
    view = view_of(module)
    for program in all_of(module, engine.ProgramOp):
        for op in program.body.block.ops:
            if isinstance(op, engine.RuntimeOp):
                found = [feature.data for feature in op.features]
                wanted = sorted(view.features) if view is not None else []
                if found != wanted:
                    yield Diagnostic(f"features are {found}, want {wanted}", place_of(op))


# === Barriers ===


def _idle(module: ModuleOp) -> Iterator[Diagnostic]:
    """Barriers without which no two parts would meet.

    Two kinds may stay, since `schedule` looks no further: one in front of a call that reads a
    state, whose parts keep to the heads that they wrote themselves, and one at the head of a block,
    which is there for whatever block runs before it.
    """
    from metainfer.verify.engine.barriers import barrier_table

    named, heads = symbols(module), set(_heads(module))
    for row in barrier_table(module):
        callee = named.get(row.before.removeprefix("@"))
        excused = row.where in heads or (isinstance(callee, kernel.FuncOp) and _reads_state(callee))
        if not row.needed and not excused:
            yield Diagnostic(f"the barrier {row.where} before {row.before} waits for nothing")


def _heads(module: ModuleOp) -> Iterator[str]:
    """The barriers that blocks begin with, as the table names them."""
    for program in all_of(module, engine.ProgramOp):
        for op in program.body.block.ops:
            if isinstance(op, engine.BlockOp) and isinstance(
                op.body.block.first_op, engine.BarrierOp
            ):
                yield f"@{op.sym_name.data} 1"


def _reads_state(callee: kernel.FuncOp) -> bool:
    return any(isinstance(t, infer.StateType) for t in callee.function_type.inputs)
