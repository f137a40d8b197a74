"""A small run of the fuzzer of model files; `python -m tests.fuzz.models` runs 10,000."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_damaged_model_files() -> None:
    command = [sys.executable, "-m", "tests.fuzz.models", "--count", "300"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [line.split() for line in done.stdout.splitlines()[:-1]]
    counts = {f"{kind} {outcome}": int(count) for count, kind, outcome in outcomes}
    assert sum(counts.values()) == 315
    for kind in ("gguf", "json", "safetensors"):
        assert counts[f"{kind} loaded"] > 0
        assert counts[f"{kind} refused"] > 50
