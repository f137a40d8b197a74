"""What mutants are run on: tiny models with what others say about them, compiled once unchanged.

A folder of subjects has for each one `NAME/tiny.mispec`, its model, and `NAME/recording.npz` with
token `ids` (n) and `logits` (n, vocab).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.dialects import engine, kernel
from metainfer.ir.symbols import all_of
from metainfer.passes.pipelines import DEFAULT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

    from metainfer.driver.mutation.executed import Recorder
    from metainfer.knowledge.base import Knowledge
    from metainfer.passes.context import CompilerContext

_HASH = re.compile(r'hash = "[0-9a-f]+"')


class Unjudged:
    """A gate that admits every body: what bodies compute is the kernel gate's business."""

    def keys(self, module: ModuleOp) -> dict[str, str]:
        """The hash of each body."""
        return {f.sym_name.data: _digest(f) for f in all_of(module, kernel.FuncOp)}

    def admit(self, module: ModuleOp) -> dict[str, str]:
        """Nothing is refused."""
        return {}


def _digest(func: kernel.FuncOp) -> str:
    return sha256("\n".join(line.data for line in func.body or ()).encode()).hexdigest()


def subject_context(knowledge: Knowledge) -> CompilerContext:
    """A context with these contracts, bodies by rule and no compiler."""
    from metainfer.driver.providers import RuleProvider
    from metainfer.passes.context import CompilerContext

    ctx = CompilerContext(ckb=knowledge.root, download=False)
    ctx.__dict__["knowledge"] = knowledge
    ctx.providers, ctx.gate = (RuleProvider(knowledge),), Unjudged()
    return ctx


def ir_text(module: ModuleOp) -> str:
    """A module's text; the hashes of its contracts left out, which say nothing about it."""
    from metainfer.ir.text import print_module

    return _HASH.sub("hash", print_module(module))


def undecided(text: str) -> str:
    """A module's text but for its decisions, which no later gate looks at."""
    return "\n".join(n for n in text.split("\n") if not n.startswith("  plan.decision"))


@dataclass
class Subject:
    """One model: its spec, what it answers, and the module before each pass."""

    name: str
    folder: Path
    modules: list[ModuleOp] = field(default_factory=list)
    """The module before each pass of the default pipeline, and after the last."""
    texts: list[str] = field(default_factory=list)

    @property
    def spec(self) -> Path:
        """Its spec file."""
        return self.folder / "tiny.mispec"

    def text_before(self, number: int) -> str:
        """The module's text before a pass."""
        return self.texts[number - 1] if number else ""

    @cached_property
    def recording(self) -> tuple[list[int], NDArray[np.float32]]:
        """Token ids, and the logits after each of them."""
        import numpy as np

        with np.load(self.folder / "recording.npz") as found:
            return found["ids"].tolist(), found["logits"]


def read_subjects(folder: Path) -> list[Subject]:
    """The subjects of a folder by name."""
    return [Subject(path.name, path) for path in sorted(folder.iterdir()) if path.is_dir()]


def compile_unchanged(subject: Subject, knowledge: Knowledge, recorder: Recorder) -> None:
    """Fill in the modules that the unchanged passes make of a subject, and the lines they run."""
    from metainfer.driver.mutation.executed import watched
    from metainfer.driver.source import read_module
    from metainfer.passes.manager import run_passes
    from metainfer.passes.pipelines import PASSES

    ctx = subject_context(knowledge)
    module = read_module(subject.spec, ctx)
    for number, name in enumerate(DEFAULT):
        subject.modules.append(module.clone())
        with watched(recorder, subject.name, number):
            run_passes(ctx, module, [PASSES[name]()()], checks=[])
        subject.texts.append(ir_text(module))
    subject.modules.append(module)


def costs(module: ModuleOp) -> dict[str, int]:
    """What a program takes: bytes, and what a step does."""
    (program,) = all_of(module, engine.ProgramOp)
    names = Counter(op.name for op in program.walk())
    sizes = {n: program.properties[n].value.data for n in ("arena", "weights", "states")}  # type: ignore[attr-defined]
    alone = [f for f in all_of(module, kernel.FuncOp) if _is_alone(f)]
    return {f"bytes of {n}": size for n, size in sizes.items()} | {
        "kernels": len(all_of(module, kernel.FuncOp)),
        "kernels of one part": len(alone),
        "calls": names[engine.CallOp.name],
        "barriers": names[engine.BarrierOp.name],
    }


def _is_alone(func: kernel.FuncOp) -> bool:
    """Whether one part does all the work of a kernel, whatever the sizes."""
    from metainfer.verify.engine.footprint import footprint

    shares = [t.share for t in footprint(func) if t.write]
    return all(s.alone or (s.columns is not None and s.columns.units == 1) for s in shares)


def passes_of(subject: Subject, id_: str) -> set[int]:
    """The passes that read a contract for a subject, as numbers of the default pipeline."""
    kind, name = id_.split("/")
    arch = re.search(r'arch "(\w+)"', subject.texts[0])
    assert arch is not None
    if kind in ("family", "weight_map") and name.removeprefix("gguf_") != arch.group(1):
        return set()
    if kind == "quant" and f'contract = "{id_}"' not in subject.texts[0]:
        return set()
    return {DEFAULT.index(name) for name in READERS[kind]}


READERS = {
    "family": ("resolve-model", "expand-model"),
    "weight_map": ("expand-model",),
    "quant": ("resolve-model",),
    "fusion": ("plan", "fuse"),
    "layout": ("select-layouts",),
}
"""The passes that read each kind of contract."""
