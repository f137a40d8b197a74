"""Every way to get a family wrong that we could think of shows in the comparison with transformers.

A mutant is a change of the contracts, or of the model file as another converter would write it. It
is caught if a logit is off by more than what correct families are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tiny_families import WITHIN, Edit, r0_logits, recording, tiny_reference
from tiny_hf import MODELS, NORM_NAMES, Floats, adjacent_pairs

FAMILIES = tuple(MODELS)


@dataclass(frozen=True)
class Mutant:
    """A wrong reading of a family: edits of the contracts or other tensors in the file."""

    name: str
    family: str
    edits: tuple[Edit, ...] = ()
    weights: Mapping[str, Floats] | None = None

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


def layer(family: str, name: str, before: str, after: str) -> Mutant:
    """A changed layer template."""
    return Mutant(name, family, (Edit(f"family/{family}/layer.mlir", before, after),))


def forward(family: str, name: str, before: str, after: str) -> Mutant:
    """A changed forward template."""
    return Mutant(name, family, (Edit(f"family/{family}/forward.mlir", before, after),))


def numbers(family: str, name: str, before: str, after: str) -> Mutant:
    """A changed family contract."""
    return Mutant(name, family, (Edit(f"family/{family}/contract.yaml", before, after),))


def pairing(family: str, before: str, after: str) -> Mutant:
    """The other way to pair the elements that rope rotates."""
    file = f"weight_map/gguf_{family}/contract.yaml"
    return Mutant(
        "rope pairing", family, (Edit(file, f"rope_pairing: {before}", f"rope_pairing: {after}"),)
    )


def common(family: str) -> Iterator[Mutant]:
    """Mistakes that any family allows."""
    yield numbers(family, "rope theta not read", "rope.freq_base", "rope.base")
    yield layer(family, "epsilon", "eps = ${eps}", "eps = 1.0e-06 : f64")
    yield layer(family, "attention scale", "scale = ${attn_scale}", "scale = 1.0 : f64")
    yield layer(family, "gate and up swapped", "gated_act %gate, %up", "gated_act %up, %gate")
    yield layer(family, "q not rotated", "infer.attend %q_rot", "infer.attend %q")
    yield layer(
        family, "k not rotated", "infer.state_append %kv, %k_rot", "infer.state_append %kv, %k"
    )
    yield layer(family, "k and v swapped", "%k_rot, %v, %batch", "%v, %k_rot, %batch")
    yield layer(family, "residual lost", "infer.add %x_attn, %down", "infer.add %x, %down")
    yield layer(family, "gate computed with the weight of up", "%ffn_gate : !ffn", "%ffn_up : !ffn")
    yield forward(family, "last norm left out", "infer.linear %z", "infer.linear %last")


def llama() -> Iterator[Mutant]:
    """Mistakes about Llama, and about its converter's order of rows."""
    model = MODELS["llama"]
    yield pairing("llama", "interleaved", "half")
    yield forward("llama", "head taken for tied", "${output}\n", "${token_embd}\n")
    yield layer("llama", "wrong activation", '"silu"', '"gelu_tanh"')
    converted = model.converted()
    for slot in ("attn_q", "attn_k"):
        again = {
            name: adjacent_pairs(values, model.head_dim)
            for name, values in converted.items()
            if name.endswith(f"{slot}.weight")
        }
        yield Mutant(f"rows of {slot} reordered twice", "llama", weights=again)


def qwen2() -> Iterator[Mutant]:
    """Mistakes about Qwen2."""
    yield pairing("qwen2", "half", "interleaved")
    yield layer("qwen2", "wrong activation", '"silu"', '"gelu_tanh"')
    for slot in ("q", "k", "v"):
        biased = f"infer.linear %h, %attn_{slot}, %attn_{slot}_bias"
        yield layer("qwen2", f"{slot} bias dropped", biased, f"infer.linear %h, %attn_{slot}")


def gemma3() -> Iterator[Mutant]:
    """Mistakes about Gemma3."""
    yield pairing("gemma3", "half", "interleaved")
    yield layer("gemma3", "wrong activation", '"gelu_tanh"', '"silu"')
    for change in ("+ 1", "- 1"):
        yield numbers("gemma3", f"window {change}", "window: window", f"window: window {change}")
    yield numbers("gemma3", "window on no layer", "window: window, ", "")
    yield numbers(
        "gemma3",
        "local and global swapped",
        "[local, local, local, local, local, global]",
        "[global, global, global, global, global, local]",
    )
    yield numbers(
        "gemma3",
        "pattern begins with the global layer",
        "[local, local, local, local, local, global]",
        "[global, local, local, local, local, local]",
    )
    yield numbers(
        "gemma3", "local theta everywhere", "layer_theta: theta", "layer_theta: local_theta"
    )
    yield numbers(
        "gemma3", "global theta everywhere", "layer_theta: local_theta", "layer_theta: theta"
    )
    yield Mutant(
        "thetas swapped",
        "gemma3",
        tuple(
            Edit("family/gemma3/contract.yaml", f"layer_theta: {before}", f"layer_theta: {after}")
            for before, after in (("theta", "x"), ("local_theta", "theta"), ("x", "local_theta"))
        ),
    )
    yield forward(
        "gemma3", "embeddings not scaled", "factor = ${embed_scale}", "factor = 1.0 : f64"
    )
    yield layer("gemma3", "q not normalised", "infer.rope %q_normed", "infer.rope %q")
    yield layer("gemma3", "k not normalised", "infer.rope %k_normed", "infer.rope %k")
    yield layer("gemma3", "attention not normalised after", "add %x, %o_normed", "add %x, %o")
    yield layer(
        "gemma3", "feed-forward not normalised after", "%x_attn, %down_normed", "%x_attn, %down"
    )
    yield from norms_without_one()


def norms_without_one() -> Iterator[Mutant]:
    """Gemma's norms as the checkpoint has them, without the converter's 1: one kind at a time."""
    converted = MODELS["gemma3"].converted()
    for slot in (*NORM_NAMES["gemma3"].values(), "output_norm"):
        less = {n: v - np.float32(1) for n, v in converted.items() if n.endswith(f"{slot}.weight")}
        yield Mutant(f"1 not added to {slot}", "gemma3", weights=less)


def mutants() -> list[Mutant]:
    """All of them."""
    made = [mutant for family in FAMILIES for mutant in common(family)]
    return [*made, *llama(), *qwen2(), *gemma3()]


@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_caught(mutant: Mutant, tmp_path: Path) -> None:
    recorded = recording(mutant.family)
    reference = tiny_reference(
        tmp_path, MODELS[mutant.family], edits=mutant.edits, weights=mutant.weights
    )
    off = np.abs(r0_logits(reference, recorded.ids) - recorded.logits).max()
    print(f"{mutant}: {off:.3f}")
    assert off > WITHIN


@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_of_the_contracts_is_no_mutant(family: str, tmp_path: Path) -> None:
    """What the mutants are caught by is their change, not the way they are made."""
    recorded = recording(family)
    same = Edit(f"family/{family}/layer.mlir", "infer.", "infer.")
    reference = tiny_reference(tmp_path, MODELS[family], edits=[same])
    assert np.abs(r0_logits(reference, recorded.ids) - recorded.logits).max() <= WITHIN
