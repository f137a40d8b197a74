"""Conflicts as minimal sets, each member with its line and arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, render
from metainfer.passes.feasibility import infeasibilities
from metainfer.resources import specs_dir

Parse = Callable[[str], ModuleOp]
Resolve = Callable[..., ModuleOp]
MODEL = 'model "file:a.gguf"\n'


def _shipped_line(place: Place) -> str:
    return (specs_dir() / place.file).read_text(encoding="utf-8").splitlines()[place.line - 1]


def test_the_three_reasons_of_impossible(shipped: Parse, resolve: Resolve) -> None:
    problems = infeasibilities(resolve(shipped("impossible")))
    assert "\n".join(render(p, _shipped_line) for p in problems) == dedent("""\
        impossible.mispec:9:5: error: these constraints cannot hold together
           9 |     kv <= 4 MiB
             |     ^^^^^^^^^^^
        note: 6:14: context 2048 × 23,040 B/token (kv f16, 30 layers, 3 KV heads × 64) = 45.0 MiB
        help: nearest feasible: context <= 182 tokens
        impossible.mispec:12:38: error: group 128 does not divide width 576
          12 |   quantize { kv f16; weights w4a16 { group 128 } } // 576 = 4.5 × 128
             |                                      ^^^^^^^^^
        note: 3:3: hidden 576 = 4.5 × 128
        help: group 32 or 64
        impossible.mispec:14:14: error: tensor 2 does not divide 9 query heads / 3 KV heads
          14 |   parallel { tensor 2 }
             |              ^^^^^^^^
        help: tensor 1 or 3""")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kv <= 4 MiB", "kv <= 45 MiB"),
        ("context <= 2048 tokens", "context <= 182 tokens"),
        ("group 128", "group 64"),
        ("group 128", "group 32"),
        ("tensor 2", "tensor 1"),
        ("tensor 2", "tensor 3"),
    ],
)
def test_each_help_removes_its_reason_and_no_other(
    resolve: Resolve, before: str, after: str
) -> None:
    from metainfer.spec.frontend import parse_mispec

    text = Path(specs_dir() / "impossible.mispec").read_text(encoding="utf-8")
    changed = parse_mispec(text.replace(before, after), "impossible.mispec")
    assert len(infeasibilities(resolve(changed))) == 2


@pytest.mark.parametrize("name", ["quickstart", "tp_smollm2"])
def test_shipped_specs_are_feasible(shipped: Parse, resolve: Resolve, name: str) -> None:
    assert infeasibilities(resolve(shipped(name))) == []


def _conflict(parse: Parse, resolve: Resolve, lines: str, **facts: int) -> Diagnostic:
    (problem,) = infeasibilities(resolve(parse(MODEL + lines), **facts))
    return problem


def test_the_boundary_of_the_kv_budget(parse: Parse, resolve: Resolve) -> None:
    lines = MODEL + "workload {{ context <= {} tokens }}\nrequire {{ kv <= 4 MiB }}"
    assert infeasibilities(resolve(parse(lines.format(91)))) == []
    (problem,) = infeasibilities(resolve(parse(lines.format(92))))
    assert problem.help == "nearest feasible: context <= 91 tokens or kv f16"


def test_a_smaller_kv_dtype_is_offered_and_its_pin_is_a_member(
    parse: Parse, resolve: Resolve
) -> None:
    lines = "workload { context <= 100 tokens }\nrequire { kv <= 4 MiB }"
    problem = _conflict(parse, resolve, lines)
    assert problem.help == "nearest feasible: context <= 91 tokens or kv f16"
    assert len(problem.notes) == 1
    pinned = _conflict(parse, resolve, lines + "\nquantize { kv f32 }")
    assert [note.place.line for note in pinned.notes if note.place] == [3, 5]
    assert pinned.notes[1].message == "kv f32 takes 4 bytes a value"


def test_batch_is_a_member(parse: Parse, resolve: Resolve) -> None:
    lines = "workload { context <= 91 tokens; batch <= 3 }\nrequire { kv <= 4 MiB }"
    problem = _conflict(parse, resolve, lines)
    arithmetic, batch = problem.notes
    assert arithmetic.message == (
        "context 91 × batch 3 × 46,080 B/token (kv f32, 30 layers, 3 KV heads × 64) = 12.0 MiB"
    )
    assert (batch.message, batch.place and batch.place.col) == ("batch 3", 34)
    assert problem.help == "nearest feasible: context <= 30 tokens"


def test_a_budget_below_one_token(parse: Parse, resolve: Resolve) -> None:
    lines = "workload { context <= 2 tokens }\nrequire { kv <= 1 KiB }"
    assert _conflict(parse, resolve, lines).help == "nearest feasible: kv <= 92160 B"


def test_context_above_the_model(parse: Parse, resolve: Resolve) -> None:
    problem = _conflict(parse, resolve, "workload { context <= 9000 tokens }")
    assert problem.message == "context 9000 is more than the 8192 positions of the model"
    assert problem.help == "nearest feasible: context <= 8192 tokens"
    assert problem.notes[0].place == Place("tiny.mispec", 2, 1, len(MODEL) - 1)


def test_a_prompt_and_its_output_share_the_context(parse: Parse, resolve: Resolve) -> None:
    lines = "workload { context <= 64 tokens; prompt <= 60 tokens; output <= 5 tokens }"
    problem = _conflict(parse, resolve, lines)
    assert problem.message == "prompt 60 + output 5 tokens are more than context 64"
    assert [note.message for note in problem.notes] == ["output 5", "context 64"]
    assert problem.place == Place("tiny.mispec", 3, 34, len("prompt <= 60 tokens"))
    assert problem.help == "nearest feasible: context <= 65 tokens"
    fitting = resolve(parse(MODEL + lines.replace("60", "59")))
    assert infeasibilities(fitting) == []


@pytest.mark.parametrize(
    ("load", "what", "bound", "help"),
    [
        ("prompt 65", "prompt 65", "context 64", "@ prompt 64"),
        ("context 100, batch 2", "context 100", "context 64", "@ context 64"),
        ("batch 3", "batch 3", "batch 2", "@ batch 2"),
    ],
)
@pytest.mark.parametrize("section", ["require", "want"])
def test_a_promise_beyond_the_workload(
    parse: Parse, resolve: Resolve, section: str, load: str, what: str, bound: str, help: str
) -> None:
    lines = (
        f"workload {{ context <= 64 tokens; batch <= 2 }}\n{section} {{ itl.p95 <= 9 ms @ {load} }}"
    )
    problem = _conflict(parse, resolve, lines)
    assert problem.message == f"itl.p95 is asked for at {what}, which is beyond {bound}"
    assert problem.notes[0].message == bound
    assert problem.help == f"nearest feasible: {help}"


def test_expectations(parse: Parse, resolve: Resolve) -> None:
    context = "workload { context <= 9 tokens }\n"
    holding = "expect { arch == llama; layers == 30; layers < 31; vocab != 7; hidden >= 576 }"
    assert infeasibilities(resolve(parse(MODEL + context + holding))) == []
    problem = _conflict(parse, resolve, context + "expect { layers == 32 }")
    assert problem.message == "the model has layers 30, not layers == 32"
    assert problem.notes[0].message == "layers 30 in file:a.gguf"
    other = _conflict(parse, resolve, context + "expect { arch == qwen2 }")
    assert other.message == "the model has arch llama, not arch == qwen2"


def test_tensor_counts_the_feed_forward(parse: Parse, resolve: Resolve) -> None:
    lines = "workload { context <= 9 tokens }\nparallel { tensor 4 }"
    facts = {"q_heads": 8, "kv_heads": 4, "ffn_dim": 1538}
    problem = _conflict(parse, resolve, lines, **facts)
    assert problem.message == "tensor 4 does not divide ffn_dim 1538"
    assert problem.help == "tensor 1 or 2"


def test_a_group_fits_every_width(parse: Parse, resolve: Resolve) -> None:
    lines = "workload { context <= 9 tokens }\nquantize { weights w4a16 { group 64 } }"
    problem = _conflict(parse, resolve, lines, ffn_dim=1504)
    assert problem.message == "group 64 does not divide width 1504"
    assert problem.notes[0].message == "ffn_dim 1504 = 23.5 × 64"
    assert problem.help == "group 32"
    odd = _conflict(parse, resolve, lines, ffn_dim=1500)
    assert odd.help == "no group of 32, 64, 128 or 256 fits"


def test_an_unresolved_module_is_refused(shipped: Parse) -> None:
    with pytest.raises(DiagnosticError, match="needs: run resolve-model first"):
        infeasibilities(shipped("quickstart"))
