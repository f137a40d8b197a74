"""Record what R0, our reference interpreter, says in float64:
`python -m tests.oracle.record_r0 NAME [--along llama_greedy_NAME.json]`.

R0 is the module after `expand-model`, with the stored weights. With `--along` it is fed the tokens
of that recording, each prompt in turn. Without, it generates greedily from the prompts of
`llama_greedy_NAME.json` side by side; a prompt's tokens and logits do not depend on its neighbours.
The result is what engines and llama.cpp are held to.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from real_models import SOURCES, write_model_spec

from metainfer.driver.reference import Reference, reference_of
from metainfer.driver.session import reading_context
from metainfer.interp import r0
from metainfer.interp.batch import Batch
from metainfer.interp.numerics import Array, value_of
from metainfer.interp.run import Interpreter
from tests.oracle.recording import (
    FIXTURES,
    STEPS,
    Logits,
    logits_columns,
    sampled_ids,
    sha256,
    write_json,
)

CACHE_BYTES = 3 << 30
CHUNK = 128
TOGETHER = 1024
"""Most tokens of all prompts for them to be one step, which decodes every weight once."""
GENERATED = (
    "module after expand-model of the model's spec, interpreted in float64; the prompts side by "
    "side, each in one step, then token by token; row i of a prompt is after its prompt and i "
    "tokens; a token is the argmax, the lower id where two are equal"
)
FORCED = (
    "module after expand-model of the model's spec, interpreted in float64 along recorded tokens, "
    "row i of a prompt is after its prompt and i tokens"
)
Row = dict[str, Any]


def reference_for(name: str) -> Reference:
    """R0 of a model; its context plays no part."""
    with tempfile.TemporaryDirectory() as folder:
        return reference_of(write_model_spec(Path(folder), name), reading_context())


def generated(interpreter: Interpreter, prompts: Sequence[Row], ids: Sequence[int]) -> list[Row]:
    """R0's own greedy tokens, and what is kept of their logits."""
    steps = []
    for tokens, logits in r0.greedy(interpreter, [row["prompt_ids"] for row in prompts], STEPS):
        steps.append((tokens, logits))
        print(f"{len(steps)} of {STEPS}", file=sys.stderr, flush=True)
    chosen = np.stack([tokens for tokens, _ in steps], axis=1)
    return [
        {key: row[key] for key in ("name", "text", "special", "prompt_ids")}
        | {"tokens": chosen[seq].tolist()}
        | logits_columns([logits[seq] for _, logits in steps], ids)
        for seq, row in enumerate(prompts)
    ]


def forced(interpreter: Interpreter, given: Sequence[Row], ids: Sequence[int]) -> Iterator[Row]:
    """What is kept of the logits along given tokens: after the prompt, then after each but one."""
    fed = [[*row["prompt_ids"], *row["tokens"][:-1]] for row in given]
    small = sum(map(len, fed)) <= TOGETHER
    every = together(interpreter, fed) if small else one_by_one(interpreter, fed)
    for row, logits in zip(given, every, strict=True):
        columns = logits_columns(islice(logits, len(row["prompt_ids"]) - 1, None), ids)
        print(row["name"], file=sys.stderr, flush=True)
        head = {key: row[key] for key in ("name", "text", "special") if key in row}
        yield head | {"prompt_ids": row["prompt_ids"], "tokens": row["tokens"]} | columns


def together(
    interpreter: Interpreter, sequences: Sequence[Sequence[int]]
) -> Iterator[Iterator[Logits]]:
    """Logits, (vocab,), after each token of each sequence, from one step."""
    batch = Batch.of([(ids, 0) for ids in sequences]).selecting_every_token()
    logits, *_ = interpreter.run(r0.FORWARD, batch, *r0.empty_states(interpreter))
    ends = np.cumsum([len(ids) for ids in sequences])
    yield from map(iter, np.split(value_of(cast(Array, logits)), ends[:-1]))


def one_by_one(
    interpreter: Interpreter, sequences: Sequence[Sequence[int]]
) -> Iterator[Iterator[Logits]]:
    """The same, `CHUNK` tokens a step."""
    for ids in sequences:
        yield chain.from_iterable(r0.teacher_forced(interpreter, ids, CHUNK))


def record(name: str, given: Path, own: bool, sampled: int, fixture: Path) -> None:
    """Write the fixture."""
    reference = reference_for(name)
    interpreter = Interpreter(reference.module, reference.weights, cache_bytes=CACHE_BYTES)
    recorded = json.loads(given.read_text())
    vocabulary = reference.model.tensors["token_embd.weight"].shape[0]
    ids = sampled_ids(vocabulary, sampled)
    if recorded["model"]["sha256"] != (digest := sha256(reference.model.path)):
        raise ValueError(f"{given} is of another model file")
    head = {
        "recipe": GENERATED if own else FORCED,
        "versions": {name: version(name) for name in ("metainfer", "numpy", "xdsl")},
        "model": {"source": SOURCES[name], "sha256": digest},
        "sampled_ids": ids,
    }
    make = generated if own else forced
    write_json(fixture, head, "prompts", list(make(interpreter, recorded["prompts"], ids)))


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("--along", type=Path, help="a recording of tokens, to be fed")
    parser.add_argument("--sampled", type=int, default=8, help="logits kept beside the top two")
    parser.add_argument("--fixture", type=Path, help="what to write")
    options = parser.parse_args()
    given = options.along or FIXTURES / f"llama_greedy_{options.name}.json"
    fixture = options.fixture or FIXTURES / f"r0_{options.name}.json"
    record(options.name, given, options.along is None, options.sampled, fixture)


if __name__ == "__main__":
    main()
