"""Record llama.cpp's greedy tokens and teacher-forced logits on the F32 copy:
`python -m tests.oracle.record_logits MODEL.gguf COPY.gguf`.

Without `--continuations` the continuations are llama.cpp's own greedy tokens, and are written to
`llama_greedy_smollm2.json`. With it they come from that file (`r0_smollm2.json`: what our reference
interpreter generates), so that both programs judge the same positions. The weights are float32, the
KV cache is float32, flash attention is off.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metainfer.driver.prompts import PROMPTS, Prompt
from tests.oracle.llama import Llama, versions
from tests.oracle.recording import (
    FIXTURES,
    MODEL_SOURCE,
    STEPS,
    logits_columns,
    sampled_ids,
    sha256,
    write_json,
)

RECIPE = (
    "F32 copy by tests.oracle.make_f32; KV type F32, flash attention off, 2 threads; the prompt in "
    "one batch, then token by token; row i of a prompt is after its prompt and i continuation ids"
)


def logits_along(
    llama: Llama, prompt_ids: Sequence[int], tokens: Sequence[int]
) -> Iterator[NDArray[np.float32]]:
    """Logits, (vocab,), after the prompt and after each of `tokens` but the last."""
    llama.reset()
    yield llama.feed(prompt_ids)
    for token in tokens[:-1]:
        yield llama.feed([token])


def greedy(llama: Llama, prompt_ids: Sequence[int]) -> list[int]:
    """`STEPS` tokens, each the argmax; end tokens do not end it."""
    llama.reset()
    tokens = [int(llama.feed(prompt_ids).argmax())]
    while len(tokens) < STEPS:
        tokens.append(int(llama.feed(tokens[-1:]).argmax()))
    return tokens


def greedy_row(llama: Llama, prompt: Prompt) -> dict[str, Any]:
    """A prompt with its ids and llama.cpp's continuation."""
    ids = llama.tokenize(prompt.text, special=prompt.special)
    row = {"name": prompt.name, "text": prompt.text, "special": prompt.special}
    return {**row, "prompt_ids": ids, "tokens": greedy(llama, ids)}


def logits_row(llama: Llama, continuation: dict[str, Any], ids: Sequence[int]) -> dict[str, Any]:
    """The top two and the sampled logits at each of the `STEPS` positions."""
    prompt_ids, tokens = continuation["prompt_ids"], continuation["tokens"]
    if len(tokens) != STEPS:
        raise ValueError(f"{continuation['name']}: {len(tokens)} continuation ids, not {STEPS}")
    rows = list(logits_along(llama, prompt_ids, tokens))
    head = {"name": continuation["name"], "prompt_ids": prompt_ids, "tokens": tokens}
    return head | logits_columns(rows, ids)


def record(model: Path, copy: Path, continuations: Path | None, folder: Path) -> None:
    """Write `llama_logits_smollm2.json`, and the greedy fixture where continuations are our own."""
    llama = Llama(copy)
    files = {"source": MODEL_SOURCE, "sha256": sha256(model), "f32_copy_sha256": sha256(copy)}
    head: dict[str, Any] = {"recipe": RECIPE, "versions": versions(), "model": files}
    if continuations is None:
        continuations = folder / "llama_greedy_smollm2.json"
        rows = [greedy_row(llama, prompt) for prompt in PROMPTS]
        write_json(continuations, head, "prompts", rows)
    given = json.loads(continuations.read_text())["prompts"]
    ids = sampled_ids(llama.vocab_size)
    head |= {"continuations": continuations.name, "sampled_ids": ids}
    rows = [logits_row(llama, row, ids) for row in given]
    write_json(folder / "llama_logits_smollm2.json", head, "prompts", rows)


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the Q4_1 file")
    parser.add_argument("copy", type=Path, help="its F32 copy")
    parser.add_argument(
        "--continuations", type=Path, help="JSON with prompt_ids and 64 tokens each"
    )
    parser.add_argument("--folder", type=Path, default=FIXTURES)
    options = parser.parse_args()
    record(options.model, options.copy, options.continuations, options.folder)


if __name__ == "__main__":
    main()
