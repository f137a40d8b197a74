"""Parsing and printing IR text: places, round trips and errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Operation

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place
from metainfer.ir.text import parse_module, place_of, place_of_location, print_module

TEXT = """\
func.func @f(%a: i32 loc("q.mispec":3:4), %c: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %d = arith.addi %a, %b : i32 loc(unknown)
  %e = "arith.addi"(%a, %d) : (i32, i32) -> i32 loc("p"("q.mispec":5:6))
  func.return %e : i32
}
func.func private @g(i32) -> i32
"""


def context() -> Context:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    return parse_module(text, "t.mlir", context())


def named(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def test_ops_without_a_location_get_the_place_of_their_name() -> None:
    module = parse(TEXT)
    first, unknown, written = named(module, "arith.addi")
    assert place_of(first) == Place("t.mlir", 2, 8)
    assert place_of(unknown) is None
    assert place_of(written) == Place("q.mispec", 5, 6)
    assert [place_of(op) for op in named(module, "func.func")] == [
        Place("t.mlir", 1, 1),
        Place("t.mlir", 7, 1),
    ]


@pytest.mark.parametrize("generic", [False, True])
def test_print_and_parse_keep_ops_and_locations(generic: bool) -> None:
    module = parse(TEXT)
    text = print_module(module, generic=generic, locations=True)
    again = parse_module(text, "other.mlir", context())
    assert module.is_structurally_equivalent(again)
    assert print_module(again, generic=generic, locations=True) == text
    assert print_module(again, generic=not generic, locations=True) == print_module(
        module, generic=not generic, locations=True
    )


def test_text_without_locations_is_placed_in_its_own_file() -> None:
    again = parse_module(print_module(parse(TEXT)), "dump.mlir", context())
    assert [place_of(op) for op in named(again, "func.return")] == [Place("dump.mlir", 6, 5)]


def file_locations() -> st.SearchStrategy[LocationAttr]:
    names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
    numbers = st.integers(0, 10**6).map(IntAttr)
    return st.builds(FileLineColLoc, names.map(StringAttr), numbers, numbers)


def locations() -> st.SearchStrategy[LocationAttr]:
    metadata = st.one_of(st.just(NoneAttr()), st.just(StringAttr("m")))
    return st.recursive(
        st.one_of(st.just(UnknownLoc()), file_locations()),
        lambda inner: st.one_of(
            st.builds(NameLoc, st.sampled_from(["p", "a b"]).map(StringAttr), inner),
            st.builds(CallSiteLoc, inner, inner),
            st.builds(FusedLoc, st.lists(inner, min_size=1, max_size=3).map(tuple), metadata),
        ),
        max_leaves=6,
    )


@given(locations())
def test_every_kind_of_location_survives(location: LocationAttr) -> None:
    module = parse(TEXT)
    module.location = location
    for op in named(module, "arith.addi"):
        op.location = location
    again = parse(print_module(module, locations=True))
    assert again.location == location
    assert [op.location for op in named(again, "arith.addi")] == [location] * 3


def at(line: int, column: int, file: str = "a") -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


@pytest.mark.parametrize(
    ("location", "place"),
    [
        (UnknownLoc(), None),
        (NameLoc(StringAttr("pass"), at(3, 4)), Place("a", 3, 4)),
        (NameLoc(StringAttr("pass"), NoneAttr()), None),
        (CallSiteLoc(UnknownLoc(), at(5, 6)), Place("a", 5, 6)),
        (FusedLoc((UnknownLoc(), at(1, 2)), NoneAttr()), Place("a", 1, 2)),
        (FusedLoc((at(1, 2), at(1, 9)), NoneAttr()), Place("a", 1, 2, 8)),
        (FusedLoc((at(1, 2), at(2, 9)), NoneAttr()), Place("a", 1, 2)),
        (FusedLoc((at(1, 2), at(1, 9, "b")), NoneAttr()), Place("a", 1, 2)),
    ],
)
def test_the_place_of_a_location(location: LocationAttr, place: Place | None) -> None:
    assert place_of_location(location) == place


def diagnostics_of(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "the input is empty", Place("t.mlir", 1, 1)),
        ("func.func @f( {", "Expected argument or type", Place("t.mlir", 1, 15)),
        (
            "func.func @f(%a: i32) {\n  %b = arith.addf %a, %a : i32\n  func.return\n}",
            "'arith.addf': Unexpected attribute i32",
            Place("t.mlir", 2, 8, 10),
        ),
        ("@", "Unexpected end of file after @.", Place("t.mlir", 1, 1)),
    ],
)
def test_an_error_has_its_place(text: str, message: str, place: Place) -> None:
    (found,) = diagnostics_of(text)
    assert (found.message, found.place) == (message, place)


def test_an_unknown_op_has_a_suggestion() -> None:
    (found,) = diagnostics_of('"arith.add1"() : () -> ()')
    assert found.message == "unknown operation 'arith.add1'"
    assert found.place == Place("t.mlir", 1, 1, 12)
    assert found.help is not None
    assert "did you mean 'arith.add" in found.help


def test_every_undefined_value_is_shown_where_it_is_used_first() -> None:
    found = diagnostics_of(
        "func.func @f() -> i32 {\n  %s = arith.addi %x, %y : i32\n  func.return %x : i32\n}"
    )
    assert [(d.message, d.place) for d in found] == [
        ("%x is used but never defined", Place("t.mlir", 2, 19, 2)),
        ("%y is used but never defined", Place("t.mlir", 2, 23, 2)),
    ]


def test_a_repeated_block_shows_both_places() -> None:
    (found,) = diagnostics_of("func.func @f() {\n^one:\n^one:\n}")
    assert found.place == Place("t.mlir", 3, 1, 4)
    assert [note.place for note in found.notes] == [Place("t.mlir", 2, 1, 4)]


def test_a_missing_quote_is_found_in_linear_time() -> None:
    # 100,000 characters: xDSL's own lexer needs exponential time from some thirty on.
    (found,) = diagnostics_of('"' + "a" * 100_000 + "\n")
    assert "string literal" in found.message


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="nested too deeply"):
        parse("builtin.module {" * 5000 + "}" * 5000)


@given(st.text(st.characters(codec="utf-8")))
def test_strings_survive(value: str) -> None:
    module = parse(TEXT)
    module.attributes["note"] = StringAttr(value)
    assert parse(print_module(module)).attributes["note"] == StringAttr(value)


def test_bytes_that_are_no_text_stay_bytes() -> None:
    module = parse(TEXT)
    module.attributes["note"] = builtin.BytesAttr(b"\xff\x00")
    assert parse(print_module(module)).attributes["note"] == builtin.BytesAttr(b"\xff\x00")


@given(st.data())
def test_damaged_text_parses_or_gives_diagnostics(data: st.DataObject) -> None:
    text = print_module(parse(TEXT), generic=data.draw(st.booleans()), locations=True)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    scraps = st.sampled_from(["", "(", ")", "<", ">", "{", "}", "%q", "@", "loc(", "-1", '"', "é"])
    try:
        parse(text[:start] + data.draw(scraps) + text[end:])
    except DiagnosticError as problem:
        assert all(d.place is not None for d in problem.diagnostics)
