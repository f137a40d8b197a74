"""The scenario files that ship: each can be built, or is refused for the reasons stated here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import Knowledge
from metainfer.passes.feasibility import infeasibilities
from metainfer.passes.settle import refuse_early, settle
from metainfer.resources import ckb_dir, specs_dir
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.view import SpecView

Parse = Callable[[str], ModuleOp]
Resolve = Callable[..., ModuleOp]
KNOWLEDGE = Knowledge(ckb_dir())

QWEN = {"layers": 28, "hidden": 1536, "ffn_dim": 8960, "q_heads": 12, "kv_heads": 2,
        "head_dim": 128, "vocab": 151936, "max_context": 32768}  # fmt: skip
GEMMA = {"layers": 18, "hidden": 640, "ffn_dim": 2048, "q_heads": 4, "kv_heads": 1,
         "head_dim": 256, "vocab": 262144, "max_context": 32768, "window": 512}  # fmt: skip
FACTS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "coder": ("qwen2", QWEN),
    "long_ctx_gemma": ("gemma3", GEMMA),
}
"""Arch and facts of models other than SmolLM2."""

REASONS: Mapping[str, list[str]] = {
    "quickstart": [],
    "coder": [],
    "long_ctx_gemma": [],
    "tp_smollm2": ["8: tensor 3"],
    "laptop_chat": [
        "11: a typical prompt", "12: a typical output", "16: a bound on memory",
        "17: a bound on ttft.p95", "18: a bound on itl.p95", "19: a bound on kl",
        "20: a bound on top1", "22: 'min itl'", "22: 'min memory'", "24: 'except lm_head q8_0'",
        "27: 'serve openai'", "28: 'from ckb, llm'",
    ],
    "batch_classify": [
        "7: batch <= 16", "10: a typical prefix", "12: a bound on throughput.prefill",
        "15: 'logprobs <= 5'", "16: 'prefix <= 64 MiB'",
    ],
    "tiny_moe": [
        "3: a model from 'random:'", "6: batch <= 4", "7: weights f32", "8: expert 2",
        "10: 'same_isa'", "11: layers all", "11: 'generated 64 tokens'",
    ],
    "h200_qwen3": [
        "3: a model from 'hf:'", "4: target cuda", "7: a bound on concurrency",
        "8: a typical prompt", "9: a typical output", "13: a bound on ttft.p99",
        "14: a bound on itl.p99", "15: a bound on top1", "17: a wish for throughput.total",
        "17: a wish for cost", "18: 'max throughput.total'", "18: 'min energy'",
        "19: weights w8a8", "19: acts bf16", "19: kv fp8", "20: 'step <= 8192 tokens'",
        "21: 'n <= 4'", "22: 'serve openai'", "38: 'prefix <= 8 GiB'",
        "39: 'speculate prompt_lookup'", "40: 'from ckb, llm'", "41: backend triton",
        "41: an engine without jinja2", "42: 'request <= 1 MiB'",
    ],
    "impossible": [
        "9: these constraints cannot hold together", "12: group 128 does not divide width 576",
        "14: tensor 2 does not divide 9 query heads / 3 KV heads",
    ],
}  # fmt: skip
"""What each file is refused for, by line; nothing means that it can be built."""

NO_MODEL = ("tiny_moe", "h200_qwen3")
"""Refused before any model is asked for."""


def test_every_shipped_spec_is_a_scenario() -> None:
    assert {path.stem for path in specs_dir().glob("*.mispec")} >= set(REASONS)


@pytest.mark.parametrize("name", [name for name in REASONS if name not in NO_MODEL])
def test_a_scenario_is_built_or_refused_for_its_reasons(
    shipped: Parse, resolve: Resolve, name: str
) -> None:
    arch, facts = FACTS.get(name, ("llama", {}))
    module = resolve(shipped(name), arch, **facts)
    refuse_early(module, lambda: None)
    try:
        settle(module, KNOWLEDGE)
    except DiagnosticError as problem:
        assert _stated(problem) == REASONS[name]
    else:
        assert REASONS[name] == []


@pytest.mark.parametrize("name", NO_MODEL)
def test_a_scenario_is_refused_before_anything_is_fetched(shipped: Parse, name: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        refuse_early(shipped(name), _never)
    assert _stated(caught.value) == REASONS[name]


def _never() -> None:
    raise AssertionError("the model cache was asked")


def _stated(problem: DiagnosticError) -> list[str]:
    for one in problem.diagnostics:
        assert one.place is not None and one.help
    return [
        f"{d.place.line}: {d.message.removesuffix(' is not supported yet')}"
        for d in problem.diagnostics
        if d.place
    ]


def test_long_ctx_gemma_is_feasible_only_with_window_aware_state(
    shipped: Parse, resolve: Resolve
) -> None:
    module = resolve(shipped("long_ctx_gemma"), "gemma3", **GEMMA)
    assert infeasibilities(module, KNOWLEDGE) == []
    (problem,) = infeasibilities(module)
    assert problem.message == "these constraints cannot hold together"
    assert problem.notes[0].message.endswith("= 576.0 MiB")


def test_the_arithmetic_of_rings(resolve: Resolve) -> None:
    text = (specs_dir() / "long_ctx_gemma.mispec").read_text(encoding="utf-8")
    module = resolve(parse_mispec(text.replace("160 MB", "64 MiB"), "x"), "gemma3", **GEMMA)
    (problem,) = infeasibilities(module, KNOWLEDGE)
    assert problem.notes[0].message == (
        "context (32768 × 3 layers + 1024 × 15 layers) × 1,024 B/token "
        "(kv f16, 1 KV heads × 256) = 111.0 MiB"
    )
    # 64 MiB = 65,536 tokens of a layer, 15,360 of them in rings.
    assert problem.help == "nearest feasible: context <= 16725 tokens"


def test_every_model_of_a_scenario_is_pinned_where_it_comes_in_parts(shipped: Parse) -> None:
    for name in ("coder", "long_ctx_gemma"):
        assert SpecView(shipped(name)).model.sha256 is not None
