"""From a spec's pins to choices."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import spec
from metainfer.ir.symbols import all_of
from metainfer.passes.base import Choice
from metainfer.spec.view import SpecView, place_of


def view_of(module: ModuleOp) -> SpecView | None:
    """The module's spec; None for a hand-written module without one."""
    return SpecView(module) if all_of(module, spec.EngineOp) else None


def pinned(
    module: ModuleOp,
    site: str,
    what: str,
    alternatives: tuple[str, ...],
    default: str,
    rule: str,
) -> Choice:
    """The spec's pin on `what` if there is one, else the rule's default."""
    view = view_of(module)
    pin = view.pin(what) if view else None
    if pin is None:
        return Choice(site, what, default, alternatives, "chosen", "rule", rule)
    place = place_of(pin)
    where = f"{place.line}:{place.col}" if place else "spec"
    because = f"{where}: {what} {pin.value}"
    known = alternatives if pin.value in alternatives else (*alternatives, pin.value)
    return Choice(site, what, pin.value, known, "pinned", "user", because)
