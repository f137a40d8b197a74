"""The allow-list of `allowed.toml` for one instruction set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Allowed:
    """Names that a body may mention."""

    types: Mapping[str, int]
    """With the most bytes of one."""
    constants: Mapping[str, int]
    """With their largest value."""
    calls: Mapping[str, str]
    """With a letter per argument: `x` value, `p` pointer, `w` pointer that is written."""
    fields: Mapping[str, str]
    """Of `struct mi_batch`: `x` value, `p` pointer."""


def allowed_in(isa: str) -> Allowed:
    """The list for an instruction set; one that adds nothing has the common part."""
    data = _data()
    types, calls = dict(data["types"]), dict(data["calls"])
    name: str | None = isa
    while name is not None:
        own = data["isa"].get(name, {})
        types |= own.get("types", {})
        calls |= own.get("calls", {})
        name = own.get("includes")
    return Allowed(types, data["constants"], calls, data["fields"])


def allowed_symbols() -> frozenset[str]:
    """Symbols that an object may leave undefined."""
    return frozenset(name for text in _data()["symbols"].values() for name in text.split())


@cache
def _data() -> dict[str, Any]:
    import tomllib

    return tomllib.loads((files(__package__) / "allowed.toml").read_text(encoding="utf-8"))
