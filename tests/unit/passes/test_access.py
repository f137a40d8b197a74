"""Access sets: `conflict` against sets of elements, and the axis of every kind of kernel."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_pipeline import tiny_stages

from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import lookup
from metainfer.passes.access import Access, accesses, conflict
from metainfer.passes.parts import share

MAX_PARTS = 8
MAX_ROWS = 5

Elements = set[tuple[int, int]]


def elements(access: Access, part: int, parts: int, rows: int, width: int) -> Elements:
    """What a part touches of a buffer of (rows, width): the meaning of an access, spelled out."""
    whole = set(product(range(rows), range(width)))
    if access.axis == "all":
        return whole
    if access.axis == "first":
        return whole if part == 0 else set()
    if access.axis == "rows":
        return {(r, c) for r, c in whole if r in range(*share(rows, part, parts))}
    first, end = share(access.units, part, parts)
    columns = {c for unit in range(first, end) for c in range(access.width)}
    assert columns == set(range(access.width)) or first == end
    return {(r, c) for r, c in whole if first * access.width <= c < end * access.width}


def meets(a: Access, b: Access, threads: int) -> bool:
    """Whether parts of `a` and other parts of `b` share an element for some number of rows."""
    width = max(a.units * a.width, b.units * b.width, 1)
    for rows_a, rows_b in product(range(1, MAX_ROWS + 1), repeat=2):
        if rows_a != rows_b and a.rows == b.rows:
            continue
        for parts in range(1, threads + 1):
            shares_a = [elements(a, p, parts, rows_a, width) for p in range(parts)]
            shares_b = [elements(b, p, parts, rows_b, width) for p in range(parts)]
            pairs = product(range(parts), repeat=2)
            if any(p != q and shares_a[p] & shares_b[q] for p, q in pairs):
                return True
    return False


shared = st.one_of(
    st.just(Access("all")),
    st.just(Access("first")),
    st.sampled_from([Access("rows", rows="tokens"), Access("rows", rows="seqs")]),
    st.builds(lambda u, w: Access("columns", u, w), st.integers(1, 9), st.sampled_from([1, 2, 3])),
)


@given(shared, shared, st.integers(1, MAX_PARTS))
@example(Access("columns", 6, 1), Access("columns", 3, 2), 8)
@example(Access("columns", 4, 2), Access("columns", 8, 1), 2)
@example(Access("rows", rows="tokens"), Access("rows", rows="tokens"), 8)
@example(Access("all"), Access("all"), 1)
def test_conflict_is_what_element_sets_say(a: Access, b: Access, threads: int) -> None:
    assert conflict(a, b, threads) == meets(a, b, threads)
    assert conflict(b, a, threads) == conflict(a, b, threads)


@given(st.integers(0, 40), st.integers(1, MAX_PARTS))
def test_shares_deal_out_every_unit_once(units: int, parts: int) -> None:
    dealt = [u for part in range(parts) for u in range(*share(units, part, parts))]
    assert dealt == list(range(units))


HEADS = Access("columns", 6, 16)
TOKENS = Access("rows", rows="tokens")
COLUMNS = Access("columns", 6, 16)
WIDE = Access("columns", 10, 16)
KV = Access("columns", 2, 16)
ALL = Access("all")


WEIGHTS = {"weight", "attn_q", "attn_k", "attn_v"}


@pytest.mark.parametrize(
    ("name", "reads", "writes"),
    [
        ("embed", set(), {TOKENS}),
        ("rms_norm", {TOKENS}, {TOKENS}),
        ("qkv", {ALL}, {COLUMNS, KV}),
        ("rope", {COLUMNS}, {COLUMNS}),
        ("state_append", {KV}, {KV}),
        ("attend", {HEADS, ALL}, {HEADS}),
        ("attn_output", {ALL}, {COLUMNS}),
        ("add", {COLUMNS}, {COLUMNS}),
        ("gated_act", {WIDE}, {WIDE}),
        ("select_last", {COLUMNS}, {COLUMNS}),
        ("output", {ALL}, {Access("columns", 19, 16)}),
    ],
)
def test_what_each_kernel_touches(name: str, reads: set[Access], writes: set[Access]) -> None:
    module = tiny_stages().after("outline-kernels")
    func = lookup(module, f"decode_{name}", kernel.FuncOp)
    found = [touch for touch in accesses(func) if touch[0] not in WEIGHTS]
    assert {share for _, how, share in found if how == "read"} == reads
    assert {share for _, how, share in found if how == "write"} == writes


def test_a_kernel_of_the_first_part_alone_touches_everything_there() -> None:
    from xdsl.dialects.builtin import StringAttr

    module = tiny_stages().after("outline-kernels")
    func = lookup(module, "decode_add", kernel.FuncOp)
    func.properties["parts"] = StringAttr("none")
    assert {share for _, _, share in accesses(func)} == {Access("first")}
