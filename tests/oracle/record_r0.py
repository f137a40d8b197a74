"""Record what R0, our reference interpreter, says in float64: `python -m tests.oracle.record_r0`.

R0 is the module after `expand-model` of `specs/quickstart.mispec`, with the stored weights. It
generates greedily from the prompts of `llama_greedy_smollm2.json` side by side; a prompt's tokens
and logits do not depend on its neighbours. `r0_smollm2.json` is what engines are held to, and what
llama.cpp is teacher-forced with (`record_logits --continuations`).
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from metainfer.driver.reference import reference_of
from metainfer.driver.session import compiler_context
from metainfer.interp import r0
from metainfer.interp.run import Interpreter
from metainfer.resources import specs_dir
from tests.oracle.recording import (
    FIXTURES,
    MODEL_SOURCE,
    STEPS,
    logits_columns,
    sampled_ids,
    sha256,
    write_json,
)

CACHE_BYTES = 2 << 30
RECIPE = (
    "module after expand-model of specs/quickstart.mispec, interpreted in float64; the prompts "
    "side by side, each in one step, then token by token; row i of a prompt is after its prompt "
    "and i tokens; a token is the argmax, the lower id where two are equal"
)


def record(prompts: list[dict[str, Any]], spec: Path, fixture: Path) -> None:
    """Generate `STEPS` tokens after each prompt and write the fixture."""
    reference = reference_of(spec, compiler_context())
    interpreter = Interpreter(reference.module, reference.weights, cache_bytes=CACHE_BYTES)
    steps = []
    for tokens, logits in r0.greedy(interpreter, [row["prompt_ids"] for row in prompts], STEPS):
        steps.append((tokens, logits))
        print(f"{len(steps)} of {STEPS}", file=sys.stderr, flush=True)
    chosen = np.stack([tokens for tokens, _ in steps], axis=1)
    ids = sampled_ids(steps[0][1].shape[1])
    head = {
        "recipe": RECIPE,
        "versions": {name: version(name) for name in ("metainfer", "numpy", "xdsl")},
        "model": {"source": MODEL_SOURCE, "sha256": sha256(reference.model.path)},
        "sampled_ids": ids,
    }
    rows = [
        {key: row[key] for key in ("name", "text", "special", "prompt_ids")}
        | {"tokens": chosen[seq].tolist()}
        | logits_columns([logits[seq] for _, logits in steps], ids)
        for seq, row in enumerate(prompts)
    ]
    write_json(fixture, head, "prompts", rows)


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, default=FIXTURES / "llama_greedy_smollm2.json")
    parser.add_argument("--spec", type=Path, default=specs_dir() / "quickstart.mispec")
    parser.add_argument("--fixture", type=Path, default=FIXTURES / "r0_smollm2.json")
    options = parser.parse_args()
    record(json.loads(options.prompts.read_text())["prompts"], options.spec, options.fixture)


if __name__ == "__main__":
    main()
