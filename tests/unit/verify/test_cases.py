"""Cases reach every boundary and family; inputs follow from the kernel's key alone."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp.decode import decode_matrix
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.dialects.kernel import FuncOp
from metainfer.ir.symbols import all_of, lookup
from metainfer.verify.binding import key_slab, keys_of, value_slab, values_of
from metainfer.verify.cases import Facts, boundary_sizes, plan_cases
from metainfer.verify.families import FAMILIES, GENERAL
from metainfer.verify.inputs import InputMaker
from metainfer.verify.memory import Region
from metainfer.verify.weights import make_weight

Parse = Callable[[str], ModuleOp]


def facts(module: ModuleOp) -> Facts:
    return Facts.of(all_of(module, FuncOp)[0], module)


@pytest.mark.parametrize(
    ("first", "last", "sizes"),
    [
        (1, 1, [1]),
        (1, 4, [1, 2, 3, 4]),
        (5, 512, [5, 6, 16, 17, 61, 511, 512]),
        (20, 22, [20, 21, 22]),
    ],
)
def test_boundary_sizes(first: int, last: int, sizes: list[int]) -> None:
    assert boundary_sizes(first, last) == sizes


@pytest.mark.parametrize("name", ["add", "norm", "linear", "last", "rope", "append", "attend"])
def test_every_family_is_in_some_row(name: str, bodies: ModuleType, parse: Parse) -> None:
    cases = plan_cases(facts(parse(bodies.CORRECT[name][0])))
    met = {
        case.families[i % len(case.families)] for case in cases for i in range(case.dims["tokens"])
    }
    assert met >= set(GENERAL)


def test_attention_meets_block_edges_and_the_whole_context(
    bodies: ModuleType, parse: Parse
) -> None:
    cases = plan_cases(facts(parse(bodies.ATTEND)))
    ends = {case.start + case.dims["tokens"] for case in cases}
    assert ends >= {1, 2, 15, 16, 17, 63, 64, 65, 69, 70}
    assert max(ends) == 70
    assert {case.history for case in cases} == {"normal", "equal", "spike"}


def test_rope_without_a_state_meets_far_positions(bodies: ModuleType, parse: Parse) -> None:
    starts = {case.start for case in plan_cases(facts(parse(bodies.ROPE)))}
    assert 0 in starts
    assert max(starts) > 100_000


def test_exact_case_where_some_op_is_exact(bodies: ModuleType, parse: Parse) -> None:
    exact = {
        name: any(case.exact for case in plan_cases(facts(parse(kernel))))
        for name, (kernel, _) in bodies.CORRECT.items()
    }
    assert [name for name, is_exact in exact.items() if is_exact] == [
        "add",
        "linear",
        "embed",
        "last",
        "append",
    ]


def test_sequences_never_outnumber_tokens(bodies: ModuleType, parse: Parse) -> None:
    cases = plan_cases(facts(parse(bodies.LAST)))
    assert all(case.dims["tokens"] >= case.dims["seqs"] for case in cases)
    assert any(case.dims["tokens"] > case.dims["seqs"] > 1 for case in cases)


def test_inputs_follow_from_the_key(bodies: ModuleType, parse: Parse) -> None:
    module = parse(bodies.LINEAR)
    func = all_of(module, FuncOp)[0]
    case = plan_cases(Facts.of(func, module))[2]
    first, again, other = (InputMaker(func, module, key).make(case) for key in ("a", "a", "b"))
    assert np.array_equal(first.arrays["x"], again.arrays["x"])
    assert np.array_equal(first.weights["w"].raw, again.weights["w"].raw)
    assert not np.array_equal(first.arrays["x"], other.arrays["x"])
    assert not np.array_equal(first.weights["w"].raw, other.weights["w"].raw)


def test_state_garbage_is_outside_what_is_owned(bodies: ModuleType, parse: Parse) -> None:
    for kernel, appended in ((bodies.ATTEND, 0), (bodies.APPEND, 1)):
        module = parse(kernel)
        func = all_of(module, FuncOp)[0]
        for case in plan_cases(Facts.of(func, module)):
            slab = InputMaker(func, module, "key").make(case).slabs["s"]
            tokens = case.dims["tokens"]
            assert slab.owned == case.start + (0 if appended else tokens)
            (k0, v0), (k1, v1) = slab.variant(0), slab.variant(1)
            same = (k0 == k1).all(axis=(1, 2)) & (v0 == v1).all(axis=(1, 2))
            assert same[: slab.owned].all()
            assert not same[slab.owned :].any()
            assert np.isfinite(v0).all() and np.isfinite(v1).all()


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_families_are_finite_float32(name: str) -> None:
    values = FAMILIES[name](np.random.default_rng(0), 33)
    assert values.dtype == np.float32
    assert values.shape == (33,)
    assert np.isfinite(values).all()
    assert bool(values.any()) == (name != "zeros")


def test_weights_hold_every_code_and_bounded_scales(bodies: ModuleType, parse: Parse) -> None:
    format_ = lookup(parse(bodies.LINEAR), "q4_1", FormatOp)
    weight = make_weight(np.random.default_rng(0), 160, 64, format_, 16, "random")
    blocks = weight.raw.reshape(-1, 20)
    scales = np.ascontiguousarray(blocks[:, :4]).view(np.float16)
    assert np.isfinite(scales).all()
    assert np.abs(scales).max() <= 0.125
    assert (scales == 0).any() and (scales < 0).any()
    assert set(np.unique(blocks[:, 4:])) == set(range(256))
    exact = make_weight(np.random.default_rng(0), 40, 64, format_, 16, "exact")
    values = decode_matrix(format_, exact.raw, 40, 64)
    assert not np.any(values % 1.0)
    assert np.abs(values).max() <= 32


def test_slabs_are_bijections() -> None:
    values = np.arange(32 * 3 * 8, dtype=np.float32).reshape(32, 3, 8)
    key = key_slab(values)
    assert key.shape == (3, 2, 8, 16)
    assert key[2, 1, 5, 4] == values[20, 2, 5]
    assert np.array_equal(keys_of(key), values)
    assert value_slab(values)[2, 20, 5] == values[20, 2, 5]
    assert np.array_equal(values_of(value_slab(values)), values)


@pytest.mark.parametrize("nbytes", [0, 1, 4, 4095, 4096, 4100, 9000])
@pytest.mark.parametrize("align", [4, 64])
def test_buffers_touch_the_guard_on_their_side(nbytes: int, align: int) -> None:
    end = Region.place(8192, nbytes, align, "end")
    start = Region.place(8192, nbytes, align, "start")
    assert start.delta == 0
    assert end.length == start.length >= nbytes
    assert end.delta % align == 0
    assert 0 <= end.length - end.delta - nbytes < align
