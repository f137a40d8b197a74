"""Record how llama.cpp continues prompts: `python -m tests.oracle.record_tokens NAME MODEL.gguf`.

The model is the published file, which is fast; what matters is only that another program chose the
tokens. `llama_greedy_NAME.json` has the likeliest ones after eight short prompts, with
`--set window` `llama_sampled_NAME_window.json` has drawn ones after long prompts: a base model's
likeliest text soon repeats itself. `record_logits` and `record_r0` are fed with them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from real_models import SOURCES

from tests.oracle.llama import Llama, versions
from tests.oracle.recording import FIXTURES, sha256, write_json
from tests.oracle.sets import SETS, Choose, PromptSet

CONTEXT = 1200
RECIPE = (
    "llama.cpp on the published file; KV type F32, flash attention off; end tokens do "
    "not end a continuation"
)
Row = dict[str, Any]


def rows_of(llama: Llama, prompts: PromptSet) -> Iterator[Row]:
    """Every prompt with its ids, the begin token included where the model has one, and tokens."""
    for number, (prompt, length) in enumerate(zip(prompts.prompts, prompts.lengths, strict=True)):
        ids = llama.begin() + llama.tokenize(prompt.text, special=prompt.special)
        if length is not None and len(ids) < length:
            raise ValueError(f"{prompt.name} has {len(ids)} tokens, {length} are wanted")
        ids = ids[:length]
        text = {} if length is not None else {"text": prompt.text, "special": prompt.special}
        tokens = continued(llama, ids, prompts.steps_after(len(ids)), prompts.chooser(number))
        yield {"name": prompt.name, **text, "prompt_ids": ids, "tokens": tokens}


def continued(llama: Llama, ids: Sequence[int], steps: int, choose: Choose) -> list[int]:
    """`steps` tokens after `ids`."""
    llama.reset()
    tokens = [choose(llama.feed(ids))]
    while len(tokens) < steps:
        tokens.append(choose(llama.feed(tokens[-1:])))
    return tokens


def record(name: str, model: Path, which: str, folder: Path) -> None:
    """Write the fixture."""
    prompts = SETS[which]
    head = {
        "recipe": RECIPE,
        "versions": versions(),
        "model": {"source": SOURCES[name], "sha256": sha256(model)},
        "set": which,
        "temperature": prompts.temperature,
    }
    kind = "sampled" if prompts.temperature else "greedy"
    fixture = folder / f"llama_{kind}_{name}{prompts.suffix}.json"
    write_json(fixture, head, "prompts", list(rows_of(Llama(model, context=CONTEXT), prompts)))


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("model", type=Path, help="the model file as it is published")
    parser.add_argument("--set", choices=SETS, default="short", dest="which")
    parser.add_argument("--folder", type=Path, default=FIXTURES)
    options = parser.parse_args()
    record(options.name, options.model, options.which, options.folder)


if __name__ == "__main__":
    main()
