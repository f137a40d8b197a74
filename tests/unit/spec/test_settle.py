"""Shrinking demands, wishes that are not met, and the order of refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import spec
from metainfer.ir.text import print_module
from metainfer.knowledge.base import Knowledge
from metainfer.passes.settle import refuse_early, settle, warnings_of
from metainfer.resources import ckb_dir
from metainfer.spec.view import SpecView

Parse = Callable[[str], ModuleOp]
Resolve = Callable[..., ModuleOp]
MODEL = 'model "file:a.gguf"\n'
KNOWLEDGE = Knowledge(ckb_dir())


def _messages(module: ModuleOp) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        settle(module, KNOWLEDGE)
    return [problem.message for problem in caught.value.diagnostics]


def test_a_feasible_demand_does_not_shrink(parse: Parse, resolve: Resolve) -> None:
    module = resolve(parse(MODEL + "workload { context <= 64 tokens }\ndegrade context { 64, 8 }"))
    before = print_module(module)
    settle(module, KNOWLEDGE)
    assert print_module(module) == before
    assert warnings_of(module) == []


def test_the_first_value_that_fits_is_taken_and_said(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 2048 tokens }\nrequire { kv <= 24 MiB }\n"
    lines += "quantize { kv f16 }\ndegrade context { 2048, 1024, 512 }"
    module = resolve(parse(lines))
    settle(module, KNOWLEDGE)
    assert SpecView(module).max_context == 1024
    (degrade,) = (op for op in module.walk() if isinstance(op, spec.DegradeOp))
    assert degrade.chosen is not None and degrade.chosen.value.data == 1024
    (warning,) = warnings_of(module)
    assert warning.severity == "warning"
    assert warning.message == "context is 1024 tokens: the whole demand is not feasible"
    assert str(warning.place) == "tiny.mispec:6:1"
    module.verify()


def test_the_first_of_several_degrades_falls_last(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 200 tokens; batch <= 2 }\nrequire { kv <= 4 MiB }\n"
    lines += "quantize { kv f16 }\ndegrade context { 200, 150, 100 }\ndegrade batch { 2, 1 }"
    module = resolve(parse(lines))
    settle(module, KNOWLEDGE)
    assert (SpecView(module).max_context, SpecView(module).max_batch) == (150, 1)
    assert len(warnings_of(module)) == 2


def test_where_no_value_helps_the_whole_demand_is_what_is_reported(
    parse: Parse, resolve: Resolve
) -> None:
    lines = MODEL + "workload { context <= 2048 tokens }\nrequire { kv <= 1 MiB }\n"
    module = resolve(parse(lines + "degrade context { 1024, 512 }\nparallel { tensor 2 }"))
    assert _messages(module) == [
        "these constraints cannot hold together",
        "tensor 2 does not divide 9 query heads / 3 KV heads",
    ]
    assert SpecView(module).max_context == 2048


def test_without_a_degrade_nothing_shrinks(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 2048 tokens }\nrequire { kv <= 1 MiB }"
    assert _messages(resolve(parse(lines))) == ["these constraints cannot hold together"]


def test_a_value_above_the_demand_is_none(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 64 tokens }\nrequire { kv <= 1 MiB }\n"
    module = resolve(parse(lines + "degrade context { 2048, 16 }"))
    settle(module, KNOWLEDGE)
    assert SpecView(module).max_context == 16


def test_a_wish_that_is_not_met_is_a_warning_with_its_gap(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 2048 tokens }\nquantize { kv f16 }\n"
    module = resolve(parse(lines + "want { kv <= 4 MiB }"))
    settle(module, KNOWLEDGE)
    (warning,) = warnings_of(module)
    assert warning.severity == "warning"
    assert warning.message == "kv takes 41.0 MiB more than is wanted"
    assert warning.notes[0].message.startswith("context 2048 × 23,040 B/token (kv f16")
    assert 'spec.want kv "<=" 4 MiB gap "41.0 MiB more: context' in print_module(module)
    met = resolve(parse(lines + "want { kv <= 45 MiB }"))
    settle(met, KNOWLEDGE)
    assert warnings_of(met) == []


def test_infeasible_comes_before_unsupported(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload { context <= 9000 tokens }\nserve openai { chat }"
    assert _messages(resolve(parse(lines))) == [
        "context 9000 is more than the 8192 positions of the model"
    ]
    fitting = lines.replace("9000", "900")
    assert _messages(resolve(parse(fitting))) == ["'serve openai' is not supported yet"]


def _absent() -> Path:
    raise DiagnosticError()


@pytest.mark.parametrize(
    ("source", "cached", "early"),
    [
        ("pypi:x/a.gguf", False, False),
        ("pypi:x-part{1..22}==1/a", False, True),
        ("pypi:x-part{1..22}==1/a", True, False),
        ("hf:a/b", False, True),
        ("random:llama{layers=4}", False, True),
        ("file:a.gguf", False, False),
    ],
)
def test_nothing_large_is_fetched_for_a_spec_that_no_model_could_save(
    parse: Parse, source: str, cached: bool, early: bool
) -> None:
    lines = f'model "{source}"\nworkload {{ context <= 64 tokens }}\nserve openai {{ chat }}'
    module = parse(lines)
    if not early:
        refuse_early(module, Path if cached else _absent)
        return
    with pytest.raises(DiagnosticError, match="'serve openai' is not supported yet"):
        refuse_early(module, Path if cached else _absent)


def test_what_is_supported_is_fetched(parse: Parse) -> None:
    refuse_early(parse('model "pypi:x-{1..2}==1/a"\nworkload { context <= 64 tokens }'), _absent)
