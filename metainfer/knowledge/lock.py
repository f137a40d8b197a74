"""The digests of the contracts as they were shipped: `contracts.sha256` beside their folders.

A contract decides what a kernel must compute, so the gate would hold a body to a damaged one
without complaint. Contracts of an overlay are the user's own and are not listed.
"""

from __future__ import annotations

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note
from metainfer.knowledge.base import Knowledge

FILE = "contracts.sha256"
_HELP = "if that is meant: metainfer ckb lint --seal"


def lock_text(knowledge: Knowledge) -> str:
    """`DIGEST  ID` of every contract that lies below the root, by id."""
    shipped = Knowledge(knowledge.root)
    return "".join(f"{shipped.hash(id_)}  {id_}\n" for id_ in shipped.folders)


def check_shipped(knowledge: Knowledge) -> None:
    """Refuse shipped contracts that are in use and are not what was shipped."""
    if problems := differences(knowledge):
        raise DiagnosticError(*problems)


def differences(knowledge: Knowledge) -> list[Diagnostic]:
    """One diagnostic for each shipped contract in use that was changed or is gone."""
    found = []
    for id_, digest in _locked(knowledge).items():
        path = knowledge.root / id_
        used = knowledge.folders.get(id_) == path  # neither hidden nor replaced
        if not path.is_dir():
            found.append(Diagnostic(f"contract {id_} is missing from {knowledge.root}", help=_HELP))
        elif used and Knowledge(knowledge.root).hash(id_) != digest:
            note = Note(f"its files in {path} have changed")
            found.append(Diagnostic(f"contract {id_} is not as shipped", None, (note,), _HELP))
    return found


def unlisted(knowledge: Knowledge) -> list[str]:
    """Ids below the root that have no digest yet."""
    locked = _locked(knowledge)
    return [id_ for id_ in Knowledge(knowledge.root).folders if id_ not in locked]


def _locked(knowledge: Knowledge) -> dict[str, str]:
    path = knowledge.root / FILE
    if not path.is_file():
        return {}
    lines = path.read_text("utf-8").splitlines()
    return {id_: digest for digest, _, id_ in (line.partition("  ") for line in lines)}
