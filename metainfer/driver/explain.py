"""`explain`: every decision of a spec, with who took it and what else there was."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.session import compiler_context
from metainfer.driver.source import read_module
from metainfer.ir.dialects import plan
from metainfer.ir.symbols import all_of


class Decision(TypedDict):
    """One decision as plain data."""

    site: str
    what: str
    value: str
    right: str
    by: str
    alternatives: list[str]
    because: str


def decisions_of(module: ModuleOp) -> list[Decision]:
    """The `plan.decision` ops of a module, in order."""
    return [
        {
            "site": op.site.data,
            "what": op.what.data,
            "value": op.value.data,
            "right": op.right.data,
            "by": op.by.data,
            "alternatives": [a.data for a in op.alternatives],
            "because": op.because.data if op.because else "",
        }
        for op in all_of(module, plan.DecisionOp)
    ]


def explain(path: Path, ckb: Path | None = None) -> list[Decision]:
    """The decisions that compiling `path` would take; nothing is built."""
    from metainfer.passes.manager import run_passes
    from metainfer.passes.pipelines import DEFAULT, PASSES

    ctx = compiler_context(ckb)
    module = read_module(path, ctx)
    upto = DEFAULT[: DEFAULT.index("plan") + 1]
    run_passes(ctx, module, [PASSES[n]()() for n in upto])
    return decisions_of(module)
