"""Planned programs of the tiny models of all families, with R0 beside each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiny_families import Edit, edited_ckb, write_tiny_spec
from tiny_hf import MODELS
from tiny_pipeline import Stages, fake_context
from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.reference import Reference, reference_of
from metainfer.driver.session import reading_context
from metainfer.passes.context import CompilerContext

FAMILIES = tuple(MODELS)
CHUNK, CONTEXT = 20, 96
"""Small, so that Gemma3's rings go round."""


@dataclass(frozen=True)
class Planned:
    """A family's tiny model after every pass, and its reference."""

    name: str
    stages: Stages
    reference: Reference

    def module(self) -> ModuleOp:
        """A copy of the planned program's module."""
        return self.stages.after("plan-memory")

    def ids(self, count: int) -> list[int]:
        """Token ids."""
        return MODELS[self.name].ids(count)


def planned(name: str, folder: Path) -> Planned:
    """The model of a family, compiled with small chunks; `folder` is for its files."""
    spec = write_tiny_spec(folder, MODELS[name], context=CONTEXT)
    ckb = small_chunks(folder)
    ctx, fake = CompilerContext(overlay=ckb), fake_context()
    ctx.providers, ctx.gate = fake.providers, fake.gate
    return Planned(name, Stages(spec, ctx), reference_of(spec, reading_context(ckb)))


def small_chunks(folder: Path) -> Path:
    """Contracts under which a step takes few tokens."""
    return edited_ckb(folder, [Edit("perf_rule/cpu_entries/contract.yaml", "512", str(CHUNK))])
