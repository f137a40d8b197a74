"""`ckb verify`: every body that the contracts lead to is verified, from nothing but them.

No evidence, no object and no model of the machine is used: the cache is an empty one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.session import compiler_context
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.knowledge.contracts import Quant
from metainfer.passes.context import CompilerContext
from metainfer.passes.fill_kernels import FillKernels
from metainfer.passes.imports import import_format, import_layout, import_path
from metainfer.reports import Report

KERNELS = """
kernel.func @linear(%x_in: tensor<?x512xf32, #infer.dims<tokens, _>>, %w_in: W) -> \
(y_out: tensor<?x40xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 9>, \
parts = "rows", path = @PATH} {
  %0 = infer.linear %x_in, %w_in : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
kernel.func @embed(%batch: !infer.batch, %w_in: W) -> \
(y_out: tensor<?x512xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 9>, \
parts = "tokens", path = @PATH} {
  %0 = infer.embed %batch, %w_in : tensor<?x512xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""
"""Rows that are no multiple of a tile, and two blocks of the largest formats."""
LAYOUT, PATH = "rows16", "f32_rows16"


@dataclass(frozen=True)
class Result:
    """Of one format: the kernels that verified, or why one did not."""

    contract: str
    kernels: tuple[str, ...]
    problem: str

    def as_dict(self) -> dict[str, object]:
        """The result as plain data."""
        return asdict(self)


def verify(ckb: Path | None, cc: str | None, only: str | None, report: Report) -> list[Result]:
    """Verify the kernels of every format contract, or of the `only` one, in an empty cache."""
    found = []
    with _empty_cache():
        ctx = compiler_context(ckb, cc, report)
        ids = [ctx.knowledge.get(only, Quant).id] if only else ctx.knowledge.ids("quant")
        for id_ in ids:
            report(id_)
            found.append(_verify(id_, ctx))
    return found


def _verify(id_: str, ctx: CompilerContext) -> Result:
    try:
        module = _kernels(id_.split("/")[1], ctx)
        FillKernels().apply(ctx, module)
    except DiagnosticError as problem:
        first = problem.diagnostics[0]
        reason = "; ".join([first.message, *(note.message for note in first.notes)])
        return Result(id_, (), reason)
    return Result(id_, tuple(f.sym_name.data for f in all_of(module, kernel.FuncOp)), "")


def _kernels(name: str, ctx: CompilerContext) -> ModuleOp:
    element = "f32" if name == "f32" else f'!infer.q<"{name}">'
    text = KERNELS.replace("W)", f"tensor<40x512x{element}, @{LAYOUT}>)").replace("PATH", PATH)
    module = parse_module(text, f"quant/{name}", ctx)
    import_format(module, name, ctx.knowledge)
    import_layout(module, LAYOUT, ctx.knowledge)
    import_path(module, PATH, ctx.knowledge)
    return module


@contextmanager
def _empty_cache() -> Iterator[None]:
    """A cache that lasts as long as the block."""
    before = os.environ.get("METAINFER_CACHE")
    with tempfile.TemporaryDirectory(prefix="metainfer-ckb-") as folder:
        os.environ["METAINFER_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["METAINFER_CACHE"]
            if before is not None:
                os.environ["METAINFER_CACHE"] = before
