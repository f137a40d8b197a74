"""The passes on the tiny models of every family, with the pass gate after each."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from tiny_families import write_tiny_spec
from tiny_hf import MODELS
from tiny_pipeline import Stages, fake_context, tiny_stages, two_kinds_stages
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from metainfer.driver.validation import Validate
from metainfer.passes.instruments.base import Step

FAMILIES = tuple(MODELS)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pass-gate-")


@cache
def stages(name: str) -> Stages:
    """A family's model after each pass; `quantised` has two kinds of layers in two formats."""
    if name == "quantised":
        return two_kinds_stages()
    if name == "tiny":
        return tiny_stages()
    folder = Path(_folder().name) / name
    folder.mkdir()
    return Stages(write_tiny_spec(folder, MODELS[name], context=1024), fake_context())


def validate(before: ModuleOp, after: ModuleOp, one: ModulePass) -> Validate:
    """The gate after it was shown a module before and after a pass."""
    gate, ctx = Validate(), fake_context()
    gate.before(Step(1, (one,), before, ctx))
    gate.check(Step(1, (one,), after, ctx))
    return gate
