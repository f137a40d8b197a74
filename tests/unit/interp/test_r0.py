"""The drivers: greedy generation and teacher forcing agree with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from metainfer.interp import r0
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State

Llama = Any


def test_greedy_takes_the_largest_logit_and_goes_on_from_it(llama: Llama) -> None:
    interpreter = Interpreter(llama.module, llama.source)
    prompts = [[3, 1, 4, 1, 5], [9]]
    steps = list(r0.greedy(interpreter, prompts, 6))
    chosen = np.array([tokens for tokens, _ in steps])
    assert chosen.shape == (6, 2)
    assert all((logits.argmax(axis=1) == tokens).all() for tokens, logits in steps)
    for seq, prompt in enumerate(prompts):
        continued = list(prompt)
        for step in range(6):
            logits, _ = r0.forward(interpreter, [(continued, 0)], (State(),))
            assert logits.argmax() == chosen[step, seq]
            continued.append(int(chosen[step, seq]))


def test_teacher_forcing_gives_the_logits_of_every_position(llama: Llama) -> None:
    interpreter = Interpreter(llama.module, llama.source)
    prompt = [3, 1, 4, 1, 5]
    steps = [tokens[0] for tokens, _ in r0.greedy(interpreter, [prompt], 6)]
    ids = [*prompt, *map(int, steps)]
    for chunk in (1, 3, 64):
        parts = list(r0.teacher_forced(interpreter, ids, chunk))
        assert [len(p) for p in parts[:-1]] == [chunk] * (len(parts) - 1)
        logits = np.concatenate(parts)
        assert logits.shape == (11, 50)
        assert logits[4:10].argmax(axis=1).tolist() == steps
