"""The shape of the language: what is a statement, and what is said where it is none."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.spec.syntax import MAX_DEPTH, parse_statements, stretch


def test_statements_end_at_lines_and_semicolons_and_blocks_may_open_on_the_next_line() -> None:
    text = 'a 1; b "x y" // not this\r\n\n;;c\n{ d <= 2 MiB;e }\n'
    statements = parse_statements(text, "f")
    assert [s.text for s in statements] == ["a 1", 'b "x y"', "c { d <= 2 MiB; e }"]


def test_places_are_stretches_of_the_source_line() -> None:
    (_, second) = parse_statements("first\n  kv   <=  4 MiB { a }", "f")
    place = stretch("f", second.line, second.words[0], second.words[-1])
    assert (place.line, place.col, place.length) == (2, 3, 14)


@pytest.mark.parametrize(
    ("text", "line", "col", "message"),
    [
        ("a {\n b { c\n }\n", 1, 3, "expected '}' to close this block, found the end of the file"),
        ("a { b }\n}", 2, 1, "expected a word, found '}' that closes no block"),
        ("a { } b", 1, 7, "expected a new line or ';', found 'b'"),
        ("a { b { } c }", 1, 11, "expected a new line or ';' or '}', found 'c'"),
        ("a\n // why\n  {", 3, 3, "expected '}' to close this block, found the end of the file"),
        ("a;{ }", 1, 3, "expected a word, found '{'"),
        ("{ a }", 1, 1, "expected a word, found '{'"),
        ("a { ; { } }", 1, 7, "expected a word or '}', found '{'"),
        ("a \x0c b", 1, 3, "unexpected character '\\x0c'"),
        ("a // \u2028 b", 1, 6, "unexpected character '\\u2028'"),
        ('a "\x85"', 1, 4, "unexpected character '\\x85'"),
        ('a "open\nb', 1, 3, "expected '\"' at the end of this text, on the same line"),
        ("a #1", 1, 3, "unexpected character '#'"),
    ],
)
def test_syntax_errors_are_located_and_plain(text: str, line: int, col: int, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_statements(text, "f")
    (problem,) = caught.value.diagnostics
    assert problem.place is not None
    assert (problem.place.line, problem.place.col, problem.message) == (line, col, message)


def test_nesting_is_bounded() -> None:
    fine = "a {" * MAX_DEPTH + "b" + "}" * MAX_DEPTH
    assert parse_statements(fine, "f")
    with pytest.raises(DiagnosticError, match="nested more than 8 deep"):
        parse_statements("a {" * 5000 + "b" + "}" * 5000, "f")


@given(st.text(alphabet='ab1.k <>=~{};"/@,%\n\r\t-é', max_size=40))
@example("{")
@example("a {\n{")
def test_any_text_gives_statements_or_a_located_error(text: str) -> None:
    try:
        statements = parse_statements(text, "f")
    except DiagnosticError as problem:
        assert all(d.place for d in problem.diagnostics)
        return
    again = parse_statements("\n".join(s.text for s in statements), "f")
    assert [s.text for s in again] == [s.text for s in statements]
