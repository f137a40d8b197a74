"""The table of passes and the one default pipeline."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "resolve-model": ("resolve_model", "ResolveModel"),
    "expand-model": ("expand_model", "ExpandModel"),
    "plan": ("plan", "PlanPass"),
    "apply-quantization": ("apply_quantization", "ApplyQuantization"),
    "specialize-entries": ("specialize_entries", "SpecializeEntries"),
    "fuse": ("fuse", "Fuse"),
    "select-layouts": ("select_layouts", "SelectLayouts"),
    "outline-kernels": ("outline_kernels", "OutlineKernels"),
    "fill-kernels": ("fill_kernels", "FillKernels"),
    "schedule": ("schedule", "Schedule"),
    "plan-memory": ("plan_memory", "PlanMemory"),
}

DEFAULT = tuple(_PASSES)
"""From a parsed spec to an engine program, in order."""

PIPELINES = {
    "default": DEFAULT,
    "reference": DEFAULT[: DEFAULT.index("expand-model") + 1],
}
"""Names that stand for several passes in pipeline text."""

SUMMARIES = {
    "default": "from a spec to an engine program: what `metainfer compile` runs",
    "reference": "the model's mathematics alone, which the reference interpreter runs",
}
"""What each of `PIPELINES` is for."""


def _loader(module: str, name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        found = getattr(import_module(f"metainfer.passes.{module}"), name)
        assert isinstance(found, type) and issubclass(found, ModulePass)
        return found

    return load


_ALONE = {"resolve-uses": ("resolve_uses", "ResolveUses")}
"""Passes that another one does in front of its own work; for those who want to see the result."""

PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: _loader(*where) for name, where in (_ALONE | _PASSES).items()
}
"""Pass name → function that imports it."""
