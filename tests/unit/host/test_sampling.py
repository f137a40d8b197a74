"""Sampling against exact oracles: the same exponential, rational arithmetic, and no tolerance."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_engine import MASK, VOCAB, Build, set_weights

LIBM = ctypes.CDLL("libm.so.6")
LIBM.expf.restype = ctypes.c_float
POSITION = 11


def splitmix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def uniform(seed: int, position: int) -> float:
    return (splitmix((splitmix(seed) + position) & MASK) >> 11) * 2.0**-53


def test_the_oracles_generator_is_splitmix64() -> None:
    assert splitmix(0) == 0xE220A8397B1DCDAF  # first output for seed 0, published


def weights(logits: np.ndarray, temperature: float) -> list[float]:
    """expf of the same libm on the same float32 arguments as the sampler's."""
    scaled = (logits - logits.max()) / np.float32(temperature)
    return [LIBM.expf(ctypes.c_float(float(x))) for x in scaled]


def kept(logits: np.ndarray, w: list[float], top_k: int, top_p: float) -> list[int]:
    """The definition: top-k with ties, then the fewest most likely ones that make up top_p."""
    ids = [i for i in range(VOCAB) if w[i] > 0]
    if 0 < top_k < VOCAB:
        cut = sorted(logits, reverse=True)[top_k - 1]
        ids = [i for i in ids if logits[i] >= cut]
    if top_p == 1:
        return ids
    goal = Fraction(top_p * sum(w[i] for i in ids))  # 0.9 of ten equals is nine of them
    ids.sort(key=lambda i: (-w[i], i))
    sums = itertools.accumulate(Fraction(w[i]) for i in ids)
    return sorted(ids[: next(n for n, mass in enumerate(sums, 1) if mass >= goal)])


def draw(ids: list[int], w: list[float], u: float) -> int:
    """Inverse of the distribution function, in the order of `ids`."""
    total = 0.0
    for i in ids:
        total += w[i]
    point, mass = u * total, 0.0
    for i in ids:
        mass += w[i]
        if mass > point:
            return i
    raise AssertionError("unreachable")


def one(build: Build, engine: Any, **how: Any) -> int:
    """The token that the engine samples at POSITION when the logits are the weights."""
    prompt, sampling = [5, *[9] * (POSITION - 1)], build.package.Sampling(**how)
    return int(next(engine.stream(prompt, 1, sampling, ignore_end=True)))


@st.composite
def cases(make: st.DrawFn) -> tuple[np.ndarray, dict[str, Any]]:
    spread = make(st.sampled_from([0.0, 0.5, 3.0, 30.0]))
    generator = np.random.default_rng(make(st.integers(0, 2**32)))
    logits = (generator.standard_normal(VOCAB) * spread).astype(np.float32)
    if make(st.booleans()):
        logits = np.round(logits)  # many ties
    how = {
        "temperature": make(st.sampled_from([0.1, 0.7, 1.0, 1.5])),
        "top_k": make(st.sampled_from([0, 1, 2, 5, 40, VOCAB - 1, VOCAB, 2**31 - 1])),
        "top_p": make(st.sampled_from([1.0, 0.999, 0.9, 0.5, 0.1, 1e-6])),
        "seed": make(st.integers(0, MASK)),
    }
    return logits, how


@given(case=cases())
def test_the_token_is_the_one_that_the_definition_gives(
    case: tuple[np.ndarray, dict[str, Any]], build: Build
) -> None:
    logits, how = case
    set_weights(build.root, logits)
    with build.package.Engine(threads=1) as engine:
        token = one(build, engine, **how)
    w = weights(logits, how["temperature"])
    ids = kept(logits, w, how["top_k"], how["top_p"])
    assert token == draw(ids, w, uniform(how["seed"], POSITION))


def support(build: Build, logits: np.ndarray, draws: int = 400, **how: Any) -> set[int]:
    set_weights(build.root, logits)
    with build.package.Engine(threads=1) as engine:
        return {one(build, engine, seed=seed, **how) for seed in range(draws)}


@pytest.fixture
def steps() -> np.ndarray:
    """Eight likely tokens, each e^0.1 times as likely as the next."""
    logits = np.full(VOCAB, -50, np.float32)
    logits[100:108] = np.arange(8) * np.float32(0.1)
    return logits


def test_top_k_draws_the_k_largest_and_each_of_them(build: Build, steps: np.ndarray) -> None:
    assert support(build, steps, temperature=1.0, top_k=3) == {105, 106, 107}


def test_top_k_keeps_ties(build: Build, steps: np.ndarray) -> None:
    steps[104] = steps[105]
    assert support(build, steps, temperature=1.0, top_k=3) == {104, 105, 106, 107}


def test_top_p_draws_the_likely_ones_and_each_of_them(build: Build, steps: np.ndarray) -> None:
    w = weights(steps, 1.0)
    goal = (w[107] + w[106] + w[105] / 2) / sum(w)
    assert support(build, steps, temperature=1.0, top_p=goal) == {105, 106, 107}


def test_top_p_counts_what_top_k_left(build: Build, steps: np.ndarray) -> None:
    # Of two tokens with 52 % and 48 %, the first alone makes up half; of all eight it does not.
    assert support(build, steps, temperature=1.0, top_k=2, top_p=0.5) == {107}
    assert len(support(build, steps, temperature=1.0, top_p=0.5)) > 2


def test_top_p_takes_the_lower_ids_of_equals(build: Build) -> None:
    logits = np.full(VOCAB, -np.inf, np.float32)
    logits[[20, 40, 60, 80]] = 1
    assert support(build, logits, temperature=1.0, top_p=0.5) == {20, 40}


def test_impossible_tokens_are_never_drawn(build: Build) -> None:
    logits = np.full(VOCAB, -np.inf, np.float32)
    logits[[8, 276]] = -3
    assert support(build, logits, temperature=2.0) == {8, 276}


@pytest.mark.parametrize("how", [{}, {"temperature": 0.0, "top_k": 9, "top_p": 0.5, "seed": 3}])
def test_temperature_zero_is_greedy(build: Build, steps: np.ndarray, how: dict[str, Any]) -> None:
    set_weights(build.root, steps)
    with build.package.Engine(threads=1) as engine:
        assert one(build, engine, **how) == 107


def test_a_tiny_temperature_is_nearly_greedy(build: Build, steps: np.ndarray) -> None:
    assert support(build, steps, 20, temperature=1e-30) == {107}


def test_draws_are_uniform_over_positions_and_seeds() -> None:
    """Dvoretzky-Kiefer-Wolfowitz: a uniform sample deviates more once in 10^9 times."""
    for numbers in (
        sorted(uniform(7, position) for position in range(2**14)),
        sorted(uniform(seed, 7) for seed in range(2**14)),
    ):
        n = len(numbers)
        worst = max(max((i + 1) / n - u, u - i / n) for i, u in enumerate(numbers))
        assert worst <= math.sqrt(math.log(2e9) / (2 * n))


def sample(build: Build, prompt: list[int], n: int, seed: int | None) -> list[int]:
    how = build.package.Sampling(temperature=1.0, seed=seed)
    with build.package.Engine(threads=2) as engine:
        return list(engine.stream(prompt, n, how, ignore_end=True))


def test_the_seed_decides(build: Build) -> None:
    prompt = [40, 41, 42]
    first = sample(build, prompt, 30, 1)
    assert sample(build, prompt, 30, 1) == first
    others = [sample(build, prompt, 30, seed) for seed in (2, 3, MASK, None, None)]
    assert len({tuple(tokens) for tokens in [first, *others]}) == 6


def test_a_seed_gives_the_same_however_the_prompt_got_there(build: Build) -> None:
    prompt = [40, 41, 42]
    whole = sample(build, prompt, 20, 5)
    assert sample(build, [*prompt, *whole[:7]], 13, 5) == whole[7:]
    with build.package.Engine(threads=1) as engine:
        for position, token in enumerate(prompt):
            engine.evaluate([token], position)
        how = build.package.Sampling(temperature=1.0, seed=5)
        assert list(engine.stream(prompt, 20, how, ignore_end=True)) == whole
        assert engine.reused == 2


@pytest.mark.parametrize(
    "how",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_k": 2**32 + 1},
        {"top_p": 0.0},
        {"top_p": 1.01},
        {"top_p": math.nan},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_values_out_of_range_are_refused(build: Build, engine: Any, how: dict[str, Any]) -> None:
    with pytest.raises(build.package.EngineError, match=next(iter(how))):
        next(engine.stream([9], 1, build.package.Sampling(**how)))


def test_what_is_not_asked_is_no_argument(make_build: Callable[..., Build]) -> None:
    plain = make_build(["temperature"])
    assert plain.package.Sampling._fields == ("temperature",)
    set_weights(plain.root, np.zeros(VOCAB, np.float32))
    with plain.package.Engine(threads=1) as engine:
        runs = {tuple(engine.stream([40], 20, plain.package.Sampling(1.0))) for _ in range(4)}
    assert len(runs) == 4
