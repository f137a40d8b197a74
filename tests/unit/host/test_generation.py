"""Ids in, ids out: greedy decoding, the context's edges, prefix reuse, cancelling, refusals."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from typing import Any

import pytest
from tiny_engine import (
    CHUNK,
    CONTEXT,
    VOCAB,
    Build,
    byte_ids,
    expected_greedy,
    expected_logits,
    repeat,
)

PROMPT = [40, 41, 99, 200, 17, 8, 8, 250, 33]  # more than one chunk


def test_greedy_tokens_are_the_models(engine: Any) -> None:
    assert list(engine.stream(PROMPT, 20)) == expected_greedy(PROMPT, 20)
    assert engine.finish_reason == "length"


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same(build: Build, threads: int) -> None:
    with build.package.Engine(threads=threads) as engine:
        for start in (9, 77, 123):
            made = engine.stream([start, *PROMPT], 40, ignore_end=True)
            assert list(made) == expected_greedy([start, *PROMPT], 40)


def test_the_lowest_id_wins_a_tie(engine: Any) -> None:
    tied = next(p for p in range(8, VOCAB) if (x := expected_logits([p])).count(max(x)) > 1)
    assert list(engine.stream([tied], 1)) == expected_greedy([tied], 1)


@pytest.mark.parametrize("n", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1])
def test_prompts_at_the_edges_of_a_chunk(engine: Any, n: int) -> None:
    prompt = list(range(20, 20 + n))
    assert list(engine.stream(prompt, 5)) == expected_greedy(prompt, 5)


@pytest.mark.parametrize("cut", [1, 2, CHUNK])
def test_logits_do_not_depend_on_chunks(engine: Any, cut: int) -> None:
    ids = list(range(100, 100 + 3 * CHUNK + 1))
    for start in range(0, len(ids), cut):
        logits = engine.evaluate(ids[start : start + cut], start)
    assert list(logits) == expected_logits(ids)
    assert list(engine.evaluate(ids)) == expected_logits(ids)


def test_context_minus_one_yields_one_token(engine: Any) -> None:
    prompt = [(i * 7) % 200 + 8 for i in range(CONTEXT - 1)]
    assert list(engine.stream(prompt)) == expected_greedy(prompt, 1)
    assert engine.finish_reason == "length"


def test_generation_fills_the_context_and_no_more(engine: Any) -> None:
    made = list(engine.stream(repeat(b"hello")))
    assert len(made) == CONTEXT - 7
    assert engine.finish_reason == "length"


@pytest.mark.parametrize("n", [0, CONTEXT, CONTEXT + 1])
def test_a_prompt_without_room_for_an_answer_is_refused(build: Build, engine: Any, n: int) -> None:
    with pytest.raises(build.package.EngineError, match=f"has {n} tokens; .* 1 to {CONTEXT - 1}"):
        next(engine.stream([9] * n))
    assert list(engine.stream(PROMPT, 3)) == expected_greedy(PROMPT, 3)


@pytest.mark.parametrize("bad", [-1, VOCAB, 2**32 + 9, -(2**32) + 9])
def test_ids_outside_the_vocabulary_are_refused(build: Build, engine: Any, bad: int) -> None:
    for call in (lambda: next(engine.stream([9, bad])), lambda: engine.evaluate([9, bad])):
        with pytest.raises(build.package.EngineError, match=f"0 to {VOCAB - 1}"):
            call()


@pytest.mark.parametrize("limit", [0, -1, -(2**32) + 1])
def test_max_tokens_is_positive(build: Build, engine: Any, limit: int) -> None:
    with pytest.raises(build.package.EngineError, match="max_tokens"):
        next(engine.stream(PROMPT, limit))


def test_max_tokens_beyond_int32_means_to_the_end(engine: Any) -> None:
    assert len(list(engine.stream(repeat(b"abc"), 2**32 + 1))) == CONTEXT - 5


def test_a_position_past_the_sequence_is_refused(build: Build, engine: Any) -> None:
    engine.evaluate([9, 10])
    for position in (3, -1, CONTEXT, 2**32):
        with pytest.raises(build.package.EngineError):
            engine.evaluate([11], position)
    assert list(engine.evaluate([11], 2)) == expected_logits([9, 10, 11])


@pytest.mark.parametrize("end", [0, 2])
def test_every_end_token_stops(engine: Any, end: int) -> None:
    prompt = [3, 4, *byte_ids(b"abc"), end]
    assert list(engine.stream(prompt)) == byte_ids(b"abc")
    assert engine.finish_reason == "stop"
    on = list(engine.stream(prompt, 5, ignore_end=True))
    assert on == [*byte_ids(b"abc"), end, *byte_ids(b"a")]
    assert engine.finish_reason == "length"


def test_the_common_prefix_is_not_evaluated_again(engine: Any) -> None:
    first = list(engine.stream(PROMPT, 6))
    assert engine.reused == 0
    turn = [*PROMPT, *first, 50, 51]
    assert list(engine.stream(turn, 6)) == expected_greedy(turn, 6)
    assert engine.reused == len(PROMPT) + len(first) - 1  # the last token was never evaluated
    fork = [*PROMPT[:4], 60]
    assert list(engine.stream(fork, 6)) == expected_greedy(fork, 6)
    assert engine.reused == 4
    assert list(engine.stream(fork, 6)) == expected_greedy(fork, 6)
    assert engine.reused == len(fork) - 1


def test_logits_that_are_not_finite_are_an_error(build: Build, engine: Any) -> None:
    made = []
    with pytest.raises(build.package.EngineError, match="not finite"):
        for token in engine.stream([6, *repeat(b"abcd")[1:]]):
            made.append(token)
    assert len(made) == 15  # for positions 6 to 20; the logits after 20 are the bad ones
    assert list(engine.stream(PROMPT, 3)) == expected_greedy(PROMPT, 3)


def test_never_more_than_one_token_ahead(engine: Any) -> None:
    stream = engine.stream(PROMPT, 30)
    next(stream)
    time.sleep(0.2)
    stream.close()
    # The one taken, and the one ahead; a third would have been evaluated with the fourth begun.
    next(engine.stream([*PROMPT, *expected_greedy(PROMPT, 20)], 1))
    assert len(PROMPT) <= engine.reused <= len(PROMPT) + 2


def test_a_busy_engine_says_so_and_goes_on(build: Build, engine: Any) -> None:
    stream = engine.stream(PROMPT, 10)
    first = next(stream)
    with pytest.raises(build.package.EngineError, match="busy"):
        next(engine.stream([9], 1))
    with pytest.raises(build.package.EngineError, match="busy"):
        engine.evaluate([9])
    assert [first, *stream] == expected_greedy(PROMPT, 10)


def test_an_abandoned_stream_frees_the_engine(engine: Any) -> None:
    next(engine.stream(PROMPT, 30))
    assert list(engine.stream(PROMPT, 5)) == expected_greedy(PROMPT, 5)
    assert engine.finish_reason == "length"


def test_cancel_from_another_thread_is_prompt(engine: Any) -> None:
    timer = threading.Timer(0.15, engine.cancel)
    timer.start()
    made = list(engine.stream([4, *repeat(b"slow")[1:]]))
    timer.join()
    assert engine.finish_reason == "cancelled"
    assert 1 <= len(made) < 20  # 30 ms each
    assert list(engine.stream(PROMPT, 5)) == expected_greedy(PROMPT, 5)


def test_cancel_during_the_prompt(engine: Any) -> None:
    prompt = [4, 1, *[9] * 50]  # 8 chunks of 30 ms
    timer = threading.Timer(0.01, engine.cancel)
    timer.start()
    assert list(engine.stream(prompt)) == []
    timer.join()
    assert engine.finish_reason == "cancelled"
    next(engine.stream(prompt, 1))
    assert engine.reused < len(prompt) - 1  # not all of it had been evaluated


def test_a_signal_that_is_no_interrupt_changes_nothing(engine: Any) -> None:
    timers = [threading.Timer(0.02 * n, os.kill, (os.getpid(), signal.SIGUSR1)) for n in range(9)]
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        for timer in timers:
            timer.start()
        made = list(engine.stream([4, *repeat(b"slow")[1:]], 8))
        for timer in timers:
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert made == byte_ids(b"slowslow")


@pytest.mark.parametrize(
    ("ids", "n", "limit", "status"),
    [
        ([9], 0, 1, -2),
        ([9], -1, 1, -2),
        ([9] * CONTEXT, CONTEXT, 1, -2),
        ([9], 1, 0, -2),
        ([-1], 1, 1, -3),
        ([9, VOCAB], 2, 1, -3),
    ],
)
def test_the_library_checks_for_itself(
    build: Build, engine: Any, ids: list[int], n: int, limit: int, status: int
) -> None:
    packed, how = (ctypes.c_int32 * len(ids))(*ids), build.package.Sampling().packed()
    start = engine._lib.mi_start
    assert start(engine._handle, packed, n, limit, 0, ctypes.byref(how)) == status
    if limit > 0:
        place = 1 if n == CONTEXT else 0
        assert engine._lib.mi_step(engine._handle, packed, n, place, None) == status
    assert list(engine.stream(PROMPT, 3)) == expected_greedy(PROMPT, 3)


def test_two_engines_in_one_process(build: Build, engine: Any) -> None:
    with build.package.Engine(threads=3) as other:
        pairs = list(zip(engine.stream(PROMPT, 30), other.stream([8, *PROMPT], 30), strict=True))
    assert [a for a, _ in pairs] == expected_greedy(PROMPT, 30)
    assert [b for _, b in pairs] == expected_greedy([8, *PROMPT], 30)


def test_a_closed_engine_is_refused(build: Build, engine: Any) -> None:
    stream = engine.stream(PROMPT, 30)
    next(stream)
    engine.close()
    for use in (lambda: next(stream), lambda: engine.evaluate([9])):
        with pytest.raises(build.package.EngineError, match="closed"):
            use()
    engine.close()
    engine.cancel()


@pytest.mark.parametrize("threads", [-1, 8])
def test_a_number_of_threads_it_was_not_made_for(build: Build, threads: int) -> None:
    with pytest.raises(build.package.EngineError, match=f"1 to 7, not {threads}"):
        build.package.Engine(threads=threads)
