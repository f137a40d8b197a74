"""llama.cpp and the quickstart engine against R0, at 64 positions of each of eight prompts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from numpy.typing import NDArray

from metainfer.cli.commands import check_command
from metainfer.driver import agreement
from metainfer.driver.agreement import Agreement, forced, judged
from metainfer.driver.built import Built
from metainfer.driver.prompts import PROMPTS
from metainfer.driver.reference import reference_of
from metainfer.driver.session import compiler_context
from metainfer.interp.numerics import F32
from metainfer.interp.r0 import teacher_forced
from metainfer.interp.run import Interpreter
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.resources import specs_dir

FIXTURES = Path(__file__).parents[1] / "fixtures"
Recording = dict[str, Any]
Rows = NDArray[np.floating]
SHORT = "list"
"""The prompt with the fewest tokens."""


def recording(name: str) -> Recording:
    """A recording; see tests/oracle/README.md."""
    data: Recording = json.loads((FIXTURES / name).read_text())
    return data


@pytest.fixture(scope="module")
def r0() -> Recording:
    """What R0 said."""
    return recording("r0_smollm2.json")


def row_of(recorded: Recording, name: str) -> Recording:
    """A prompt's part of a recording."""
    row: Recording = {row["name"]: row for row in recorded["prompts"]}[name]
    return row


def engine_agreement(engine: Any, prompts: list[Recording]) -> Agreement:
    """The engine, fed R0's tokens, against R0."""
    found: list[agreement.Position] = []
    for row in prompts:
        logits = forced(engine, row["prompt_ids"], row["tokens"])
        found += judged(row["name"], row["top2"], [int(x.argmax()) for x in logits])
    return Agreement(tuple(found))


def report(who: str, found: Agreement) -> None:
    """Print what was excluded, as the rule asks for; shown by `pytest -s`."""
    print(f"{who}: {found.agreed} of {len(found.positions)} agree; excluded: {found.excluded}")


def test_the_recording_is_of_the_eight_prompts(r0: Recording) -> None:
    reference = reference_of(specs_dir() / "quickstart.mispec", compiler_context())
    assert r0["model"]["sha256"] in str(reference.module)
    assert [row["prompt_ids"] for row in r0["prompts"]] == [reference.encode(p) for p in PROMPTS]
    for row in r0["prompts"]:
        assert len(row["tokens"]) == len(row["top2"]) == agreement.STEPS
        assert [best for (best, _), _ in row["top2"]] == row["tokens"]


def test_llama_cpp_agrees_with_r0(r0: Recording) -> None:
    llama = recording("llama_logits_smollm2.json")
    assert llama["model"]["sha256"] == r0["model"]["sha256"]
    found: list[agreement.Position] = []
    for ours, theirs in zip(r0["prompts"], llama["prompts"], strict=True):
        assert theirs["prompt_ids"] == ours["prompt_ids"]
        assert theirs["tokens"] == ours["tokens"]
        chosen = [top[0][0] for top in theirs["top2"]]
        found += judged(ours["name"], ours["top2"], chosen)
    result = Agreement(tuple(found))
    report("llama.cpp", result)
    assert len(result.positions) == 512
    assert result.holds, result.different


def test_the_engine_agrees_with_r0(quickstart: Any, r0: Recording) -> None:
    with quickstart.package.Engine() as engine:
        result = engine_agreement(engine, r0["prompts"])
    report("engine", result)
    assert len(result.positions) == 512
    assert result.holds, result.different


def test_an_engine_with_other_weights_does_not_agree(
    quickstart: Any, r0: Recording, tmp_path: Path
) -> None:
    raw = bytearray((quickstart.folder / "weights.bin").read_bytes())
    middle = len(raw) * 3 // 4
    raw[middle : middle + 2**20] = bytes(2**20)
    (tmp_path / "weights.bin").write_bytes(raw)
    with quickstart.package.Engine(tmp_path / "weights.bin") as engine:
        assert not engine_agreement(engine, r0["prompts"][:1]).holds


def test_r0_still_says_what_was_recorded(r0: Recording) -> None:
    """Equal to the recording as far as float32 can tell.

    Interpreters on other machines add up in other orders, so the last bits of float64 are free. Its
    proven bound is of no use here: over 30 layers worst cases multiply beyond all numbers.
    """
    reference = reference_of(specs_dir() / "quickstart.mispec", compiler_context())
    row = row_of(r0, SHORT)
    count, prompt = 8, row["prompt_ids"]
    fed = prompt + row["tokens"][: count - 1]
    interpreter = Interpreter(reference.module, reference.weights)
    (logits,) = teacher_forced(interpreter, fed, len(fed))
    now = logits[len(prompt) - 1 :]
    assert len(now) == count
    assert now.argmax(axis=1).tolist() == row["tokens"][:count]
    recorded = np.array(row["sampled"][:count])
    allowed = F32.unit * np.abs(now).max(axis=1, keepdims=True)
    assert (np.abs(now[:, r0["sampled_ids"]] - recorded) <= allowed).all()


@pytest.fixture
def one_short_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check --reference` on little: all of it takes a minute."""
    monkeypatch.setattr(agreement, "PROMPTS", [p for p in PROMPTS if p.name == SHORT])
    monkeypatch.setattr(agreement, "STEPS", 6)


def check(folder: Path, json: bool) -> int:
    """`metainfer check --reference` in this process; its exit code."""
    with pytest.raises(typer.Exit) as done:
        check_command(folder, reference=True, json=json)
    return done.value.exit_code


def test_check_computes_r0_and_compares_every_layer(
    quickstart: Any, r0: Recording, one_short_prompt: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert check(quickstart.folder, json=True) == 0
    said = capfd.readouterr()
    assert "ok    tokens of case 1" in said.err
    data = json.loads(said.out)
    assert (data["positions"], data["agreed"], data["holds"]) == (6, 6, True)
    assert data["excluded"] == data["different"] == []
    assert [row["layer"] for row in data["layers"]] == list(range(30))
    assert all(0 < row["relative_rms"] <= row["worst_token"] for row in data["layers"])


def test_check_fails_where_the_rule_does(
    quickstart: Any,
    r0: Recording,
    one_short_prompt: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(agreement, "NEAR_TIE", 1e9)
    assert check(quickstart.folder, json=False) == 1
    lines = [line for line in capfd.readouterr().out.splitlines() if line[:2] != "ok"]
    assert lines[0].startswith("6 positions: 0 agree with R0, 0 differ, 6 excluded")
    tokens = row_of(r0, SHORT)["tokens"]
    for index, line in enumerate(lines[1:7]):
        assert line.startswith(f"near tie: {SHORT}[{index}], R0 {tokens[index]}, ")
    assert [line.split(":")[0] for line in lines[7:]] == ["layer 0", "layer 14", "layer 29"]


def test_the_shipped_engine_has_no_trace_in_it(quickstart: Any) -> None:
    for path in quickstart.engine.iterdir():
        if path.is_file():
            assert b"mi_trace" not in path.read_bytes(), path.name


def test_both_entries_of_the_traced_engine_show_their_layers(
    quickstart: Any, r0: Recording
) -> None:
    """What is shown of a layer is nearer to R0's output of it than to that of any other layer."""
    seen: list[tuple[int, Rows]] = []
    expected: list[Rows] = []
    row = row_of(r0, SHORT)
    ids, first = row["prompt_ids"], row["tokens"][0]
    built = Built(quickstart.folder, compiler_context())
    with built.traced_engine(lambda layer, rows: seen.append((layer, rows.copy()))) as engine:
        engine.evaluate(ids)
        engine.evaluate([first], len(ids))
    assert [(layer, len(rows)) for layer, rows in seen] == [
        (layer, count) for count in (len(ids), 1) for layer in range(30)
    ]

    def observe(name: str, layer: int | None, value: Any) -> None:
        if name == "@layer":
            expected.append(value)

    interpreter = Interpreter(built.reference.module, built.reference.weights, observe=observe)
    list(teacher_forced(interpreter, [*ids, first], len(ids) + 1))
    for layer, rows in seen:
        part = slice(len(ids)) if len(rows) > 1 else slice(len(ids), None)
        distances = [np.linalg.norm(rows - other[part]) for other in expected]
        assert int(np.argmin(distances)) == layer


@pytest.mark.parametrize("name", ["model.c", "engine.so"])
def test_a_build_that_is_not_what_its_ir_says_is_refused(
    quickstart: Any, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(quickstart.folder, copy)
    target = copy / "quickstart" / name
    target.write_bytes(target.read_bytes() + b"\n")
    built = Built(copy, compiler_context())
    with (
        pytest.raises(DiagnosticError, match="is not what"),
        built.traced_engine(lambda layer, rows: None),
    ):
        pass


def test_json_goes_with_the_reference(quickstart: Any) -> None:
    command = [sys.executable, "-m", "metainfer.cli.main", "check", str(quickstart.folder)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "--json goes with --reference" in done.stderr
