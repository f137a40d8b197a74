"""Records as aligned columns of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def format_table(records: Sequence[Mapping[str, object]]) -> str:
    """One line a record under a line of keys, in the order in which the keys first occur."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows = [columns, *([_cell(record.get(key)) for key in columns] for record in records)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(_cell(item) for item in value)
    return str(value)
