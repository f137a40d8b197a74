"""R0 of a model: its graph right after `expand-model`, run in float64 on the stored weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.prompts import Prompt
from metainfer.driver.source import read_module
from metainfer.models.tensors import Checkpoint
from metainfer.passes.context import CompilerContext
from metainfer.passes.manager import run_passes
from metainfer.passes.pipelines import DEFAULT, PASSES
from metainfer.passes.resolve_model import open_model

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from metainfer.interp.weights import WeightSource

STAGE = "expand-model"


@dataclass(frozen=True)
class Reference:
    """The module of stage `expand-model`, and the model file that it names."""

    module: ModuleOp
    model: Checkpoint

    @property
    def weights(self) -> WeightSource:
        """The stored weights, for `interp.run.Interpreter`."""
        from metainfer.interp.weights import NamedTensors

        return NamedTensors(lambda name: self.model.data(self.model.tensors[name]))

    def encode(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt, after the begin token where the model has one."""
        from metainfer.models.tokenizer import encode, tokenizer_facts

        facts = tokenizer_facts(self.model.metadata)
        begin = [facts.bos_id] if facts.add_bos and facts.bos_id is not None else []
        return begin + encode(self._tokenizer, prompt.text, parse_special=prompt.special)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from metainfer.models.tokenizer import build_tokenizer

        return build_tokenizer(self.model.metadata)


def reference_of(path: Path, ctx: CompilerContext) -> Reference:
    """R0 of a spec, or of a dump of stage `expand-model`."""
    module = read_module(path, ctx)
    if path.suffix == ".mispec":
        names = DEFAULT[: DEFAULT.index(STAGE) + 1]
        run_passes(ctx, module, [PASSES[name]()() for name in names])
    return Reference(module, open_model(module, ctx))
