"""Recordings of what independent programs say about the same model file."""

import sys
from pathlib import Path

# What recordings share with the tests that read them.
sys.path.append(str(Path(__file__).parents[1] / "support"))
