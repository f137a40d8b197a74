"""What a spec may ask for and this version cannot build yet.

Nothing that a spec says is ignored: what has no mechanism yet is refused at its place, with the
reason and what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import Diagnostic, Note, Place
from metainfer.passes.mechanisms import (
    ALLOWED,
    BOUNDS,
    DEVICES,
    FEATURES,
    LIMITS,
    MAX_BATCH,
    MEASURES,
    NEEDED,
    PINS,
    REASONS,
    SOURCES,
)
from metainfer.spec.items import Item, Sheet
from metainfer.spec.language import SECTIONS
from metainfer.spec.lower import lift_engine
from metainfer.spec.view import SpecView

_PREFIXES = frozenset(section.prefix for section in SECTIONS.values() if section.prefix)


def unsupported(module: ModuleOp) -> list[Diagnostic]:
    """One diagnostic for each constraint that cannot be built yet, in the order of the source."""
    return refusals(lift_engine(SpecView(module).engine_op))


def refusals(sheet: Sheet) -> list[Diagnostic]:
    """As `unsupported`, before there is IR; what belongs to a refused thing is left out."""
    found: dict[str, Diagnostic] = {}
    for item in sheet.items:
        refusal = _refusal(item)
        if refusal is not None and not any(_belongs(item, owner) for owner in found):
            found[f"{item.op} {item.what} {item.site} {item.place}"] = _diagnostic(item, refusal)
    return sorted(found.values(), key=lambda problem: problem.place or Place("", 0, 0))


class _Refusal(NamedTuple):
    """What is refused, and what is there instead."""

    what: str
    supported: str | None = None


def _diagnostic(item: Item, refusal: _Refusal) -> Diagnostic:
    reason, help = _reason(item)
    notes = (Note(reason),) if reason else ()
    message = f"{refusal.what} is not supported yet"
    return Diagnostic(message, item.place, notes, refusal.supported or help)


def _reason(item: Item) -> tuple[str, str]:
    """Why, and what to do instead: by the longest name that the table has."""
    what = item.what.partition(":")[0] if item.op == "model" else item.what
    name = f"{item.op}:{what}"
    found = [start for start in REASONS if f"{name}.".startswith(f"{start}.") or start == item.op]
    return REASONS[max(found, key=len)] if found else ("", "remove it")


def _belongs(item: Item, owner: str) -> bool:
    """Whether `item` is a part of what `owner` says, which is refused already."""
    op, what, *_ = owner.split(" ")
    if op == "target":
        return item.what in ("arch", "devices", "memory", "bandwidth", "price", "cores", "isa")
    if what == "kernels.from":
        return item.what.startswith("kernels.")
    return item.what.startswith(f"{what}.") and op in ("feature", "pin")


def _refusal(item: Item) -> _Refusal | None:
    match item.op:
        case "model":
            return _source(item)
        case "target" if item.what not in DEVICES:
            return _Refusal(f"target {item.what}", f"supported: target {_list(DEVICES)}")
        case "demand":
            return _demand(item)
        case "require" if item.what not in MEASURES:
            return _Refusal(f"a bound on {item.what}")
        case "want" if item.what not in MEASURES:
            return _Refusal(f"a wish for {item.what}")
        case "prefer":
            return _Refusal(f"'{item.value} {item.what}'")
        case "except":
            return _Refusal(f"'except {item.site} {item.value}'")
        case "pin":
            return _pin(item)
        case "limit" if item.what not in LIMITS:
            return _Refusal(f"'{_said(item)}'")
        case "allow":
            return _allow(item)
        case "feature" if item.what not in FEATURES:
            return _Refusal(f"'{_feature(item.what)}'")
    return None


def has_source(uri: str) -> bool:
    """Whether models come from there; what is no source at all is refused where it is read."""
    scheme = uri.partition(":")[0]
    return scheme in SOURCES or f"model:{scheme}" not in REASONS


def _source(item: Item) -> _Refusal | None:
    if has_source(item.what):
        return None
    scheme = item.what.partition(":")[0]
    return _Refusal(f"a model from '{scheme}:'", REASONS[f"model:{scheme}"][1])


def _demand(item: Item) -> _Refusal | None:
    if item.operator == "~":
        return _Refusal(f"a typical {item.what}")
    if item.what not in BOUNDS:
        return _Refusal(f"a bound on {item.what}", f"supported: {_list(BOUNDS)}")
    if item.what == "batch" and isinstance(item.value, int) and item.value > MAX_BATCH:
        return _Refusal(f"batch <= {item.value}", f"supported: batch <= {MAX_BATCH}")
    return None


def _pin(item: Item) -> _Refusal | None:
    allowed = PINS.get(item.what, ())
    name = _short(item.what)
    if item.operator != "==":
        return _Refusal(f"a bound on {name}", f"pin it: {name} {item.value}")
    if allowed is None or item.value in allowed:
        return None
    supported = f"supported: {name} {_list(allowed)}" if allowed else None
    return _Refusal(f"{name} {item.value}", supported)


def _allow(item: Item) -> _Refusal | None:
    values = tuple(str(value) for value in item.value) if isinstance(item.value, tuple) else ()
    if item.what in NEEDED:
        missing = [name for name in NEEDED[item.what] if name not in values]
        if not missing:
            return None
        supported = f"it needs {_list(NEEDED[item.what])}"
        return _Refusal(f"an engine without {_list(missing)}", supported)
    if values == ALLOWED.get(item.what):
        return None
    return _Refusal(f"'{_said(item)}'")


def _said(item: Item) -> str:
    """The item in short: `stop <= 4`, `from ckb, llm`."""
    value = ", ".join(map(str, item.value)) if isinstance(item.value, tuple) else str(item.value)
    operator = "" if item.operator == "==" else f" {item.operator}"
    unit = f" {item.unit}" if item.unit else ""
    return f"{_short(item.what)}{operator} {value}{unit}"


def _short(what: str) -> str:
    """A name as it is written in its section."""
    section, _, rest = what.partition(".")
    return rest.rpartition(".")[2] if rest and section in _PREFIXES else what


def _feature(what: str) -> str:
    """A feature as it is written: `stream`, or `serve openai` for a whole surface."""
    section, *rest = what.split(".")
    surface = len(rest) == 1 and SECTIONS[section].operands
    return f"{section} {rest[0]}" if surface else _short(what)


def _list(values: Iterable[str]) -> str:
    return ", ".join(values)
