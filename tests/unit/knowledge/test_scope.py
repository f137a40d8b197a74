"""Where contracts hold: boxes of names and ranges, and whether two of them share a point."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metainfer.knowledge.scope import Box, Names, Range, names, overlap, parse_scope

NAMES = ("a", "b", "c")


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Boxes over small fields, all of whose points can be listed."""
    box: Box = {}
    for field in ("op", "format"):
        if draw(st.booleans()):
            box[field] = Names(draw(st.frozensets(st.sampled_from(NAMES), min_size=1)))
    if draw(st.booleans()):
        low = draw(st.integers(0, 6))
        box["tokens"] = Range(low, draw(st.none() | st.integers(low, 8)))
    return box


def holds(box: Box, point: dict[str, str | int]) -> bool:
    for field, extent in box.items():
        value = point[field]
        if isinstance(extent, Names):
            if value not in extent.names:
                return False
        elif not (extent.low <= int(value) and (extent.high is None or int(value) <= extent.high)):
            return False
    return True


@given(boxes(), boxes())
def test_overlap_is_sharing_a_point(a: Box, b: Box) -> None:
    points = [dict(zip(("op", "format", "tokens"), p, strict=True))
              for p in product(NAMES, NAMES, range(10))]  # fmt: skip
    assert overlap(a, b) == overlap(b, a)
    assert overlap(a, b) == any(holds(a, p) and holds(b, p) for p in points)


def test_ranges_are_in_the_base_unit() -> None:
    box = parse_scope({"tokens": "1..4 tokens", "cache": "2 .. MiB", "op": ("infer.add",)})
    assert box == {
        "tokens": Range(1, 4),
        "cache": Range(2 << 20, None),
        "op": Names(frozenset(["infer.add"])),
    }
    assert names(box, "op", "infer.add") and not names(box, "format", "infer.add")


@pytest.mark.parametrize(
    ("applies", "message"),
    [
        ({"opp": ("x",)}, "no field 'opp': did you mean 'op'?"),
        ({"weather": ("x",)}, "no field 'weather': the fields are op, "),
        ({"op": "infer.add"}, "'op' takes a list of names"),
        ({"op": ()}, "'op' takes a list of names"),
        ({"tokens": ("1", "2")}, "'tokens' takes a range with a unit, such as '1..4 tokens'"),
        ({"tokens": "1..4"}, "'tokens' takes a range with a unit, such as '1..4 tokens'"),
        ({"tokens": "1..4 MiB"}, "'tokens' is in tokens, not in 'MiB'"),
        ({"cache": "1..4 parsecs"}, "'cache' is in bytes, not in 'parsecs'"),
        ({"tokens": "4..1 tokens"}, "'tokens': the range 4..1 tokens is empty"),
    ],
)
def test_what_is_no_scope(applies: dict[str, tuple[str, ...] | str], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_scope(applies)
    assert str(caught.value).startswith(message)
