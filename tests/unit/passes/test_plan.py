"""`plan`: every later choice as a decision, pinned by the spec or taken by rule."""

from __future__ import annotations

import pytest
from tiny_llama import TinyLlama
from tiny_pipeline import (
    Stages,
    complaint,
    fake_context,
    tiny_stages,
    two_kinds_stages,
    write_model,
)

from metainfer.ir.dialects import plan
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.base import decide, decided
from metainfer.passes.plan import all_choices
from metainfer.resources import ckb_dir


def decisions(stages: Stages) -> dict[tuple[str, str], plan.DecisionOp]:
    ops = all_of(stages.after("plan"), plan.DecisionOp)
    return {(op.site.data, op.what.data): op for op in ops}


def test_every_choice_of_every_pass_is_decided_once() -> None:
    stages = tiny_stages()
    before = stages.before("plan")
    assert all_of(before, plan.DecisionOp) == []
    choices = all_choices(before, Knowledge(ckb_dir()))
    found = decisions(stages)
    assert list(found) == [(c.site, c.what) for c in choices]
    assert len(set(found)) == len(choices) == len(all_of(stages.after("plan"), plan.DecisionOp))
    assert {what for _, what in found} == {
        "weights", "acts", "kv", "entries", "fuse", "layout", "isa", "threads",
    }  # fmt: skip


def test_the_spec_pins_and_the_rules_take_the_rest() -> None:
    found = decisions(tiny_stages())
    threads = found["model", "threads"]
    assert (threads.value.data, threads.right.data, threads.by.data) == ("2", "pinned", "user")
    assert threads.because is not None and threads.because.data == "3:26: threads 2"
    # `isa auto` pins nothing.
    assert (found["model", "isa"].right.data, found["model", "isa"].by.data) == ("chosen", "rule")
    entries = found["model", "entries"]
    assert entries.value.data == "decode 1..4, prefill 5..64"
    assert [a.data for a in entries.alternatives] == [entries.value.data, "step 1..64"]


def test_a_pinned_value_beside_the_usual_ones_is_an_alternative_too() -> None:
    spec = write_model(TinyLlama())
    spec.write_text(spec.read_text().replace("threads 2", "threads 3"))
    threads = decisions(Stages(spec, fake_context()))["model", "threads"]
    assert (threads.value.data, [a.data for a in threads.alternatives]) == (
        "3",
        ["1", "2", "4", "8", "3"],
    )


def test_each_kind_of_layer_decides_for_itself() -> None:
    found = decisions(two_kinds_stages())
    sites = sorted(site for site, what in found if what == "fuse")
    assert sites == [
        "layer:fusion/gate_up", "layer:fusion/qkv", "layer_1:fusion/gate_up", "layer_1:fusion/qkv",
    ]  # fmt: skip


def test_later_passes_read_what_was_decided() -> None:
    module = tiny_stages().after("plan")
    assert decided(module, "model", "threads") == "2"
    assert decided(module, "model", "nothing") is None
    assert decide(module, "model", "threads", lambda: "8") == "2"
    assert decide(module, "model", "threads", lambda: "8", option="1") == "1"
    assert decide(module, "model", "nothing", lambda: "8") == "8"


@pytest.mark.parametrize("stage", ["resolve-model", "plan"])
def test_it_needs_an_expanded_model_without_a_plan(stage: str) -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after(stage), "plan")
    assert message == "pass plan needs: run expand-model first"
