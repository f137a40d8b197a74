"""Running what was built: a generated engine is its own program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from metainfer.ir.diagnostics import error


def package_of(folder: Path) -> str:
    """Name of the engine's package inside a build folder."""
    found = [p.parent.name for p in folder.glob("*/engine.so")]
    if len(found) != 1 or not (folder / "manifest.json").is_file():
        raise error(f"{folder} is no engine folder", help="make one: metainfer compile SPEC -o DIR")
    return found[0]


def _execute(folder: Path, arguments: list[str]) -> int:
    """Replace this process, so that signals and streams are the engine's own."""
    command = [sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": str(folder.resolve())}
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)


def run_engine(folder: Path, arguments: list[str]) -> int:
    """`python -m <engine> run ...` in place of this process."""
    return _execute(folder, ["-m", package_of(folder), "run", *arguments])


def worker(folder: Path, arguments: list[str]) -> int:
    """`python -m <engine> worker ...`: the benchmark protocol on standard input and output."""
    return _execute(folder, ["-m", package_of(folder), "worker", *arguments])


def check_engine(folder: Path, stdout: int | None = None) -> int:
    """Run the folder's own `check.py`, its lines to the file descriptor `stdout`; its exit code."""
    package_of(folder)
    command = [sys.executable, str(folder / "check.py")]
    code = subprocess.run(command, stdout=stdout).returncode
    return code if code >= 0 else 128 - code
