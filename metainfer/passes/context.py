"""What passes are given beside the module: the knowledge base, and services from above.

A pass imports nothing of verification or code generation; `fill-kernels` receives its body
providers and its gate through these protocols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import kernel
from metainfer.ir.dialects.register import register_dialects
from metainfer.passes.counters import Rewrites
from metainfer.resources import ckb_dir

if TYPE_CHECKING:
    from metainfer.knowledge.base import Knowledge
    from metainfer.models.checkpoint import Checkpoint


@dataclass(frozen=True)
class Body:
    """Text of a kernel in a target language, and who wrote it."""

    lines: tuple[str, ...]
    target: str
    provider: str


class BodyProvider(Protocol):
    """Writes bodies: the knowledge base, a model, or the rules."""

    def propose(self, func: kernel.FuncOp, module: ModuleOp) -> Body | None:
        """A body for the kernel, or None where this provider has none."""


class Gate(Protocol):
    """Decides which bodies may run."""

    def keys(self, module: ModuleOp) -> Mapping[str, str]:
        """The key of every kernel of the module by name, computed from what it says."""

    def admit(self, module: ModuleOp) -> Mapping[str, str]:
        """Verify every kernel of the module; for each one that may not run, the reason."""


@dataclass
class CompilerContext(Context):
    """xDSL's context with our dialects, plus what our passes need."""

    ckb: Path = field(default_factory=ckb_dir)
    overlay: Path | None = None
    """Private contracts, laid over those of `ckb`."""
    providers: Sequence[BodyProvider] = ()
    gate: Gate | None = None
    download: bool = True
    base: Path | None = None
    """Folder that relative `file:` sources start from; default: that of the file they stand in."""
    checkpoints: dict[Path, Checkpoint] = field(default_factory=dict)
    """Model files that were read, by path."""
    rewrites: Rewrites = field(default_factory=Rewrites)
    """What the passes count, and the limit that they heed."""

    def __post_init__(self) -> None:
        register_dialects(self)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge base, read when the first pass asks for it."""
        from metainfer.knowledge.base import Knowledge

        return Knowledge(self.ckb, self.overlay)


def knowledge_of(ctx: Context) -> Knowledge:
    """The knowledge base a context was opened with; the shipped one for a plain xDSL context."""
    from metainfer.knowledge.base import Knowledge

    return ctx.knowledge if isinstance(ctx, CompilerContext) else Knowledge(ckb_dir())


def rewrites_of(ctx: Context) -> Rewrites:
    """The run's counters; ones that nobody reads for a plain xDSL context."""
    return ctx.rewrites if isinstance(ctx, CompilerContext) else Rewrites()


def checkpoints_of(ctx: Context) -> dict[Path, Checkpoint]:
    """The model files that the context has read; none for a plain xDSL context."""
    return ctx.checkpoints if isinstance(ctx, CompilerContext) else {}
