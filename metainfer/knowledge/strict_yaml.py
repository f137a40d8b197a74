"""YAML 1.2 scalars, no duplicate keys, positions for errors; on PyYAML's parser.

PyYAML alone reads `1e-3` as a string, `no` as false, and keeps the last of two equal keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from metainfer.ir.diagnostics import Place, error

_INT = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}


def load(text: str, filename: str) -> Any:
    """The document in `text` as dicts, lists and scalars; DiagnosticError with a place if bad."""
    return _value(_compose(text, filename), filename)


def find_place(text: str, filename: str, path: Sequence[str | int]) -> Place | None:
    """Where the value at `path` in a document begins, or the innermost that there is around it."""
    import yaml

    node = _compose(text, filename)
    for step in path:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next((v for k, v in node.value if k.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            inner = node.value[step] if step < len(node.value) else None
        if inner is None:
            break
        node = inner
    return None if node is None else _place(node, filename)


def _compose(text: str, filename: str) -> Any:
    import yaml

    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = Place(filename, mark.line + 1, mark.column + 1) if mark else None
        raise error(problem.problem or "bad YAML", place) from None


def _place(node: Any, filename: str) -> Place:
    return Place(filename, node.start_mark.line + 1, node.start_mark.column + 1)


def _value(node: Any, filename: str) -> Any:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return _mapping(node, filename)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, filename) for item in node.value]
    if node is None:
        return None
    return node.value if node.style else _scalar(node.value)


def _mapping(node: Any, filename: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if not isinstance(key, str):
            raise error("a key must be a plain word", _place(key_node, filename))
        if key in out:
            raise error(f"duplicate key '{key}'", _place(key_node, filename))
        out[key] = _value(value_node, filename)
    return out


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
