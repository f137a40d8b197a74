"""`fuse`: groups of unchanged ops where a fusion contract matches and the plan allows."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from tiny_pipeline import complaint, detach, run, tiny_stages, two_kinds_stages
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from metainfer.ir.dialects import infer, plan
from metainfer.ir.symbols import all_of, lookup
from metainfer.passes.context import CompilerContext
from metainfer.resources import ckb_dir


def groups(module: ModuleOp) -> dict[str, list[str]]:
    """Function → the rules of its groups, in order."""
    return {
        f.sym_name.data: [op.rule.data for op in f.walk() if isinstance(op, infer.GroupOp)]
        for f in all_of(module, func.FuncOp)
    }


def flat(module: ModuleOp) -> list[str]:
    """All computing ops of the functions, groups opened, in order, with their types."""
    return [
        f"{op.name} {op.properties} {[str(t) for t in (*op.operand_types, *op.result_types)]}"
        for f in all_of(module, func.FuncOp)
        for op in f.walk()
        if not isinstance(op, infer.GroupOp | infer.YieldOp)
    ]


def test_groups_hold_the_matched_ops_unchanged() -> None:
    stages = tiny_stages()
    before, module = stages.before("fuse"), stages.after("fuse")
    both = ["fusion/qkv", "fusion/gate_up"]
    assert groups(before) == {name: [] for name in groups(module)}
    assert groups(module) == {
        "decode_layer": both,
        "decode_forward": [],
        "prefill_layer": both,
        "prefill_forward": [],
    }
    assert sorted(flat(module)) == sorted(flat(before))
    first = next(op for op in module.walk() if isinstance(op, infer.GroupOp))
    assert [op.name for op in first.body.block.ops] == ["infer.linear"] * 3 + ["infer.yield"]
    assert [r.name_hint for r in first.results] == ["q", "k", "v"]


def test_weight_references_stay_outside() -> None:
    module = tiny_stages().after("fuse")
    for group in (op for op in module.walk() if isinstance(op, infer.GroupOp)):
        assert not any(isinstance(op, infer.WeightRefOp) for op in group.walk())


def test_a_group_points_at_its_first_op() -> None:
    module = tiny_stages().after("fuse")
    group = next(op for op in module.walk() if isinstance(op, infer.GroupOp))
    first = group.body.block.first_op
    assert first is not None
    assert str(group.location).startswith('loc("fuse"(') and str(first.location)[4:-1] in str(
        group.location
    )


def test_every_kind_of_layer_is_fused_by_slot() -> None:
    found = groups(two_kinds_stages().after("fuse"))
    assert found["decode_layer_1"] == found["decode_layer"] == ["fusion/qkv", "fusion/gate_up"]


@pytest.mark.parametrize(
    "rules", [["fusion/qkv"], ["fusion/gate_up"], ["fusion/qkv", "fusion/gate_up"]]
)
def test_the_option_names_the_rules(rules: list[str]) -> None:
    stages = tiny_stages()
    names = ",".join(f'"{rule}"' for rule in rules)
    module = run(stages.ctx, stages.before("fuse"), f"fuse{{rules={names}}}")
    assert sorted(groups(module)["prefill_layer"]) == sorted(rules)


def test_a_decision_keeps_ops_apart_in_every_entry() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    for op in all_of(module, plan.DecisionOp):
        if op.site.data == "layer:fusion/qkv":
            op.properties["value"] = StringAttr("no")
    run(stages.ctx, module, "fuse")
    assert groups(module)["decode_layer"] == groups(module)["prefill_layer"] == ["fusion/gate_up"]


def test_grouped_ops_are_not_grouped_again() -> None:
    stages = tiny_stages()
    module = stages.after("fuse")
    text = str(module)
    assert str(run(stages.ctx, module, "fuse")) == text


def test_linear_ops_of_other_slots_do_not_match() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    lookup(module, "attn_k", infer.WeightOp).properties["slot"] = StringAttr("other")
    run(stages.ctx, module, "fuse")
    assert groups(module)["decode_layer"] == ["fusion/gate_up"]


def test_ops_that_read_another_value_do_not_match() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    layer = lookup(module, "decode_layer", func.FuncOp)
    query = next(op for op in layer.walk() if isinstance(op, infer.LinearOp))
    query.operands[0] = layer.body.block.args[0]
    run(stages.ctx, module, "fuse")
    assert groups(module)["decode_layer"] == ["fusion/gate_up"]
    assert groups(module)["prefill_layer"] == ["fusion/qkv", "fusion/gate_up"]


def test_a_use_between_the_ops_is_refused() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    layer = lookup(module, "decode_layer", func.FuncOp)
    rope = next(op for op in layer.walk() if isinstance(op, infer.RopeOp))
    query = rope.x.owner
    detach(rope)
    layer.body.block.insert_op_after(rope, query)  # type: ignore[arg-type]
    message = complaint(stages.ctx, module, "fuse")
    assert message == "cannot group infer.linear: a result is used between the group's ops"


def test_an_unknown_rule_is_refused() -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.before("fuse"), 'fuse{rules="fusion/qkw"}')
    assert message == "no fusion contract fusion/qkw"


def test_contracts_come_from_the_context_s_knowledge(tmp_path: Path) -> None:
    copytree(ckb_dir(), tmp_path / "ckb")
    (tmp_path / "ckb/fusion/qkv").rename(tmp_path / "ckb/fusion/other")
    contract = tmp_path / "ckb/fusion/other/contract.yaml"
    contract.write_text(contract.read_text().replace("id: fusion/qkv", "id: fusion/other"))
    module = run(CompilerContext(ckb=tmp_path / "ckb"), tiny_stages().before("fuse"), "fuse")
    assert sorted(groups(module)["decode_layer"]) == ["fusion/gate_up", "fusion/other"]


@pytest.mark.parametrize("stage", ["resolve-model", "outline-kernels"])
def test_it_needs_functions_of_ops(stage: str) -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after(stage), "fuse")
    assert message == "pass fuse needs: run expand-model first"
