"""Small helpers to print C: indentation, loops and shares of work."""

from __future__ import annotations

from collections.abc import Iterable

from metainfer.passes.parts import UNIT


def indent(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Lines moved right by `levels` steps; empty lines stay empty."""
    pad = "    " * levels
    return [pad + line if line else line for line in lines]


def block(head: str, lines: Iterable[str]) -> list[str]:
    """`head {`, the indented lines and `}`; without a head, a plain scope."""
    return [f"{head} {{".lstrip(), *indent(lines), "}"]


def share(variable: str, units: str, lines: Iterable[str]) -> list[str]:
    """A loop over this part's share of `units`: consecutive, sizes differing by at most one."""
    bound = units if units.isalnum() else f"({units})"
    head = (
        f"for (int32_t {variable} = {bound} * part / parts;"
        f" {variable} < {bound} * (part + 1) / parts; {variable}++)"
    )
    return block(head, lines)


def column_loop(columns: int, vector: Iterable[str]) -> list[str]:
    """Run `vector` for each MI_V columns `c` (`n` of them valid) in this part's share.

    The lines use `LOAD(p)` and `STORE(p, x)`, which become whole-vector accesses when the columns
    fill whole vectors and partial ones otherwise.
    """
    units = -(-columns // UNIT)
    if columns % UNIT == 0:
        return _columns(units, "", whole_accesses(vector))
    limit = [f"const int32_t n = {columns} - c < MI_V ? {columns} - c : MI_V;"]
    return _columns(units, f" && c < {columns}", limit + partial_accesses(vector, "n"))


def _columns(units: int, limit: str, body: list[str]) -> list[str]:
    head = f"for (int32_t c = u * {UNIT}; c < (u + 1) * {UNIT}{limit}; c += MI_V)"
    return share("u", str(units), block(head, body))


def whole_accesses(lines: Iterable[str]) -> list[str]:
    """`LOAD` and `STORE` of whole vectors."""
    return [x.replace("LOAD(", "mi_load(").replace("STORE(", "mi_store(") for x in lines]


def partial_accesses(lines: Iterable[str], count: str) -> list[str]:
    """`LOAD` and `STORE` of the first `count` lanes."""
    return [_partial(line, count) for line in lines]


def _partial(line: str, count: str) -> str:
    for name, full in (("LOAD(", "mi_load_n("), ("STORE(", "mi_store_n(")):
        while (at := line.find(name)) >= 0:
            end = _closing(line, at + len(name) - 1)
            line = f"{line[:at]}{full}{line[at + len(name) : end]}, {count}{line[end:]}"
    return line


def _closing(line: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(line)):
        depth += {"(": 1, ")": -1}.get(line[position], 0)
        if depth == 0:
            return position
    raise ValueError(f"unbalanced parentheses: {line}")
