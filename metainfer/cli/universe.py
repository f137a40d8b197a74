"""What plain `xdsl-opt` gets from us: dialects, passes and the `.mispec` frontend.

The entry point group `xdsl.universe` of the installed package names `UNIVERSE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError
from xdsl.utils.frontend import Frontend
from xdsl.utils.lexer import Input, Span

from metainfer.driver.source import decode_source
from metainfer.ir.diagnostics import DiagnosticError, Place
from metainfer.ir.dialects.register import DIALECTS, dialect_factory
from metainfer.passes.pipelines import PASSES

OURS = tuple(name for name, (module, _) in DIALECTS.items() if module.startswith("metainfer."))
"""Our own dialects; xDSL brings the others."""


@dataclass(frozen=True)
class MispecFrontend(Frontend):
    """Reads `.mispec` files, which xDSL tells by their extension."""

    name = "mispec"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        """The module of a spec; xDSL's ParseError, with the place, for one that is wrong."""
        from metainfer.spec.frontend import parse_mispec

        text = decode_source(input.read(), input_name)
        try:
            return parse_mispec(text, input_name)
        except DiagnosticError as problem:
            first = problem.diagnostics[0]
            raise ParseError(_span(first.place, text, input_name), first.message) from problem


def _span(place: Place | None, text: str, name: str) -> Span[str]:
    if place is None:
        return Span(0, 0, Input(text, name))
    lines = text.split("\n")[: place.line - 1]
    start = sum(len(line) + 1 for line in lines) + place.col - 1
    return Span(start, start + place.length, Input(text, name))


UNIVERSE = Universe(
    all_dialects={name: dialect_factory(name) for name in OURS},
    all_passes=dict(PASSES),
    all_frontends={MispecFrontend.name: lambda: MispecFrontend},
)
