"""`.mispec` text to `spec` ops. Pure: reads no file; `use` stays an op for `resolve-uses`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.spec.lower import location_of, lower_sheet
from metainfer.spec.reading import read_spec

__all__ = ["location_of", "parse_mispec"]


def parse_mispec(text: str, filename: str) -> ModuleOp:
    """The module that a `.mispec` file spells: one `spec.engine` with one op per constraint.

    Raises `DiagnosticError` with everything that is wrong with the words of the file. A construct
    that cannot be built yet is an op like any other: `support` refuses it.
    """
    reading = read_spec(text, filename)
    if reading.problems or reading.sheet is None:
        raise DiagnosticError(*reading.problems)
    return lower_sheet(reading.sheet)
