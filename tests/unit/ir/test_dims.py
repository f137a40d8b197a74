"""Named dimensions, ranges, layers and schedules: text round trips and what they refuse."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    Builtin,
    IntAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    f32,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from metainfer.ir.dialects.infer import BatchType, Infer, QuantType, StateType
from metainfer.ir.dims import (
    DimsAttr,
    LayersAttr,
    RangesAttr,
    ScheduleAttr,
    dim_names,
    sizes,
    tensor,
    verify_dims,
)

names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: n != "to")
layers = st.sets(st.integers(0, 400), max_size=40).map(sorted)
boxes = st.tuples(st.integers(1, 600), st.integers(0, 600)).map(lambda p: (p[0], sum(p)))
steps = st.lists(
    st.tuples(names, st.integers(0, 99), st.integers(0, 99)).map(
        lambda s: (s[0], s[1], s[1] + s[2])
    ),
    min_size=1,
    max_size=6,
)


def context() -> Context:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Infer)
    return ctx


def printed(attribute: Attribute) -> str:
    out = StringIO()
    Printer(out).print_attribute(attribute)
    return out.getvalue()


def parsed(text: str) -> Attribute:
    return Parser(context(), text).parse_attribute()


def returns(attribute: Attribute) -> None:
    assert parsed(printed(attribute)) == attribute


@given(st.lists(names, min_size=1, max_size=4))
def test_dims_return(given_names: list[str]) -> None:
    attribute = DimsAttr.of(*given_names)
    returns(attribute)
    assert list(attribute) == given_names


@given(st.dictionaries(names, boxes, min_size=1, max_size=4))
def test_ranges_return(ranges: dict[str, tuple[int, int]]) -> None:
    attribute = RangesAttr.of(ranges)
    returns(attribute)
    assert attribute.as_dict() == ranges
    assert list(attribute.as_dict()) == list(ranges)


@given(layers.filter(bool))
def test_layers_return_and_are_the_shortest_runs(numbers: list[int]) -> None:
    attribute = LayersAttr.of(numbers)
    returns(attribute)
    assert list(attribute) == numbers
    ends = [last for _, last in attribute.pairs()]
    starts = [first for first, _ in attribute.pairs()]
    assert all(start > end + 1 for end, start in zip(ends, starts[1:], strict=False))


@given(steps)
def test_schedules_return(given_steps: list[tuple[str, int, int]]) -> None:
    attribute = ScheduleAttr.of(given_steps)
    returns(attribute)
    assert attribute.steps() == given_steps
    renamed = attribute.renamed({name: f"decode_{name}" for name, _, _ in given_steps})
    assert renamed.steps() == [(f"decode_{n}", a, b) for n, a, b in given_steps]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8), names)
def test_types_return(text: str, name: str) -> None:
    returns(QuantType(StringAttr(text)))
    returns(BatchType())
    returns(StateType(SymbolRefAttr(name)))


@given(st.lists(st.one_of(st.integers(0, 500), names), min_size=1, max_size=4))
def test_tensor_and_sizes_are_inverse(dims: list[int | str]) -> None:
    type_ = tensor(f32, *dims)
    verify_dims(type_)
    returns(type_)
    assert sizes(type_) == tuple(dims)
    assert dim_names(type_) == tuple("_" if isinstance(d, int) else d for d in dims)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#infer.ranges<t = 0 to 4>", "range of 't' is 0 to 4, want 1 <= a <= b"),
        ("#infer.ranges<t = 5 to 4>", "range of 't' is 5 to 4, want 1 <= a <= b"),
        ("#infer.ranges<t = 1 to 4, t = 1 to 8>", "each dimension needs one range"),
        ("#infer.layers<3 to 2>", "runs of layers must ascend without overlap"),
        ("#infer.layers<0 to 4, 4 to 6>", "runs of layers must ascend without overlap"),
        ("#infer.layers<5 to 6, 0 to 1>", "runs of layers must ascend without overlap"),
        ("#infer.schedule<@layer 3 to 2>", "@layer runs layers 3 to 2, want a <= b"),
    ],
)
def test_values_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=f"^{message.replace('.', '[.]')}"):
        parsed(text)


@pytest.mark.parametrize(
    "text",
    [
        "#infer.dims<tokens, 4>",
        "#infer.ranges<tokens = -1 to 4>",
        "#infer.ranges<tokens = 1 4>",
        "#infer.ranges<tokens = true to 4>",
        "#infer.layers<0 to>",
        "#infer.schedule<layer 0 to 1>",
        "!infer.q<q4_1>",
        "!infer.state<kv>",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parsed(text)


def test_parts_that_do_not_belong_together_are_refused() -> None:
    none: ArrayAttr[ArrayAttr[IntAttr]] = ArrayAttr([])
    with pytest.raises(VerifyException):
        RangesAttr(ArrayAttr([StringAttr("tokens")]), none)
    with pytest.raises(VerifyException):
        ScheduleAttr(ScheduleAttr.of([("layer", 0, 1)]).functions, none)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (TensorType(f32, [DYNAMIC_INDEX, 8]), "a dynamic dimension needs a name"),
        (TensorType(f32, [DYNAMIC_INDEX, 8], DimsAttr.of("tokens")), "1 names for 2 dimensions"),
        (
            TensorType(f32, [DYNAMIC_INDEX, 8], DimsAttr.of("_", "_")),
            "exactly the dynamic dimensions",
        ),
        (
            TensorType(f32, [DYNAMIC_INDEX, 8], DimsAttr.of("tokens", "x")),
            "exactly the dynamic dimensions",
        ),
    ],
)
def test_dynamic_dimensions_and_only_they_have_names(
    type_: TensorType[Attribute], message: str
) -> None:
    with pytest.raises(VerifyException, match=message):
        verify_dims(type_)
