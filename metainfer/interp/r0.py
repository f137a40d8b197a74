"""Drives a whole model through the interpreter: greedy generation and teacher forcing.

The interpreter's module is R0 right after `expand-model`, or any later stage that still has its
`@forward(batch, state) -> (logits, state)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from metainfer.interp.batch import Batch, Span
from metainfer.interp.numerics import Array, value_of
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State

FORWARD = "forward"


def forward(
    interpreter: Interpreter, spans: Sequence[Span], state: State, function: str = FORWARD
) -> tuple[Array, State]:
    """One step: logits after the last token of each sequence, (seqs, vocab), and the next state."""
    return _step(interpreter, Batch.of(spans), state, function)


def _step(
    interpreter: Interpreter, batch: Batch, state: State, function: str
) -> tuple[Array, State]:
    logits, state_after = interpreter.run(function, batch, state)
    return value_of(cast(Array, logits)), cast(State, state_after)


def greedy(
    interpreter: Interpreter,
    prompts: Sequence[Sequence[int]],
    steps: int,
    function: str = FORWARD,
) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """Generate `steps` tokens after each prompt, all side by side.

    Yields each step's chosen tokens (seqs,) and the logits (seqs, vocab) they are the argmax of; of
    equal logits the lowest token wins.
    """
    spans: list[Span] = [(list(prompt), 0) for prompt in prompts]
    state = State()
    for _ in range(steps):
        logits, state = forward(interpreter, spans, state, function)
        chosen = logits.argmax(axis=1)
        yield chosen, logits
        spans = [
            ([int(token)], start + len(ids))
            for token, (ids, start) in zip(chosen, spans, strict=True)
        ]


def teacher_forced(
    interpreter: Interpreter, ids: Sequence[int], chunk: int, function: str = FORWARD
) -> Iterator[Array]:
    """Logits after every token of one sequence, `chunk` tokens a step: (chunk, vocab) each."""
    state = State()
    for start in range(0, len(ids), chunk):
        batch = Batch.of([(ids[start : start + chunk], start)]).selecting_every_token()
        logits, state = _step(interpreter, batch, state, function)
        yield logits
