"""Contracts that say different things of the same case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from metainfer.ir.diagnostics import Diagnostic, Note
from metainfer.knowledge.base import CONTRACT, Knowledge
from metainfer.knowledge.contracts import Contract
from metainfer.knowledge.scope import overlap

_HEADER = frozenset(Contract.model_fields)


def overlaps(contracts: Sequence[Contract], knowledge: Knowledge) -> Iterator[Diagnostic]:
    """An error for each pair of one exclusive kind whose boxes meet and whose values differ.

    It is none if one of the two names the other in `overrides`.
    """
    exclusive = [contract for contract in contracts if contract.exclusive]
    for a, b in combinations(exclusive, 2):
        if _kind(a) != _kind(b) or a.id in b.overrides or b.id in a.overrides:
            continue
        if overlap(a.box(), b.box()) and _says(a, knowledge) != _says(b, knowledge):
            yield Diagnostic(
                f"{a.id} and {b.id} apply to the same case and differ",
                notes=(Note(_shared(a, b)), Note(f"{knowledge.path(b.id, CONTRACT)}")),
                help=f"narrow one, or let one say: overrides: [{a.id}]",
            )


def _kind(contract: Contract) -> str:
    return contract.id.split("/")[0]


def _says(contract: Contract, knowledge: Knowledge) -> object:
    """Everything that is not about where it holds and where it comes from."""
    values = contract.model_dump(exclude=set(_HEADER))
    files = sorted(p for p in knowledge.path(contract.id).iterdir() if p.name != CONTRACT)
    return values, [(path.name, path.read_bytes()) for path in files]


def _shared(a: Contract, b: Contract) -> str:
    fields = sorted(a.box().keys() & b.box().keys())
    return f"both hold for the same {', '.join(fields)}" if fields else "both hold everywhere"
