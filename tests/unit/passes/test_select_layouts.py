"""`select-layouts`: a layout per matrix in its type, and one per state with its room."""

from __future__ import annotations

import pytest
from tiny_pipeline import complaint, detach, run, tiny_stages
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr

from metainfer.ir.dialects import infer, plan, spec
from metainfer.ir.symbols import all_of, lookup


def encodings(module: ModuleOp) -> dict[str, str]:
    return {w.sym_name.data: str(w.type.encoding) for w in all_of(module, infer.WeightOp)}


def test_matrices_are_packed_and_vectors_are_not() -> None:
    stages = tiny_stages()
    before = stages.before("select-layouts")
    assert all_of(before, infer.LayoutOp) == []
    assert not any(
        isinstance(w.type.encoding, SymbolRefAttr) for w in all_of(before, infer.WeightOp)
    )
    module = stages.after("select-layouts")
    packed = {n: "@rows16" in text for n, text in encodings(module).items()}
    assert packed == {
        "token_embd": True, "output_norm": False,
        "attn_norm": False, "attn_q": True, "attn_k": True, "attn_v": True, "attn_output": True,
        "ffn_norm": False, "ffn_gate": True, "ffn_up": True, "ffn_down": True,
    }  # fmt: skip
    names = [op.sym_name.data for op in all_of(module, infer.LayoutOp)]
    assert sorted(names) == ["kv_blocks16", "rows16"]


def test_references_follow_their_weight() -> None:
    module = tiny_stages().after("select-layouts")
    references = [op for op in module.walk() if isinstance(op, infer.WeightRefOp)]
    assert references
    for reference in references:
        weight = lookup(module, reference.weight.root_reference.data, infer.WeightOp)
        assert reference.result.type == weight.type
    hints = [str(r.result.name_hint) for r in references]
    assert {"attn_q", "token_embd", "output"} < set(hints)


def test_the_state_has_room_for_the_spec_s_context() -> None:
    (state,) = all_of(tiny_stages().after("select-layouts"), infer.StateOp)
    assert str(state.layout) == "@kv_blocks16" and state.slots() == 64


@pytest.mark.parametrize("context", [1, 17, 64])
def test_the_option_sets_the_room(context: int) -> None:
    stages = tiny_stages()
    module = run(
        stages.ctx, stages.before("select-layouts"), f"select-layouts{{context={context}}}"
    )
    (state,) = all_of(module, infer.StateOp)
    assert state.slots() == context


def test_the_plan_names_the_layout() -> None:
    stages = tiny_stages()
    module = stages.before("select-layouts")
    for op in all_of(module, plan.DecisionOp):
        if (op.site.data, op.what.data) == ("attn_q", "layout"):
            op.properties["alternatives"] = ArrayAttr([StringAttr("rows17")])
            op.properties["value"] = StringAttr("rows17")
    assert "no contract layout/rows17" in complaint(stages.ctx, module, "select-layouts")


def test_it_needs_weights_and_a_bound_on_the_context() -> None:
    stages = tiny_stages()
    needs = "pass select-layouts needs: run expand-model first"
    assert complaint(stages.ctx, stages.after("resolve-model"), "select-layouts") == needs
    module = stages.before("select-layouts")
    for engine in all_of(module, spec.EngineOp):
        detach(engine)
    assert complaint(stages.ctx, module, "select-layouts") == needs
