"""A compiler context with everything injected: knowledge, body providers, gate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from metainfer.passes.context import CompilerContext
from metainfer.reports import Report, quiet


def compiler_context(
    ckb: Path | None = None,
    cc: str | None = None,
    report: Report = quiet,
    warn: Report = quiet,
    strict: bool = False,
) -> CompilerContext:
    """The context that `metainfer` and `metainfer-opt` compile in.

    `ckb` is a folder of contracts laid over ours, `cc` names a C compiler. `warn` is told of what
    is not as it should be and is replaced; if `strict`, a body without evidence is an error.
    """
    from metainfer.codegen.c.toolchain import find_compiler
    from metainfer.driver.linker import Linker
    from metainfer.driver.providers import RuleProvider

    ctx = reading_context(ckb)
    compiler = cache(lambda: replace(find_compiler(cc), notice=warn))
    ctx.providers = (RuleProvider(ctx.knowledge),)
    ctx.gate = Linker(ctx.knowledge, compiler, report, warn, strict)
    return ctx


def reading_context(ckb: Path | None = None) -> CompilerContext:
    """A context that reads IR and runs passes, but has nobody to write or judge kernels."""
    ctx = CompilerContext(overlay=ckb)
    if ckb is not None:
        ctx.knowledge.check()
    return ctx
