"""What the quickstart build is: its size, its style, that it repeats byte for byte."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from metainfer.codegen.c.toolchain import FLAGS
from metainfer.driver.build import CompileOptions, compile_spec
from metainfer.resources import specs_dir

QUICKSTART = specs_dir() / "quickstart.mispec"
KERNELS = {"kernels.c", "kernels.h", "lanes.h", "batch.h"}
"""Bodies, their prototypes, the vectors they are written in, and the struct they are given."""
MOST_LINES = 1200


def _tool(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def _own_text(folder: Path) -> list[Path]:
    found = [p for s in ("*.c", "*.h", "*.py") for p in folder.rglob(s)]
    return [p for p in found if p.name not in KERNELS]


def test_lines_without_kernels(quickstart):
    counts = {p.name: p.read_text().count("\n") for p in _own_text(quickstart.engine)}
    assert sum(counts.values()) <= MOST_LINES, counts


def test_generated_python_passes_ruff(quickstart):
    done = _tool("ruff", "check", "--isolated", "--no-cache", ".", cwd=quickstart.folder)
    assert done.returncode == 0, done.stdout
    done = _tool("ruff", "format", "--isolated", "--no-cache", "--line-length=100", "--check", ".",
                 cwd=quickstart.folder)  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_generated_python_passes_strict_typing(quickstart):
    name = quickstart.package.__name__
    done = _tool("mypy", "--strict", "--cache-dir=/dev/null", name, "check.py",
                 cwd=quickstart.folder)  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("optimise", ["-O0", "-O3"])
def test_generated_c_has_no_warning(quickstart, optimise, tmp_path):
    for source in sorted(quickstart.engine.glob("*.c")):
        command = ["cc", *FLAGS, optimise, "-march=native", "-Werror", "-c", str(source), "-o"]
        done = subprocess.run([*command, str(tmp_path / "x.o")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_engine_imports_nothing_of_metainfer_and_no_numpy(quickstart):
    probe = (
        "import sys, quickstart.text; list(quickstart.text.detokenize([1])); "
        "print([m for m in sys.modules if m.split('.')[0] in ('metainfer', 'numpy', 'xdsl')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=quickstart.folder, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and "__pycache__" not in p.parts
    }


def test_regenerated_byte_for_byte(quickstart, tmp_path):
    compile_spec(QUICKSTART, tmp_path / "again", CompileOptions(), lambda message: None)
    assert _digests(tmp_path / "again") == _digests(quickstart.folder)


def test_check_passes_and_notices_one_flipped_byte(quickstart, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(quickstart.folder, copy)
    clean = subprocess.run([sys.executable, "check.py"], cwd=copy, capture_output=True, text=True)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    raw = bytearray((copy / "weights.bin").read_bytes())
    raw[len(raw) // 2] ^= 1
    (copy / "weights.bin").write_bytes(raw)
    spoilt = subprocess.run([sys.executable, "check.py"], cwd=copy, capture_output=True, text=True)
    assert spoilt.returncode == 1
    assert "FAIL  weights.bin" in spoilt.stdout


def test_answer_of_the_real_model(quickstart):
    command = ["-m", "quickstart", "run", "--prompt=What is the capital of France?", "--json",
               "--max-tokens=20", "--temperature=0"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command], cwd=quickstart.folder, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    assert "Paris" in answer["text"]
    assert answer["finish_reason"] == "stop"
    assert set(answer) == {"prompt_tokens", "tokens", "text", "finish_reason", "timings"}
