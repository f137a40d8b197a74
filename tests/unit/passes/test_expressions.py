"""Expressions of contracts: integers, names, `+ - * /`, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.passes.expressions import evaluate

NAMES = {"hidden": 576, "q_heads": 9, "kv_heads": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hidden", 576),
        ("12", 12),
        ("hidden / q_heads", 64),
        ("kv_heads * (hidden / q_heads)", 192),
        ("hidden - 2 * q_heads + 1", 559),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hiden", "unknown name 'hiden' in hiden"),
        ("hidden / 7", "hidden / 7: 576 is no multiple of 7"),
        ("hidden / 0", "hidden / 0: 576 is no multiple of 0"),
        ("hidden ** 2", "not an expression over names and integers: hidden ** 2"),
        ("hidden.real", "not an expression over names and integers: hidden.real"),
        ("abs(hidden)", "not an expression over names and integers: abs(hidden)"),
        ("'a'", "not an expression over names and integers: 'a'"),
        ("1.5", "not an expression over names and integers: 1.5"),
        ("-hidden", "not an expression over names and integers: -hidden"),
        ("hidden +", "not an expression: hidden +"),
        ("", "not an expression: "),
    ],
)
def test_everything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        evaluate(text, NAMES)
    assert caught.value.diagnostics[0].message == message


numbers = st.integers(0, 50).map(lambda n: (str(n), n))
sums = st.recursive(
    numbers,
    lambda inner: st.builds(
        lambda a, op, b: (
            f"({a[0]} {op} {b[0]})",
            {"+": a[1] + b[1], "-": a[1] - b[1], "*": a[1] * b[1]}[op],
        ),
        inner,
        st.sampled_from("+-*"),
        inner,
    ),
    max_leaves=8,
)


@given(sums)
def test_as_python_computes(pair: tuple[str, int]) -> None:
    text, value = pair
    assert evaluate(text, {}) == value
