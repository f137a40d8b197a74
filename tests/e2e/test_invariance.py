"""Batch invariance on the real model: neither threads nor how a prompt is fed change a bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

R0 = json.loads((Path(__file__).parents[1] / "fixtures" / "r0_smollm2.json").read_text())
BY_NAME = {row["name"]: row["prompt_ids"] for row in R0["prompts"]}
PROMPTS: dict[str, list[int]] = {
    "unicode": BY_NAME["unicode"],
    "chat": BY_NAME["chat"],
    "long": [id_ for ids in BY_NAME.values() for id_ in ids][:150],
}
WAYS = [(threads, chunk) for threads in (1, 2) for chunk in (0, 64, 7, 1)]
"""Threads, and tokens of the prompt that are fed in one step (0: all)."""
STEPS = 16

Outcome = tuple[list[int], list[bytes]]


def outcome(engine: Any, prompt: Sequence[int], chunk: int) -> Outcome:
    """Greedy tokens, and the bytes of the logits that each was taken from."""
    tokens: list[int] = []
    seen: list[bytes] = []
    size = chunk or len(prompt)
    for start in range(0, len(prompt), size):
        logits = engine.evaluate(prompt[start : start + size], start)
    while True:
        seen.append(bytes(logits))
        tokens.append(int(np.frombuffer(logits, np.float32).argmax()))
        if len(tokens) == STEPS:
            return tokens, seen
        logits = engine.evaluate(tokens[-1:], len(prompt) + len(tokens) - 1)


def outcomes(package: Any, threads: int, chunk: int) -> dict[str, Outcome]:
    """All prompts, one after another, in an engine whose state nothing else has filled."""
    with package.Engine(threads=threads) as engine:
        assert engine.threads == threads
        return {name: outcome(engine, ids, chunk) for name, ids in PROMPTS.items()}


@pytest.fixture(scope="module")
def plain(quickstart: Any) -> dict[str, Outcome]:
    """One thread, each prompt in one step."""
    return outcomes(quickstart.package, *WAYS[0])


def test_the_prompts_reach_what_may_differ(quickstart: Any, plain: dict[str, Outcome]) -> None:
    """Several chunks of 64, of which none is whole at the end; and answers with some variety."""
    lengths = [len(ids) for ids in PROMPTS.values()]
    assert max(lengths) > 130
    assert any(n % 64 for n in lengths) and any(n % 7 for n in lengths)
    with quickstart.package.Engine(threads=1) as engine:
        assert max(lengths) < engine.chunk
    assert len({token for tokens, _ in plain.values() for token in tokens}) > STEPS


@pytest.mark.parametrize(("threads", "chunk"), WAYS[1:])
def test_same_tokens_and_same_bits(
    quickstart: Any, plain: dict[str, Outcome], threads: int, chunk: int
) -> None:
    found = outcomes(quickstart.package, threads, chunk)
    for name, (tokens, logits) in plain.items():
        assert found[name][0] == tokens, name
        assert found[name][1] == logits, name


def test_generation_takes_the_same_tokens(quickstart: Any, plain: dict[str, Outcome]) -> None:
    """The loop in C, which is one token ahead of its caller, against one step a call."""
    with quickstart.package.Engine(threads=2) as engine:
        for name, ids in PROMPTS.items():
            assert list(engine.stream(ids, STEPS, ignore_end=True)) == plain[name][0], name
