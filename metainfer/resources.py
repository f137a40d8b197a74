"""Where the contracts and example specs are: inside the wheel, or in the checkout beside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def _data(name: str) -> Path:
    packaged = _PACKAGE / "_data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name


def ckb_dir() -> Path:
    """The contract knowledge base that ships with this version."""
    return _data("ckb")


def specs_dir() -> Path:
    """The example `.mispec` files that ship with this version."""
    return _data("specs")
