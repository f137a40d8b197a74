"""What `metainfer doctor` finds: compiler, machine, cache, and whether the sandbox holds here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.driver.session import reading_context
from metainfer.driver.target import writing
from metainfer.files import cache_dir
from metainfer.knowledge.isa import host_isa
from metainfer.verify.sandbox.proofs import Proof, prove_layers


@dataclass(frozen=True)
class Examination:
    """Everything found; `healthy` where a compile here can be trusted and would succeed."""

    compiler: Compiler
    isa: str
    cores: int
    cache: str
    sandbox: tuple[Proof, ...]

    @property
    def healthy(self) -> bool:
        return all(p.ok for p in self.sandbox if p.required)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "sandbox": {p.layer: _entry(p) for p in self.sandbox},
            "compiler": {
                "command": list(self.compiler.command),
                "version": self.compiler.identity,
            },
            "isa": self.isa,
            "cores": self.cores,
            "cache": self.cache,
            "healthy": self.healthy,
        }

    def as_text(self) -> str:
        """For people."""
        lines = [
            f"compiler      {' '.join(self.compiler.command)}: {self.compiler.identity}",
            f"instructions  {self.isa}, {self.cores} cores",
            f"cache         {self.cache}",
            "sandbox",
        ]
        for proof in self.sandbox:
            optional = "" if proof.required else " (not needed)"
            state = "holds" if proof.ok else f"does not hold{optional}: {proof.why}"
            lines.append(f"  {proof.layer:<12}{state}")
        return "\n".join(lines)


def _entry(proof: Proof) -> dict[str, Any]:
    entry: dict[str, Any] = {"ok": proof.ok, "required": proof.required}
    return entry if proof.ok else {**entry, "why": proof.why}


def examine(cc: str | None = None) -> Examination:
    """Look at this machine and try each forbidden action.

    DiagnosticError without a C compiler, or where the cache cannot be written.
    """
    compiler = find_compiler(cc)
    cores = len(os.sched_getaffinity(0))
    isa = host_isa(reading_context().knowledge)
    with writing(cache_dir()):
        proofs = tuple(prove_layers(compiler))
    return Examination(compiler, isa, cores, str(cache_dir()), proofs)
