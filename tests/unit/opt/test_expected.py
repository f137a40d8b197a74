"""`expected-error` comments against the diagnostics that came."""

import pytest

from metainfer.ir.diagnostics import Diagnostic, Note, Place
from metainfer.ir.expected import expected_diagnostics, mismatches

FILE = "a.mlir"


def at(line: int, message: str = "bad thing", **more: object) -> Diagnostic:
    return Diagnostic(message, Place(FILE, line, 3), **more)  # type: ignore[arg-type]


def check(text: str, *came: Diagnostic) -> list[str]:
    found = mismatches(expected_diagnostics(text, FILE), came, FILE)
    return [f"{d.place.line if d.place else None}: {d.message}" for d in found]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{bad thing}}", 1),
        ("// expected-error @+1 {{bad}}\nop", 2),
        ("// expected-error@+2 {{thing}}\n\nop", 3),
        ("op\n// expected-error @-1 {{bad}}", 1),
        ("// expected-error @below {{bad}}\nop", 2),
        ("op\n// expected-error @above {{bad}}", 1),
        ("// expected-error-re @+1 {{b{{[a-c]+}}d thing}}\nop", 2),
    ],
)
def test_what_is_expected_and_comes(text: str, line: int) -> None:
    assert check(text, at(line)) == []
    assert check(text, at(line + 1)) != []
    assert check(text) != []


def test_several_comments_look_past_one_another() -> None:
    text = (
        "// expected-error @below {{one}}\n// expected-warning @below {{two}}\nop\n"
        "// expected-error @above {{three}}"
    )
    came = [at(3, "one"), at(3, "two", severity="warning"), at(3, "three")]
    assert check(text, *came) == []
    assert check(text, *came[:2]) == ['4: expected error "three" was not produced']


def test_two_on_one_line() -> None:
    text = "op // expected-error {{a}} expected-error {{b}}"
    assert check(text, at(1, "b"), at(1, "a")) == []
    assert check(text, at(1, "b")) == ['1: expected error "a" was not produced']


def test_what_comes_unexpected() -> None:
    assert check("op", at(1)) == ["1: unexpected error: bad thing"]
    assert check("op // expected-error {{bad}}", at(1), at(1)) == ["1: unexpected error: bad thing"]
    elsewhere = Diagnostic("bad thing", Place("b.mlir", 1, 1))
    assert len(check("op // expected-error {{bad}}", elsewhere)) == 2


def test_an_error_without_a_place() -> None:
    text = "// expected-error @unknown {{bad}}"
    assert check(text, Diagnostic("bad thing")) == []
    assert len(check(text, at(1))) == 2


def test_severities_are_kept_apart_and_notes_are_optional() -> None:
    noted = at(1, notes=(Note("see here", Place(FILE, 2, 1)),))
    assert check("op // expected-error {{bad}}\n", noted) == []
    assert check("op // expected-error {{bad}}\n// expected-note {{see}}", noted) == []
    assert len(check("op // expected-error {{bad}}\n// expected-note {{other}}", noted)) == 1
    assert len(check("op // expected-warning {{bad}}", at(1))) == 2
