"""What is printed for which features; and what must not be."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_engine import FAKE, STRICT, TEMPLATE, WEIGHTS_ID, Build, write_build

from metainfer.codegen.host.emit import (
    FEATURES,
    WEIGHTS_HEADER_BYTES,
    HostFacts,
    emit_host,
    expand,
    weights_header,
)
from metainfer.ir.diagnostics import DiagnosticError

SAMPLING = ["top_k", "top_p", "seed"]
SUBSETS = [set()] + [
    {"temperature", *some} for n in range(4) for some in itertools.combinations(SAMPLING, n)
]
COMBINATIONS = [s | c for s in SUBSETS for c in (set(), {"chat"})]
TRACES = {  # how each feature is spelled, in C, Python, options and help
    "temperature": r"temperature|sampling|mi_sample|mi_scratch|splitmix|random|secrets",
    "top_k": r"top_?-?k\b|kth|heap",
    "top_p": r"top_?-?p\b|bits_of",
    "seed": r"seed",
    "chat": r"chat|jinja|template|--raw|--system",
}


def facts(features: set[str]) -> HostFacts:
    return HostFacts("tiny", frozenset(features), None, TEMPLATE if "chat" in features else None)


@pytest.mark.parametrize("features", COMBINATIONS, ids=lambda f: "+".join(sorted(f)) or "none")
def test_what_is_not_asked_leaves_no_trace(features: set[str]) -> None:
    text = "\n".join(t for _, t in sorted(emit_host(facts(features)).items()))
    for feature, trace in TRACES.items():
        assert bool(re.search(trace, text)) == (feature in features), feature
    assert "%" not in "".join(re.findall(r"^\s*(?://|#)(.)", text, re.M))
    assert "${" not in text


def test_what_is_not_asked_leaves_no_symbol(make_build: Callable[..., Build]) -> None:
    wanted = {"mi_sample", "mix", "uniform", "kth_largest", "sift_down", "keep_top_p", "bits_of"}
    builds = {
        frozenset[str](): set(),
        frozenset({"temperature"}): {"mi_sample", "mix", "uniform"},
        frozenset({"temperature", "top_k"}): wanted - {"keep_top_p", "bits_of"},
        frozenset({"temperature", "top_p"}): wanted - {"kth_largest", "sift_down"},
    }
    for features, expected in builds.items():
        build = make_build(sorted(features), "-O0")
        library = build.root / build.package.__name__ / "engine.so"
        lines = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
        assert {line.split()[-1] for line in lines.splitlines()} & wanted == expected


@pytest.mark.parametrize("features", COMBINATIONS, ids=lambda f: "+".join(sorted(f)) or "none")
def test_generated_c_is_clean(features: set[str], tmp_path: Path) -> None:
    for path, text in emit_host(facts(features)).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "tiny/engine.h").write_bytes((FAKE / "engine.h").read_bytes())
    sources = sorted(map(str, (tmp_path / "tiny").glob("*.c")))
    flags = [*STRICT, "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-fsyntax-only"]
    done = subprocess.run(["gcc", *flags, *sources], capture_output=True, text=True)
    assert done.stderr == ""


def test_generated_python_is_clean(tmp_path: Path) -> None:
    for number, features in enumerate(COMBINATIONS):
        for path, text in emit_host(facts(features)).items():
            to = tmp_path / str(number) / path
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(text)
    rules = "B,C4,E,F,I,ISC,PIE,RET,RUF,SIM,UP,W"
    tools = [
        ["ruff", "format", "--isolated", "--line-length=100", "--check", "."],
        ["ruff", "check", "--isolated", "--line-length=100", f"--select={rules}", "."],
    ]
    whole, none = COMBINATIONS.index(set(FEATURES)), COMBINATIONS.index(set())
    for number in (whole, none):
        tools.append(["mypy", "--strict", f"{number}/tiny", f"{number}/check.py"])
    for tool in tools:
        done = subprocess.run(
            [sys.executable, "-m", *tool], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_generated_python_needs_only_tokenizers_and_jinja2() -> None:
    found = set()
    for path, text in emit_host(facts(set(FEATURES))).items():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    found |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    found.add(str(node.module).split(".")[0])
    assert found - sys.stdlib_module_names == {"tiny", "tokenizers", "jinja2"}


def test_the_same_facts_give_the_same_text_and_not_too_much() -> None:
    first, second = (emit_host(facts(set(FEATURES))) for _ in range(2))
    assert first == second
    lines = {p: t.count("\n") for p, t in first.items() if not p.endswith(".jinja")}
    assert sum(lines.values()) <= 1050  # leaves room for model.c within 1,200


def test_the_runtime_holds_its_locks_right(tmp_path: Path) -> None:
    _drive(tmp_path, "-fsanitize=thread")


def test_the_runtime_stays_in_its_memory(tmp_path: Path) -> None:
    _drive(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def _drive(tmp_path: Path, *sanitizer: str) -> None:
    """Fixed addresses, since the thread sanitizer cannot place its shadow around random ones."""
    root = write_build(tmp_path, "tiny", sorted(FEATURES))
    sources = [*sorted((root / "tiny").glob("*.c")), FAKE / "drive.c"]
    program = root / "drive"
    include = f"-I{root / 'tiny'}"
    subprocess.run(
        ["gcc", *STRICT, "-g", *sanitizer, include, *sources, "-o", program, "-lm"], check=True
    )
    command = ["setarch", "-R", program, root / "weights.bin"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize(
    ("name", "features", "message"),
    [
        ("a-b", set(), "'a-b' is not an identifier"),
        ("class", set(), "'class' is a word of Python"),
        ("tiny", {"temprature"}, "no feature 'temprature'"),
        ("tiny", {"top_k"}, "'top_k' means nothing without 'temperature'"),
        ("tiny", {"chat"}, "no chat template"),
    ],
)
def test_facts_that_make_no_engine(name: str, features: set[str], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        HostFacts(name, frozenset(features))


def test_a_misspelled_feature_gets_a_suggestion() -> None:
    with pytest.raises(DiagnosticError) as caught:
        HostFacts("tiny", frozenset({"temprature"}))
    assert caught.value.diagnostics[0].help == "did you mean 'temperature'?"


def test_conditions_nest_and_have_alternatives() -> None:
    template = "a\n//% if x\nb\n#% if y\nc ${w}\n#% else\nd\n#% end\n//% end\ne"
    assert expand(template, {"x", "y"}, {"w": "W"}) == "a\nb\nc W\ne\n"
    assert expand(template, {"x"}, {}) == "a\nb\nd\ne\n"
    assert expand(template, {"y"}, {}) == "a\ne\n"


@pytest.mark.parametrize("template", ["//% if x\n", "//% end\n", "//% else\n", "${unknown}\n"])
def test_a_broken_template_is_an_error(template: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError)):
        expand(template, {"x"}, {})


def test_the_header_of_the_weights_file() -> None:
    header = weights_header(WEIGHTS_ID)
    assert header == b"MIWEIGHT" + WEIGHTS_ID.encode() + bytes(WEIGHTS_HEADER_BYTES - 72)
    with pytest.raises(ValueError, match="not a SHA-256"):
        weights_header(WEIGHTS_ID[1:])
