"""Tiny models, and the passes with a bug each."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[2] / "support"), str(Path(__file__).parent)]

from tiny_pipeline import tiny_cache

__all__ = ["tiny_cache"]
