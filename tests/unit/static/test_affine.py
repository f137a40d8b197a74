"""Bounds and proofs against all values that small symbols can have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metainfer.verify.static.affine import Form, Space
from metainfer.verify.static.integers import Integers

COEFFICIENTS = st.integers(-6, 6)
FORMS = st.tuples(COEFFICIENTS, COEFFICIENTS, COEFFICIENTS, st.integers(-40, 40))


def counting() -> Space:
    """n in 1 .. 5, i in 0 .. n - 1, and k with 4 * k in i .. n + 9."""
    space = Space()
    n = space.new("n", 1, 5)
    i = space.new("i", 0, 1 << 20)
    space.bound_above(i, n.shifted(-1))
    k = space.new("k", -(1 << 20), 1 << 20)
    space.bound_above(k, n.shifted(9), 4)
    space.bound_below(k, i, 4)
    return space


def values() -> Iterator[tuple[int, int, int]]:
    """All that the symbols of `counting` can be together."""
    for n in range(1, 6):
        for i in range(n):
            yield from ((n, i, k) for k in range(10) if i <= 4 * k <= n + 9)


def form_of(numbers: tuple[int, int, int, int]) -> Form:
    *coefficients, const = numbers
    return Form({s: c for s, c in enumerate(coefficients) if c}, const)


def at(form: Form, point: tuple[int, ...]) -> int:
    return form.const + sum(c * point[s] for s, c in form.terms.items())


@given(FORMS)
def test_bounds_hold_for_all_values(numbers: tuple[int, int, int, int]) -> None:
    space, form = counting(), form_of(numbers)
    reached = [at(form, point) for point in values()]
    assert space.lower(form) <= min(reached)
    assert space.upper(form) >= max(reached)
    if space.holds(form):
        assert min(reached) >= 0


@given(FORMS, FORMS)
def test_bounds_under_an_assumption_hold_where_it_does(
    assumed: tuple[int, int, int, int], numbers: tuple[int, int, int, int]
) -> None:
    space, form, premise = counting(), form_of(numbers), form_of(assumed)
    before = space.range(form)
    reached = [at(form, p) for p in values() if at(premise, p) >= 0]
    with space.scope():
        if not space.assume(premise):
            assert not reached
        elif reached:
            assert space.lower(form) <= min(reached)
            assert space.upper(form) >= max(reached)
    assert space.range(form) == before


@given(FORMS, st.integers(1, 9))
@settings(deadline=None)
def test_quotients_and_remainders(numbers: tuple[int, int, int, int], d: int) -> None:
    space, form = counting(), form_of(numbers)
    integers = Integers(space)
    quotient, remainder = integers.quotient(form, d), integers.remainder(form, d)
    for made, wanted in ((quotient, int.__floordiv__), (remainder, int.__mod__)):
        reached = [wanted(at(form, point), d) for point in values()]
        assert space.lower(made) <= min(reached)
        assert space.upper(made) >= max(reached)
    whole = quotient.scaled(d)
    assert space.holds(form.plus(whole, -1))
    assert space.holds(whole.plus(form, -1).shifted(d - 1))


@given(FORMS, FORMS)
def test_products(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> None:
    space = counting()
    product = Integers(space).product(form_of(a), form_of(b))
    reached = [at(form_of(a), point) * at(form_of(b), point) for point in values()]
    assert space.lower(product) <= min(reached)
    assert space.upper(product) >= max(reached)


@pytest.mark.parametrize("units", [1, 7, 19])
def test_a_share_of_work(units: int) -> None:
    """`n * part / parts .. n * (part + 1) / parts` against all parts up to 64."""
    space = Space()
    integers = Integers(space)
    parts, part = space.new("parts", 1, 64), space.new("part", 0, 63)
    space.bound_above(part, parts.shifted(-1))
    (integers.parts,), (integers.part,) = parts.terms, part.terms
    n = space.new("n", units, units + 3)
    first = integers.quotient_by(integers.product(n, part), parts)
    last = integers.quotient_by(integers.product(n, part.shifted(1)), parts)
    assert space.holds(first)
    assert space.holds(n.plus(first, -1).shifted(-1))
    assert space.holds(n.plus(last, -1))
    assert space.holds(last.plus(first, -1))
    shares = [(units * p // of, units * (p + 1) // of) for of in range(1, 65) for p in range(of)]
    assert max(end for _, end in shares) == units
    assert not space.holds(n.plus(last, -1).shifted(-1))
