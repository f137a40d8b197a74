"""Record llama.cpp's logits along given tokens, on the F32 copy of a model file:
`python -m tests.oracle.record_logits MODEL.gguf COPY.gguf --along TOKENS.json`.

The tokens come from a recording: `llama_greedy_NAME.json`, or `r0_smollm2.json`, whose tokens our
reference interpreter chose. So that program and llama.cpp judge the same positions. The weights are
float32, the KV cache is float32, flash attention is off.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.oracle.llama import Llama, versions
from tests.oracle.recording import Logits, logits_columns, sampled_ids, sha256, write_json

CONTEXT, CHUNK = 1200, 128
RECIPE = (
    "F32 copy by tests.oracle.make_f32; KV type F32, flash attention off; "
    f"{CHUNK} tokens a step; row i of a prompt is after its prompt and i continuation ids"
)
Row = dict[str, Any]


def along(llama: Llama, prompt: Sequence[int], tokens: Sequence[int]) -> Iterator[Logits]:
    """Logits, (vocab,), after the prompt and after each of `tokens` but the last."""
    fed = [*prompt, *tokens[:-1]]
    llama.reset()
    for start in range(0, len(fed), CHUNK):
        for place, logits in enumerate(llama.feed_each(fed[start : start + CHUNK], start), start):
            if place >= len(prompt) - 1:
                yield logits


def record(model: Path, copy: Path, given: Path, sampled: int, fixture: Path) -> None:
    """Write the fixture."""
    recorded = json.loads(given.read_text())
    if recorded["model"]["sha256"] != (digest := sha256(model)):
        raise ValueError(f"{given} is of another model file")
    llama = Llama(copy, context=CONTEXT)
    ids = sampled_ids(llama.vocab_size, sampled)
    head = {
        "recipe": RECIPE,
        "versions": versions(),
        "model": {
            "source": recorded["model"]["source"],
            "sha256": digest,
            "f32_copy_sha256": sha256(copy),
        },
        "continuations": given.name,
        "sampled_ids": ids,
    }
    rows = [
        {key: row[key] for key in ("name", "prompt_ids", "tokens")}
        | logits_columns(along(llama, row["prompt_ids"], row["tokens"]), ids)
        for row in recorded["prompts"]
    ]
    write_json(fixture, head, "prompts", rows)


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the model file as it is published")
    parser.add_argument("copy", type=Path, help="its F32 copy")
    parser.add_argument("--along", type=Path, required=True, help="JSON: prompt_ids and tokens")
    parser.add_argument("--sampled", type=int, default=8, help="logits kept beside the top two")
    parser.add_argument("--fixture", type=Path, required=True, help="what to write")
    options = parser.parse_args()
    record(options.model, options.copy, options.along, options.sampled, options.fixture)


if __name__ == "__main__":
    main()
