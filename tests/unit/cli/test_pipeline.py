"""Pipeline text to passes, and where its errors point."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from metainfer.cli.pipeline import SOURCE, describe_passes, parse_passes
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place


@dataclass(frozen=True)
class Fuse(ModulePass):
    name = "fuse"
    summary = "wraps ops in groups"
    requires = "expand-model"

    max_ops: int = 4
    greedy: bool = False
    rules: tuple[str, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class Shard(ModulePass):
    name = "shard"
    summary = "splits"

    ranks: int

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


TABLE = {"fuse": lambda: Fuse, "shard": lambda: Shard}


def test_passes_and_options_in_order() -> None:
    text = 'fuse,shard{ranks=3},fuse{max-ops=2 greedy=true rules=a,"b c"}'
    assert parse_passes(text, TABLE) == (Fuse(), Shard(3), Fuse(2, True, ("a", "b c")))


def test_empty_text_is_no_pass() -> None:
    assert parse_passes("", TABLE) == ()


@given(st.lists(st.one_of(st.builds(Fuse, st.integers(0, 99)), st.builds(Shard, st.integers(0)))))
def test_the_text_of_passes_parses_back(passes: list[ModulePass]) -> None:
    assert list(parse_passes(",".join(map(str, passes)), TABLE)) == passes


def only_error(text: str) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        parse_passes(text, TABLE)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("text", "underlined", "message", "help_"),
    [
        ("fuse,fues", "fues", "unknown pass 'fues'", "did you mean 'fuse'?"),
        ("qqq", "qqq", "unknown pass 'qqq'", "--list-passes"),
        ("fuse{max-opps=2}", "max-opps", "no option 'max-opps'", "did you mean 'max_ops'?"),
        ("shard{ranks=1 zz=2}", "zz", "no option 'zz'", "its options: ranks"),
        ("fuse,fuse{max-ops=x}", "max-ops", "takes int, not x", None),
        ("fuse{greedy}", "greedy", "takes bool, not no value", "write greedy=true"),
        ("fuse{max-ops=1,2}", "max-ops", "takes int, not 1,2", None),
        ("fuse,shard", "shard", "needs the option 'ranks'", None),
        ("fuse, shard", " ", "Expected pass name here", "no spaces around commas"),
        ("fuse{max-ops=?}", "?", "Unknown token", None),
    ],
)
def test_an_error_points_at_its_part(
    text: str, underlined: str, message: str, help_: str | None
) -> None:
    found = only_error(text)
    assert message in found.message
    assert found.place is not None
    start = found.place.col - 1
    assert text[start : start + found.place.length] == underlined
    if help_ is None:
        assert found.help is None
    else:
        assert found.help is not None
        assert help_ in found.help


def test_an_option_given_twice_shows_both() -> None:
    found = only_error("fuse{max-ops=1 max_ops=2}")
    assert found.place == Place(SOURCE, 1, 16, 7)
    assert found.notes[0].place == Place(SOURCE, 1, 6, 7)


def test_an_unfinished_text_points_past_its_end() -> None:
    assert only_error("fuse{max-ops=").place == Place(SOURCE, 1, 14, 1)


@given(st.text(st.sampled_from('fuse,shard{}=12. "\n[]-x'), max_size=20))
def test_any_text_gives_passes_or_a_diagnostic(text: str) -> None:
    try:
        parse_passes(text, TABLE)
    except DiagnosticError as problem:
        assert all(d.place is not None for d in problem.diagnostics)


def test_the_list_shows_what_a_pass_needs_and_takes() -> None:
    lines = describe_passes(TABLE).split("\n")
    assert lines[0] == "fuse                 wraps ops in groups"
    assert lines[1].strip() == "needs: expand-model"
    assert lines[2].strip() == "option max-ops: int = 4"
    assert lines[-1].strip() == "option ranks: int"
