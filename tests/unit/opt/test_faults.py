"""Ten passes with a bug each: bisection names every one, reduction leaves ten ops at most.

`METAINFER_FAULT_OPS=10000 pytest tests/unit/opt/test_faults.py` does it at full size.
"""

import os
import re
from functools import cache
from pathlib import Path

import pytest
from tiny_pipeline import tiny_stages
from unrolled import unrolled

from metainfer.cli.opt import main
from metainfer.ir.text import print_module
from metainfer.passes.instruments.statistics import count_ops

OPS = int(os.environ.get("METAINFER_FAULT_OPS", "120"))
PLUGIN = Path(__file__).parent / "faulty" / "passes.py"
FAULTS = {
    "faulty-dominance": "is used before it is defined",
    "faulty-location": "a new infer.add has no location",
    "faulty-symbol": "no symbol @",
    "faulty-state": "state is taken over",
    "faulty-weight": "no symbol @",
    "faulty-dims": "result is (x rows, w rows)",
    "faulty-schedule": "the schedule is not 0, 1, 2",
    "faulty-pingpong": "endless rewriting by 'sum-first' and 'sum-last'",
    "faulty-raise": "KeyError: 'infer.gated_act'",
    "faulty-meaning": "the first difference is in infer.rms_norm",
}
WITHOUT_REWRITES = {"faulty-symbol", "faulty-weight", "faulty-raise"}
"""They count none, so that no single rewrite is named."""


@cache
def _module_text() -> str:
    module = unrolled(tiny_stages().after("expand-model"), OPS, only=False)
    assert count_ops(module) >= OPS
    return print_module(module)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(_module_text())
    return path


def _run(source: Path, name: str, *flags: str) -> int:
    arguments = [str(source), "--load-pass-plugin", str(PLUGIN), *flags]
    if name == "faulty-meaning":
        arguments.append("--validate")
    return main(arguments)


@pytest.mark.parametrize("name", FAULTS)
def test_bisection_names_the_pass(
    name: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = f"swap-adds,name-values,{name},swap-adds"
    assert _run(source, name, "-p", passes, "--bisect-passes") == 1
    out = capsys.readouterr().out
    assert out.startswith(f"pass 3 of 4 fails first: {name}\n")
    assert FAULTS[name] in out
    assert ("is the first that breaks it" in out) == (name not in WITHOUT_REWRITES)


@pytest.mark.parametrize("name", FAULTS)
def test_reduction_keeps_the_failure_and_little_else(
    name: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.mlir"
    passes = f"swap-adds,{name},name-values"
    assert _run(source, name, "-p", passes, "--reduce", "-o", str(small)) == 0
    before, after, _tries = map(int, re.findall(r"\d+", capsys.readouterr().err))
    assert before >= OPS
    assert after <= 10
    code = main(["--run-reproducer", str(small), "--load-pass-plugin", str(PLUGIN)])
    assert code == (3 if name == "faulty-raise" else 1)
    assert FAULTS[name] in capsys.readouterr().err


@pytest.mark.parametrize("name", FAULTS)
def test_a_crash_reproducer_holds_the_module_before_the_pass(
    name: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crash = tmp_path / "crash.mlir"
    passes = f"name-values,{name},swap-adds"
    code = 3 if name == "faulty-raise" else 1
    assert _run(source, name, "-p", passes, f"--crash-reproducer={crash}") == code
    assert crash.read_text().startswith(f"// RUN: metainfer-opt %s -p {name},swap-adds")
    capsys.readouterr()
    assert main(["--run-reproducer", str(crash), "--load-pass-plugin", str(PLUGIN)]) == code
    assert FAULTS[name] in capsys.readouterr().err


def test_what_two_correct_passes_do_is_not_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(print_module(tiny_stages().after("expand-model")))
    flags = ("--validate", "--verify-roundtrip", "--bisect-passes")
    assert _run(source, "", "-p", "swap-adds,name-values", *flags) == 0
    assert capsys.readouterr().out == "no pass fails: 2 ran and every check held\n"
