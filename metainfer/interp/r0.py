"""Drives a whole model through the interpreter: greedy generation and teacher forcing.

The interpreter's module is R0 right after `expand-model`, or any later stage that still has its
`@forward(batch, states...) -> (logits, states...)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func

from metainfer.interp.batch import Batch, Span
from metainfer.interp.numerics import Array, value_of
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State
from metainfer.ir.dialects import infer

FORWARD = "forward"


States = tuple[State, ...]
"""One state per class of the model, in the order of the forward function's arguments."""


def empty_states(interpreter: Interpreter, function: str = FORWARD) -> States:
    """States that hold no token yet."""
    arguments = interpreter.find(function, func.FuncOp).body.block.args
    return tuple(State() for a in arguments if isinstance(a.type, infer.StateType))


def forward(
    interpreter: Interpreter, spans: Sequence[Span], states: States, function: str = FORWARD
) -> tuple[Array, States]:
    """One step: logits after the last token of each sequence, (seqs, vocab), and next states."""
    return _step(interpreter, Batch.of(spans), states, function)


def _step(
    interpreter: Interpreter, batch: Batch, states: States, function: str
) -> tuple[Array, States]:
    logits, *after = interpreter.run(function, batch, *states)
    return value_of(cast(Array, logits)), cast(States, tuple(after))


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
    states = empty_states(interpreter, function)
    for _ in range(steps):
        logits, states = forward(interpreter, spans, states, function)
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
    states = empty_states(interpreter, function)
    for start in range(0, len(ids), chunk):
        batch = Batch.of([(ids[start : start + chunk], start)]).selecting_every_token()
        logits, states = _step(interpreter, batch, states, function)
        yield logits
