"""A small run of the fuzzer of the language; `python -m tests.fuzz.mispec` runs 20,000."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_made_and_damaged_specs() -> None:
    command = [sys.executable, "-m", "tests.fuzz.mispec", "--count", "500", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.findall(r"(\d+) (read|refused|broken)", done.stdout)
    read, refused, broken = (int(count) for count, _ in counts)
    assert (read + refused, broken) == (500, 0)
    # Every made input is read, and damage is not without effect.
    assert read >= 250 and refused >= 100
