"""`apply-quantization`: the state's element type; other formats stay as they are."""

from __future__ import annotations

import pytest
from tiny_llama import TinyLlama
from tiny_pipeline import Stages, complaint, fake_context, run, tiny_stages, write_model

from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of
from metainfer.ir.text import print_module


def state_types(stages: Stages, passes: str) -> tuple[str, str]:
    module = run(stages.ctx, stages.before("apply-quantization"), passes)
    (state,) = all_of(module, infer.StateOp)
    return str(state.k), str(state.v)


def test_exact_formats_change_nothing() -> None:
    stages = tiny_stages()
    before = print_module(stages.before("apply-quantization"))
    after = print_module(stages.after("apply-quantization"))
    assert after == before.replace('stage = "plan"', 'stage = "apply-quantization"')


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_the_option_sets_the_state(dtype: str) -> None:
    wanted = f"tensor<2x16x{dtype}>"
    found = state_types(tiny_stages(), f"apply-quantization{{kv={dtype}}}")
    assert found == (wanted, wanted)


def test_the_plan_sets_the_state() -> None:
    spec = write_model(TinyLlama())
    spec.write_text(spec.read_text().replace("kv f32", "kv f16"))
    stages = Stages(spec, fake_context())
    assert state_types(stages, "apply-quantization") == ("tensor<2x16xf16>", "tensor<2x16xf16>")
    assert state_types(stages, "apply-quantization{kv=f32}")[0] == "tensor<2x16xf32>"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("kv=f8", "state type 'f8' is none of f32, f16"),
        ("weights=q4_1", "weights 'q4_1' has no mechanism yet"),
        ("acts=f16", "acts 'f16' has no mechanism yet"),
    ],
)
def test_other_formats_are_refused(option: str, message: str) -> None:
    stages = tiny_stages()
    module = stages.before("apply-quantization")
    assert complaint(stages.ctx, module, f"apply-quantization{{{option}}}") == message


def test_it_needs_a_state() -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after("resolve-model"), "apply-quantization")
    assert message == "pass apply-quantization needs: run expand-model first"
