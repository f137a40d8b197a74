"""`ckb why BUILD:KERNEL`: what a kernel of an engine is, who wrote it and why it may run."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.ckb.describe import contracts_of
from metainfer.driver.linker import EVIDENCE, meaning_digest
from metainfer.driver.session import reading_context
from metainfer.driver.source import read_module
from metainfer.files import cache_dir
from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.pipelines import DEFAULT
from metainfer.verify.evidence import EvidenceStore, Untrusted


def why(kernel_of_build: str, ckb: Path | None = None) -> dict[str, Any]:
    """Meaning, writer, key, evidence, contracts and failed attempts of a kernel of a build."""
    folder, colon, name = kernel_of_build.rpartition(":")
    if not colon:
        raise error(f"'{kernel_of_build}' names no kernel", help="write it as BUILD:KERNEL")
    dumps = sorted((Path(folder) / "ir").glob(f"*-{DEFAULT[-1]}.mlir"))
    if not dumps:
        raise error(f"{folder}/ir has no dump of {DEFAULT[-1]}", help="compile the spec")
    ctx = reading_context(ckb)
    module = read_module(dumps[0], ctx)
    func = _kernel(module, name)
    entry = json.loads((Path(folder) / "spec.lock").read_text())["kernels"][name]
    return {
        "kernel": name,
        "by": entry["by"],
        "target": func.target.data if func.target else "",
        "key": entry["key"],
        "evidence": _evidence(entry["key"]),
        "contracts": _contracts(func, module, ctx.knowledge),
        "failed": _failed(func),
        "meaning": _meaning(func),
    }


def _kernel(module: ModuleOp, name: str) -> kernel.FuncOp:
    kernels = {f.sym_name.data: f for f in all_of(module, kernel.FuncOp)}
    if name not in kernels:
        near = did_you_mean(name, kernels) or f"there are {', '.join(kernels)}"
        raise error(f"the build has no kernel '{name}'", help=near)
    return kernels[name]


def _meaning(func: kernel.FuncOp) -> str:
    """The kernel as it is printed, without its body and what is listed apart."""
    bare = func.clone()
    for name in ("body", "key", "provider", "target"):
        bare.properties.pop(name, None)
    return str(bare)


def _evidence(key: str) -> dict[str, Any] | str:
    """What this machine has found out about the body, or why it knows nothing."""
    try:
        entry = EvidenceStore(cache_dir() / EVIDENCE).entry(key)
    except Untrusted as problem:
        return str(problem)
    if entry is None:
        return "none on this machine"
    origin = asdict(entry.origin) if entry.origin else {}
    return {"verifier": entry.verifier, **asdict(entry.verdict), **origin}


def _failed(func: kernel.FuncOp) -> list[dict[str, Any]]:
    """Bodies for the same meaning that were refused on this machine, with their counter-example."""
    tried = EvidenceStore(cache_dir() / EVIDENCE).tried(meaning_digest(func))
    return [
        {"key": entry.kernel, **asdict(entry.verdict)}
        for entry in tried
        if entry.verdict.status != "verified"
    ]


def _contracts(func: kernel.FuncOp, module: ModuleOp, knowledge: Knowledge) -> dict[str, str]:
    """Contracts that give the kernel its meaning → why each is needed."""
    text = f"{func.function_type} {func.path}"
    imported = [
        op.contract.data
        for op in module.ops
        if isinstance(op, infer.FormatOp | infer.LayoutOp | infer.PathOp)
        and re.search(rf'[@"]{re.escape(op.sym_name.data)}\b', text)
    ]
    fused = {op.name for op in func.semantics.block.ops}
    spoken = [c for op in sorted(fused) for c in contracts_of(op, knowledge)]
    return {c.id: c.why.strip() for c in spoken if c.id in imported}
