"""Record what transformers says about tiny random models: `python -m tests.oracle.record_tiny`.

Logits after every token of one sequence in float32, with eager attention and one forward pass, for
each model of `tests/support/tiny_hf.py`. And what its first norm makes of float16: where
a norm rounds cannot be seen in float32.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tiny_hf import MODELS, POSITIONS, Floats, TinyHf

from tests.oracle.recording import FIXTURES

CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "gemma3": (transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM),
}
RECIPE = "transformers, float32, eager attention, the whole sequence in one forward pass"
NORM_ROWS = 8
"""Rows of the embedding table that the half-precision norm is applied to."""


def build(model: TinyHf) -> Any:
    """transformers' model with our weights; every tensor must find its place, and back."""
    configuration, architecture = CLASSES[model.family]
    config = configuration(**model.config(), attn_implementation="eager")
    built = architecture(config).eval()
    tensors = {name: torch.from_numpy(values) for name, values in model.weights().items()}
    missing, unexpected = built.load_state_dict(tensors, strict=False)
    if unexpected or set(missing) - ({"lm_head.weight"} if model.tied else set()):
        raise RuntimeError(f"{model.family}: {missing} missing, {unexpected} unexpected")
    built.tie_weights()
    return built


def logits_of(built: Any, ids: list[int]) -> Floats:
    """Logits after every token: (len(ids), vocab)."""
    with torch.no_grad():
        found: Floats = built(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()
    return found


def norm_of(built: Any) -> np.ndarray[Any, Any]:
    """The first norm of a few embeddings in float16."""
    norm, table = built.model.layers[0].input_layernorm, built.model.embed_tokens.weight
    with torch.no_grad():
        found: np.ndarray[Any, Any] = norm.half()(table[:NORM_ROWS].half()).numpy()
    return found


def record(model: TinyHf, fixture: Path) -> None:
    """Write the fixture."""
    built, ids = build(model), model.ids(POSITIONS[model.family])
    head = {
        "recipe": RECIPE,
        "versions": {name: version(name) for name in ("torch", "transformers", "numpy")},
        "weights_sha256": model.digest(),
        "parameters": sum(values.size for values in model.weights().values()),
    }
    logits = logits_of(built, ids)
    np.savez_compressed(
        fixture,
        head=json.dumps(head),
        ids=np.array(ids, np.int32),
        logits=logits,
        norm_f16=norm_of(built),
    )


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FIXTURES)
    options = parser.parse_args()
    for name, model in MODELS.items():
        record(model, options.folder / f"tiny_{name}.npz")


if __name__ == "__main__":
    main()
