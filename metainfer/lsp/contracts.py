"""Words of the language that a contract gives its meaning: formats, instruction sets, families."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import CONTRACT, Knowledge
from metainfer.knowledge.contracts import Contract, Family, Hardware, Quant
from metainfer.lsp.spot import Spot


class Known(NamedTuple):
    """What a contract says of a word, and where the contract lies."""

    contract: Contract
    facts: str
    path: Path


def known_of(spot: Spot, word: str, knowledge: Knowledge) -> Known | None:
    """The contract behind a value; None for one without, or where contracts cannot be read."""
    section = spot.blocks[1][0].text if len(spot.blocks) > 1 else ""
    key = spot.words[0].text if spot.words else ""
    try:
        if section == "quantize":
            return _format(word, knowledge)
        if (section, key) == ("target", "isa"):
            return _isa(word, knowledge)
        if (section, key) == ("expect", "arch"):
            return _family(word, knowledge)
    except DiagnosticError:
        # An overlay may hold contracts that are being edited too.
        return None
    return None


def describe(known: Known) -> str:
    """A contract in Markdown."""
    contract = known.contract
    sources = f"\n\nSources: {'; '.join(contract.sources)}" if contract.sources else ""
    return f"`{contract.id}` — {known.facts}\n\n{contract.why}{sources}"


def _path(contract: Contract, knowledge: Knowledge) -> Path:
    return knowledge.path(contract.id, CONTRACT)


def _format(word: str, knowledge: Knowledge) -> Known | None:
    if f"quant/{word}" not in knowledge.ids("quant"):
        return None
    contract = knowledge.get(f"quant/{word}", Quant)
    bits = 8 * contract.bytes / contract.block
    facts = f"{contract.block} values in {contract.bytes} bytes, {bits:g} bits a value"
    return Known(contract, facts, _path(contract, knowledge))


def _isa(word: str, knowledge: Knowledge) -> Known | None:
    for contract in knowledge.all("hardware", Hardware):
        if word in contract.isa:
            needs = ", ".join(contract.isa[word].features)
            facts = f"{' or '.join(contract.machine)} with {needs}"
            return Known(contract, facts, _path(contract, knowledge))
    return None


def _family(word: str, knowledge: Knowledge) -> Known | None:
    for contract in knowledge.all("family", Family):
        if word in contract.arch:
            facts = f"weights by {contract.weight_map}"
            return Known(contract, facts, _path(contract, knowledge))
    return None
