"""Runs every filecheck test through lit."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "filecheck"


def test_filecheck() -> None:
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
