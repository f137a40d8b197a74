"""`specialize-entries`: disjoint boxes that cover the range, a copy of the model for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_pipeline import complaint, run, tiny_stages, two_kinds_stages
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of
from metainfer.knowledge.contracts import PerfRule
from metainfer.passes.specialize_entries import (
    Box,
    boxes_text,
    parse_boxes,
    ranges_of,
    rule_boxes,
)


def entries(module: ModuleOp) -> dict[str, Box]:
    return {f.sym_name.data: ranges_of(f)["tokens"] for f in all_of(module, func.FuncOp)}


def bodies(module: ModuleOp) -> dict[str, list[str]]:
    functions = all_of(module, func.FuncOp)
    return {f.sym_name.data: [op.name for op in f.body.block.ops] for f in functions}


def test_each_entry_has_its_own_copy_of_every_function() -> None:
    stages = tiny_stages()
    before = bodies(stages.before("specialize-entries"))
    module = stages.after("specialize-entries")
    assert entries(module) == {
        "decode_layer": (1, 4),
        "decode_forward": (1, 4),
        "prefill_layer": (5, 64),
        "prefill_forward": (5, 64),
    }
    for name, ops in bodies(module).items():
        assert ops == before[name.split("_", 1)[1]]


def test_schedules_call_the_entry_s_own_layers() -> None:
    module = two_kinds_stages().after("specialize-entries")
    schedules = [op.schedule.steps() for op in module.walk() if isinstance(op, infer.LayersOp)]
    assert [[name for name, _, _ in steps] for steps in schedules] == [
        ["decode_layer", "decode_layer_1", "decode_layer", "decode_layer_1"],
        ["prefill_layer", "prefill_layer_1", "prefill_layer", "prefill_layer_1"],
    ]


def test_the_option_names_the_entries() -> None:
    stages = tiny_stages()
    module = stages.before("specialize-entries")
    run(stages.ctx, module, 'specialize-entries{entries="one 1..1, few 2..8, many 9..64"}')
    assert entries(module)["few_layer"] == (2, 8)
    assert len(all_of(module, func.FuncOp)) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decode", "not a list of entries: decode"),
        ("decode 1-4", "not a list of entries: decode 1-4"),
        ("decode 2..64", "entry decode 2..64 must start at 1 and end at or after it"),
        ("a 1..4, b 6..64", "entry b 6..64 must start at 5 and end at or after it"),
        ("a 1..4, b 4..64", "entry b 4..64 must start at 5 and end at or after it"),
        ("a 1..4, a 5..64", "entry a 5..64 must start at 5 and end at or after it"),
        ("a 1..63", "entries end at 63 tokens, a step has up to 64"),
        ("a 1..65", "entries end at 65 tokens, a step has up to 64"),
    ],
)
def test_boxes_must_be_disjoint_and_cover_the_range(text: str, message: str) -> None:
    stages = tiny_stages()
    module = stages.before("specialize-entries")
    found = complaint(stages.ctx, module, f'specialize-entries{{entries="{text}"}}')
    assert found == message


@given(st.lists(st.integers(1, 600), min_size=1, max_size=5, unique=True), st.integers(1, 700))
def test_the_rule_s_boxes_cover_every_range_and_parse_back(ends: list[int], most: int) -> None:
    names = {f"e{n}": end for n, end in enumerate(sorted(ends))}
    names["last"] = 700
    rule = PerfRule(
        id="perf_rule/x", kind="perf_rule", layer="hardware", version=1, why="",
        entries=names, chunk=700,
    )  # fmt: skip
    boxes = rule_boxes((1, most), rule)
    tokens = [n for first, last in boxes.values() for n in range(first, last + 1)]
    assert tokens == list(range(1, most + 1))
    assert parse_boxes(boxes_text(boxes), (1, most)) == boxes


@pytest.mark.parametrize("stage", ["resolve-model", "specialize-entries"])
def test_it_needs_unspecialised_functions(stage: str) -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after(stage), "specialize-entries")
    assert message == "pass specialize-entries needs: run expand-model first"
