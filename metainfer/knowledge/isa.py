"""Instruction sets from hardware contracts, and what this machine has."""

from __future__ import annotations

import platform
from pathlib import Path

from metainfer.ir.diagnostics import error
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Hardware, Isa


def hardware(knowledge: Knowledge, machine: str | None = None) -> Hardware:
    """The contract for this machine's kind of CPU."""
    machine = (machine or platform.machine()).lower()
    for contract in knowledge.all("hardware", Hardware):
        if machine in contract.machine:
            return contract
    raise error(f"no hardware contract covers '{machine}'")


def isa_of(knowledge: Knowledge, name: str) -> Isa:
    """The named instruction set of this kind of CPU."""
    contract = hardware(knowledge)
    if name not in contract.isa:
        raise error(f"unknown instruction set '{name}'", help=f"known: {', '.join(contract.isa)}")
    return contract.isa[name]


def host_isa(knowledge: Knowledge) -> str:
    """The widest instruction set that this machine has all features of."""
    present = host_features()
    for name, isa in hardware(knowledge).isa.items():
        if all(f in present for f in isa.features):
            return name
    raise error("this machine has none of the known instruction sets")


def host_features() -> frozenset[str]:
    """CPU flags of this machine, spelled as compilers do (no underscores)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(f.replace("_", "") for f in line.split(":", 1)[1].split())
    return frozenset()
