"""Scalars as YAML 1.2 has them, and what a contract may not contain."""

from __future__ import annotations

import pytest

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.strict_yaml import load


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("10000.0", 10000.0),
        ("12", 12),
        ("0x10", 16),
        ("no", "no"),
        ("12:30", "12:30"),
        ("true", True),
        ("null", None),
        ('"12"', "12"),
        ("'true'", "true"),
    ],
)
def test_scalars(text, value):
    loaded = load(f"a: {text}\nb: {{c: {text}}}\n", "x.yaml")
    assert loaded == {"a": value, "b": {"c": value}}
    assert type(loaded["a"]) is type(value)


def test_duplicate_key_has_a_place():
    with pytest.raises(DiagnosticError) as caught:
        load("a: 1\nb: 2\na: 3\n", "x.yaml")
    (problem,) = caught.value.diagnostics
    assert (problem.message, str(problem.place)) == ("duplicate key 'a'", "x.yaml:3:1")


def test_syntax_error_has_a_place():
    with pytest.raises(DiagnosticError) as caught:
        load("a: [1, 2\nb: 3\n", "x.yaml")
    assert caught.value.diagnostics[0].place is not None
