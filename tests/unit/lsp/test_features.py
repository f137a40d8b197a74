"""What an editor is told at a position; `|` marks the cursor."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from metainfer.ir.diagnostics import Place, error
from metainfer.knowledge.base import Knowledge
from metainfer.lsp.analysis import Analysis, analyse
from metainfer.lsp.features import completions, definition, hover
from metainfer.lsp.spot import spot_at
from metainfer.resources import ckb_dir
from metainfer.spec.language import SECTIONS

KNOWLEDGE = Knowledge(ckb_dir())


def _cursor(text: str) -> tuple[str, int, int]:
    before, _, after = text.partition("|")
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def _offers(text: str) -> set[str]:
    return {offer.word for offer in completions(spot_at(*_cursor(text)))}


def _hover(text: str) -> str:
    found = hover(*_cursor(text), KNOWLEDGE)
    return found[0] if found else ""


# === Completion ===


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("|", {"engine", "use"}, {"target"}),
        ("engine x {\n  |", {"target", "workload", "use"} - {"use"}, {"isa", "engine"}),
        ("engine x {\n  tar|", {"target"}, {"isa"}),
        ("engine x { target |", {"cpu", "cuda"}, {"isa"}),
        ("engine x { target cpu { |", {"isa", "threads", "memory"}, {"arch", "kv"}),
        ("engine x { target cuda { isa auto; |", {"arch", "devices"}, {"isa", "threads"}),
        ("engine x { target cpu { isa |", {"auto", "avx2"}, {"f16"}),
        ("engine x { target cpu { isa a| }\n}", {"auto", "avx2"}, {"f16"}),
        ("engine x { target cpu { isa auto\n |", {"threads"}, {"avx2"}),
        ("engine x { require { kv <= 4 |", {"MiB", "GB"}, {"ms", "tokens"}),
        ("engine x { require { itl.p95 <= 4 |", {"ms"}, {"MiB"}),
        ("engine x { require { |", {"itl.p95", "kv", "throughput.user"}, {"itl"}),
        ("engine x { require { itl.p95 <= 4 ms @ |", {"context", "prompt"}, {"rate"}),
        ("engine x { require { itl.p95 <= 4 ms @ prompt 4, |", {"context"}, {"ms"}),
        ("engine x { require { kl <= 0.1 |", {"vs"}, {"MiB"}),
        ("engine x { require { kl <= 0.1 vs |", {"reference"}, {"kl"}),
        ("engine x { quantize { weights |", {"as_stored", "w4a16", "q8_0"}, {"except"}),
        ("engine x { quantize { weights as_stored |", {"except"}, {"q8_0"}),
        ("engine x { quantize { weights as_stored except lm_head |", {"q8_0"}, {"w4a16"}),
        ("engine x { quantize { weights w4a16 { |", {"group", "zero"}, {"acts"}),
        ("engine x { quantize { weights w4a16 { zero |", {"symmetric"}, {"f16"}),
        ("engine x { prefer { |", {"min", "then"}, {"itl"}),
        ("engine x { prefer { min |", {"itl", "itl.p95", "memory"}, {"throughput"}),
        ("engine x { prefer { min itl; then max |", {"throughput.total"}, {"memory"}),
        ("engine x { serve |", {"openai", "cli"}, {"chat"}),
        ("engine x { kernels { from ckb, |", {"llm"}, {"budget"}),
        ("engine x { kernels { budget 4 |", {"tokens", "min"}, {"MiB"}),
        ("engine x { target cpu {\n isa auto }\n |", {"workload"}, {"isa"}),
        ("engine x { target cpu\n{\n |", {"isa"}, {"workload"}),
    ],
)
def test_words_that_fit(text: str, some: set[str], none: set[str]) -> None:
    offers = _offers(text)
    assert some <= offers
    assert not none & offers


@pytest.mark.parametrize(
    "text", ['engine x { model "|"', "engine x { nonsense { |", "engine x { workload { foo |"]
)
def test_nothing_is_offered_where_nothing_is_known(text: str) -> None:
    assert _offers(text) == set()


def test_every_word_of_the_language_is_offered_somewhere() -> None:
    for name, section in SECTIONS.items():
        assert name in _offers("engine x {\n|")
        for word, key in section.keys.items():
            operand = next(iter(key.devices or section.operands), "")
            offers = _offers(f"engine x {{\n{name} {operand} {{ |")
            assert word in {offer.split(".")[0] for offer in offers}
            values = _offers(f"engine x {{\n{name} {operand} {{ {word} |")
            assert set(key.words) <= values


# === Hover ===


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("en|gine x { }", "one engine"),
        ('us|e "a.mispec"', "constraints hold here too"),
        ("engine x { work|load { } }", "Demands"),
        ("engine x { workload { con|text <= 5 tokens } }", "Prompt and generated tokens"),
        ("engine x { require { itl|.p95 <= 5 ms } }", "Time between two tokens"),
        ("engine x { require { itl.p95 <= 5 ms @ pro|mpt 5 } }", "Tokens of a prompt"),
        ("engine x { require { kv <= 5 M|iB } }", "`MiB`: a unit of memory, 1,048,576 B"),
        ("engine x { target cpu { bandwidth 5 TB|/s } }", "1,000,000,000,000 B/s"),
        ("engine x { prefer { min it|l } }", "Time between two tokens"),
        ("engine x { require { kl <= 1 vs refer|ence } }", "R0"),
        ("engine x { quantize { weights w4a16 { gro|up 64 } } }", "Weights that share a scale"),
        ("engine x { quantize { weights q4|_1 } }", "32 values in 20 bytes, 5 bits a value"),
        ("engine x { quantize { weights as_stored except a q8|_0 } }", "quant/q8_0"),
        ("engine x { target cpu { isa av|x2 } }", "hardware/x86_64"),
        ("engine x { expect { arch == lla|ma } }", "family/llama"),
    ],
)
def test_what_a_word_means(text: str, expected: str) -> None:
    assert expected in _hover(text)


def test_a_contract_gives_its_reason() -> None:
    contract = KNOWLEDGE.get("quant/q4_1", object)  # type: ignore[type-var]
    assert contract.why in _hover("engine x { quantize { weights q4|_1 } }")


@pytest.mark.parametrize(
    "text",
    [
        "engine x { }|",
        "engine x { wo|rd { } }",
        "engine | x { }",
        'engine x { model |"a" }',
        "\n\n|",
    ],
)
def test_no_hover_where_there_is_nothing_to_say(text: str) -> None:
    assert _hover(text) == ""


# === Definition and diagnostics ===

BASE = """engine base {
  target cpu { isa avx2 }
  quantize { kv f16 }
  workload { context <= 64 tokens }
}
"""


def _analysis(text: str, folder: Path) -> Analysis:
    def read(path: str, place: Place | None) -> str:
        found = Path(path)
        if not found.is_file():
            raise error(f"no {path}", place)
        return found.read_text()

    return analyse(text, str(folder / "top.mispec"), read)


def _definition(marked: str, folder: Path) -> str | None:
    text, line, col = _cursor(dedent(marked))
    place = definition(text, line, col, _analysis(text, folder), KNOWLEDGE)
    return f"{Path(place.file).name}:{place.line}:{place.col}" if place else None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ('use "bas|e.mispec"\nengine x { }', "base.mispec:1:1"),
        ('use "gon|e.mispec"\nengine x { }', None),
        ('use "base.mispec"\nengine x { quantize { k|v f16 } }', "base.mispec:3:14"),
        ('use "base.mispec"\nengine x { quantize { k|v f32 } }', "base.mispec:3:14"),
        ('use "base.mispec"\nengine x { workload { con|text <= 9 tokens } }', "base.mispec:4:14"),
        ('use "base.mispec"\nengine x { target c|pu }', "base.mispec:2:3"),
        ("engine x { quantize { weights q4|_1 } }", "contract.yaml:1:1"),
        ("engine x { target cpu { isa av|x2 } }", "contract.yaml:1:1"),
        ("engine x { quantize { k|v f16 } }", None),
        ("engine x { } |", None),
    ],
)
def test_where_a_word_comes_from(tmp_path: Path, text: str, target: str | None) -> None:
    (tmp_path / "base.mispec").write_text(BASE)
    assert _definition(text, tmp_path) == target


def test_errors_and_what_cannot_be_built_in_the_order_of_the_text(tmp_path: Path) -> None:
    text = "engine x {\n serve openai\n quantise { }\n parallel { tensor 2 }\n}"
    analysis = _analysis(text, tmp_path)
    found = [(p.severity, p.place.line if p.place else 0) for p in analysis.problems]
    assert found == [("warning", 2), ("error", 3), ("warning", 4)]


def test_a_pin_of_a_used_file_may_not_be_overridden(tmp_path: Path) -> None:
    (tmp_path / "base.mispec").write_text(BASE)
    analysis = _analysis('use "base.mispec"\nengine x { quantize { kv f32 } }', tmp_path)
    (problem,) = analysis.problems
    assert problem.message.startswith("kv f32 overrides a value")
    assert problem.place is not None and problem.place.line == 2


def test_a_problem_of_a_used_file_is_shown_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "base.mispec").write_text("engine base { nonsense }")
    (problem,) = _analysis('use "base.mispec"\nengine x { }', tmp_path).problems
    assert problem.place == Place(str(tmp_path / "top.mispec"), 1, 1, len('use "base.mispec"'))
    assert "base.mispec:1:15: unknown section: 'nonsense'" in problem.message


def test_a_file_that_cannot_be_read_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "base.mispec").write_text(BASE)
    text = 'use "gone.mispec"\nuse "base.mispec"\nengine x { }'
    analysis = _analysis(text, tmp_path)
    assert [p.place.line for p in analysis.problems if p.place] == [1]
    assert "avx2" in [item.value for item in analysis.imported]
