"""The layout of a file, and that formatting changes nothing else."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.resources import specs_dir
from metainfer.spec.formatter import WIDTH, format_text
from metainfer.spec.syntax import parse_statements


def test_the_layout() -> None:
    text = """\
        // head

        use "x"; engine   a // why
        // more
        {  // c2


         model "x"   // m
         target cpu {isa auto;threads 2}  // t
         a {
           // in

           // in2
           b;c  // d
           e { f }


           // end
         }
         from a  ,b
         x { }
        }
        // tail
        """
    assert format_text(dedent(text), "x") == dedent("""\
        // head

        use "x"
        engine a { // why
          // more
          // c2

          model "x" // m
          target cpu { isa auto; threads 2 } // t
          a {
            // in

            // in2
            b
            c // d
            e { f }

            // end
          }
          from a, b
          x { }
        }
        // tail
        """)


def test_a_block_that_is_too_long_is_broken_and_an_inner_one_stays() -> None:
    words = "; ".join(f"word{n}" for n in range(12))
    line = f"a {{ {words}; b {{ c; d }} }}"
    assert len(line) > WIDTH
    broken = format_text(line, "x")
    assert broken.splitlines()[0] == "a {"
    assert broken.splitlines()[-2:] == ["  b { c; d }", "}"]
    fitting = line.replace("word1; word2; ", "")
    assert format_text(fitting, "x") == fitting + "\n"


@pytest.mark.parametrize("path", sorted(specs_dir().glob("*.mispec")), ids=lambda p: p.stem)
def test_shipped_specs_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text, path.name) == text


def test_line_ends_become_ours() -> None:
    assert format_text("a\r\n\r\n\r\nb", "x") == "a\n\nb\n"
    assert format_text("", "x") == format_text("\n\n", "x") == ""


def test_a_syntax_error_is_located() -> None:
    with pytest.raises(DiagnosticError) as caught:
        format_text("a {\n", "x")
    assert str(caught.value.diagnostics[0].place) == "x:1:3"


PIECES = st.sampled_from(
    ["a", "b 1", "{", "}", "{ }", ";", "\n", "\n\n\n", " // c", "// d\n", '"x"', ", ", "\t", "@"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
@example("a // c\n{ // d\n b }")
@example("a // c\n// d\n{b}")
@example("a { // c\n }")
@example("a;// c\n// d\n\n;b")
@example("a\n{ b } // c")
def test_formatting_twice_is_formatting_once_and_words_stay(text: str) -> None:
    try:
        before = parse_statements(text, "x")
    except DiagnosticError:
        with pytest.raises(DiagnosticError):
            format_text(text, "x")
        return
    once = format_text(text, "x")
    assert format_text(once, "x") == once
    assert [s.text for s in parse_statements(once, "x")] == [s.text for s in before]
    comments = [line.partition("//")[2].rstrip() for line in text.split("\n") if "//" in line]
    assert [x.partition("//")[2] for x in once.split("\n") if "//" in x] == comments
