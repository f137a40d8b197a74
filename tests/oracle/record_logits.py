"""Record llama.cpp's tokens and teacher-forced logits on the F32 copy of a model file:
`python -m tests.oracle.record_logits NAME MODEL.gguf COPY.gguf [--set window]`.

Without `--continuations` llama.cpp continues the prompts itself: `llama_greedy_NAME.json` has its
greedy tokens (`llama_sampled_NAME_window.json` has drawn ones: a base model's likeliest text soon
repeats itself). With it the tokens come from that file, such as `r0_smollm2.json`, so that both
programs judge the same positions. Either way `llama_logits_NAME.json` has the logits along them.
The weights are float32, the KV cache is float32, flash attention is off.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from real_models import SOURCES

from tests.oracle.llama import Llama, versions
from tests.oracle.recording import FIXTURES, Logits, logits_columns, sampled_ids, sha256, write_json
from tests.oracle.sets import SETS, Choose, PromptSet

RECIPE = (
    "F32 copy by tests.oracle.make_f32; KV type F32, flash attention off, 2 threads; the prompt in "
    "one batch, then token by token; row i of a prompt is after its prompt and i continuation ids"
)
CONTEXT = 1200
Row = dict[str, Any]


def along(
    llama: Llama, prompt_ids: Sequence[int], steps: int, choose: Choose, tokens: list[int]
) -> Iterator[Logits]:
    """`steps` rows of logits, (vocab,): after the prompt, then after each token of `tokens`.

    `choose` gives each token and it is added to `tokens`; end tokens do not end it.
    """
    llama.reset()
    logits = llama.feed(prompt_ids)
    while True:
        yield logits
        tokens.append(choose(logits))
        if len(tokens) == steps:
            return
        logits = llama.feed(tokens[-1:])


def prompt_rows(llama: Llama, prompts: PromptSet) -> Iterator[Row]:
    """Every prompt with its ids, the begin token included where the model has one."""
    for prompt, length in zip(prompts.prompts, prompts.lengths, strict=True):
        ids = llama.begin() + llama.tokenize(prompt.text, special=prompt.special)
        if length is not None and len(ids) < length:
            raise ValueError(f"{prompt.name} has {len(ids)} tokens, {length} are wanted")
        text = {} if length is not None else {"text": prompt.text, "special": prompt.special}
        yield {"name": prompt.name, **text, "prompt_ids": ids[:length]}


def continued(llama: Llama, prompts: PromptSet, ids: Sequence[int]) -> Iterator[tuple[Row, Row]]:
    """For each prompt its row with llama.cpp's own tokens, and what is kept of their logits."""
    for number, row in enumerate(prompt_rows(llama, prompts)):
        tokens: list[int] = []
        steps = prompts.steps_after(len(row["prompt_ids"]))
        rows = along(llama, row["prompt_ids"], steps, prompts.chooser(number), tokens)
        columns = logits_columns(rows, ids)
        yield row | {"tokens": tokens}, _head(row, tokens) | columns


def forced(llama: Llama, given: Sequence[Row], ids: Sequence[int]) -> Iterator[Row]:
    """What is kept of the logits along tokens that another program chose."""
    for row in given:
        rest = iter(row["tokens"])
        rows = along(
            llama, row["prompt_ids"], len(row["tokens"]), lambda _logits, rest=rest: next(rest), []
        )
        yield _head(row, row["tokens"]) | logits_columns(rows, ids)


def _head(row: Row, tokens: list[int]) -> Row:
    return {"name": row["name"], "prompt_ids": row["prompt_ids"], "tokens": tokens}


def record(
    name: str, model: Path, copy: Path, which: str, continuations: Path | None, folder: Path
) -> None:
    """Write the logits fixture, and that of the tokens where they are llama.cpp's own."""
    llama, prompts = Llama(copy, context=CONTEXT), SETS[which]
    files = {"source": SOURCES[name], "sha256": sha256(model), "f32_copy_sha256": sha256(copy)}
    head: Row = {"recipe": RECIPE, "versions": versions(), "model": files}
    ids = sampled_ids(llama.vocab_size, prompts.sampled)
    if continuations is None:
        kind = "sampled" if prompts.temperature else "greedy"
        continuations = folder / f"llama_{kind}_{name}{prompts.suffix}.json"
        pairs = list(continued(llama, prompts, ids))
        how = {"temperature": prompts.temperature, "set": which}
        write_json(continuations, head | how, "prompts", [tokens for tokens, _ in pairs])
        rows = [columns for _, columns in pairs]
    else:
        rows = list(forced(llama, json.loads(continuations.read_text())["prompts"], ids))
    head |= {"continuations": continuations.name, "sampled_ids": ids}
    write_json(folder / f"llama_logits_{name}{prompts.suffix}.json", head, "prompts", rows)


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("model", type=Path, help="the model file as it is published")
    parser.add_argument("copy", type=Path, help="its F32 copy")
    parser.add_argument("--set", choices=SETS, default="short", dest="which")
    parser.add_argument("--continuations", type=Path, help="JSON with prompt_ids and tokens")
    parser.add_argument("--folder", type=Path, default=FIXTURES)
    options = parser.parse_args()
    record(
        options.name,
        options.model,
        options.copy,
        options.which,
        options.continuations,
        options.folder,
    )


if __name__ == "__main__":
    main()
