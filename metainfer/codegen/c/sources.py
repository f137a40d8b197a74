"""The C files of a module's kernels, and their keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.abi import signature
from metainfer.codegen.c.program import batch_header, kernels_header, kernels_source, prelude
from metainfer.codegen.c.toolchain import FLAGS, Compiler
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import isa_of
from metainfer.passes.outline_kernels import meaning_text

LANGUAGE = "c"


def isa_name(module: ModuleOp) -> str:
    """The one instruction set that the module's bodies are written for."""
    targets = {f.target.data for f in all_of(module, kernel.FuncOp) if f.target is not None}
    if len(targets) != 1:
        raise error(
            f"bodies for {len(targets)} targets in one module: {', '.join(sorted(targets))}"
        )
    language, _, isa = targets.pop().partition(":")
    if language != LANGUAGE:
        raise error(f"no toolchain for bodies in '{language}'")
    return isa


def kernel_files(module: ModuleOp) -> dict[str, str]:
    """Headers and source of the kernels, by file name."""
    return {
        "batch.h": batch_header(),
        "lanes.h": prelude(),
        "kernels.h": kernels_header(module),
        "kernels.c": kernels_source(module),
    }


def kernel_object(module: ModuleOp, compiler: Compiler, knowledge: Knowledge) -> Path:
    """The object of all kernels: what the gate runs is what the engine links."""
    sources = kernel_files(module)
    flags = isa_of(knowledge, isa_name(module)).flags
    return compiler.object(sources.pop("kernels.c"), sources, "kernels.c", flags)


SANITIZED = (
    "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fstack-protector-all",
    "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
)  # fmt: skip
"""Undefined behaviour traps: overflow, shifts, indices beyond an array; and so does writing past
one on the stack. No run-time library is needed, so the candidate's sandbox stays as it is."""


def sanitized_library(module: ModuleOp, compiler: Compiler, knowledge: Knowledge) -> Path:
    """The same kernels, built so that what C leaves undefined ends the process."""
    sources = kernel_files(module)
    flags = (*isa_of(knowledge, isa_name(module)).flags, *SANITIZED)
    return compiler.link([compiler.object(sources.pop("kernels.c"), sources, "kernels.c", flags)])


def kernel_keys(module: ModuleOp, compiler: Compiler, knowledge: Knowledge) -> Mapping[str, str]:
    """Kernel name → hash of everything that decides what its body must do and how it is built.

    Semantics, signature, dims, formats, layouts, state, numeric path, body, target, flags, the
    lane library and the compiler; not the kernel's own name.
    """
    isa = isa_name(module)
    shared = [prelude(), batch_header(), compiler.identity, *FLAGS, *isa_of(knowledge, isa).flags]
    shared += [str(op) for op in module.ops if isinstance(op, _MEANING)]
    return {f.sym_name.data: _key(f, module, shared) for f in all_of(module, kernel.FuncOp)}


_MEANING = (infer.FormatOp, infer.LayoutOp, infer.PathOp, infer.StateOp)
"""Symbols that a kernel's types and path refer to."""


def _key(func: kernel.FuncOp, module: ModuleOp, shared: list[str]) -> str:
    assert func.body is not None and func.target is not None
    texts = [
        meaning_text(func),
        *(f"{a.declaration()} {a.role}" for a in signature(func, module)),
        str(func.dims),
        func.parts.data,
        func.path.root_reference.data,
        func.target.data,
        *(line.data for line in func.body),
        *shared,
    ]
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        digest.update(f"{len(raw)}\n".encode() + raw)
    return f"sha256:{digest.hexdigest()}"
