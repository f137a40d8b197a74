"""Tiny models for these tests; `tests/support` makes them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "support"))

from tiny_pipeline import tiny_cache

__all__ = ["tiny_cache"]
