"""`ckb list | show | explain`: the contracts as people and scripts read them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.ir.dialects.infer import Infer
from metainfer.knowledge import strict_yaml
from metainfer.knowledge.base import CONTRACT, Knowledge
from metainfer.knowledge.contracts import Contract, Failure, NumericPath
from metainfer.knowledge.scope import names

_HEADER = ("id", "kind", "layer", "version")


def listing(knowledge: Knowledge, kind: str | None = None) -> list[dict[str, object]]:
    """A record for each contract in use: header, where it is from, first sentence of its reason."""
    kinds = sorted({id_.split("/")[0] for id_ in knowledge.folders})
    if kind is not None and kind not in kinds:
        near = did_you_mean(kind, kinds) or f"the kinds are {', '.join(kinds)}"
        raise error(f"no kind of contract is called '{kind}'", help=near)
    return [
        {
            "id": id_,
            "layer": document["layer"],
            "version": document["version"],
            "from": "here" if path.is_relative_to(knowledge.root) else "overlay",
            "why": str(document["why"]).split(". ")[0].strip(),
        }
        for id_, path in knowledge.folders.items()
        if kind in (None, id_.split("/")[0])
        for document in [_document(id_, knowledge)]
    ]


def as_data(id_: str, knowledge: Knowledge) -> dict[str, Any]:
    """A contract as data: its document, its digest, its folder and the files in it."""
    folder = _folder(id_, knowledge)
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    place = {"sha256": knowledge.hash(id_), "folder": str(folder), "files": files}
    return _document(id_, knowledge) | place


def as_text(id_: str, knowledge: Knowledge) -> str:
    """A contract as it stands in its files, one after the other."""
    folder = _folder(id_, knowledge)
    parts = [f"# {id_}, sha256 {knowledge.hash(id_)}"]
    for path in sorted(folder.iterdir(), key=lambda p: (p.suffix != ".yaml", p.name)):
        if path.is_file():
            parts += [f"\n# {path}", path.read_text(encoding="utf-8").rstrip()]
    return "\n".join(parts)


def explain_contract(id_: str, knowledge: Knowledge) -> str:
    """What a contract says, why it has to be said, where it holds and what guards it."""
    document = _document(id_, knowledge)
    lines = [f"{id_} ({document['layer']}, version {document['version']})", document["why"], ""]
    rest = {k: v for k, v in document.items() if k not in (*_HEADER, "why")}
    lines += [f"{key}: {_plain(value, 1)}" for key, value in rest.items()]
    users = [other for other in knowledge.folders if id_ in str(_document(other, knowledge))]
    if users := [other for other in users if other != id_]:
        lines.append(f"named by: {', '.join(users)}")
    return "\n".join(lines)


def explain_op(name: str, knowledge: Knowledge) -> str:
    """What an op means, and every contract that speaks of it."""
    ops = {op.name: op for op in Infer.operations}
    full = name if name in ops else f"infer.{name}"
    if full not in ops:
        ids = list(knowledge.folders)
        near = did_you_mean(name, ids) or did_you_mean(full, ops)
        raise error(f"no contract and no op is called '{name}'", help=near)
    lines = [full, (inspect.getdoc(ops[full]) or "").split("```")[0].strip(), ""]
    for contract in contracts_of(full, knowledge):
        lines.append(f"{contract.id}: {contract.why.strip()}")
        if isinstance(contract, NumericPath):
            lines += [f"  order: {contract.order}", f"  bound: {contract.bound}"]
        if isinstance(contract, Failure):
            lines += [f"  seen: {contract.symptom}", f"  fix: {contract.fix}"]
    return "\n".join(lines).rstrip()


def contracts_of(op: str, knowledge: Knowledge) -> list[Contract]:
    """Contracts whose `applies` names an op, by id."""
    ids = [i for i, path in knowledge.folders.items() if (path / CONTRACT).is_file()]
    contracts = [knowledge.get(id_, Contract) for id_ in ids]
    return [contract for contract in contracts if names(contract.box(), "op", op)]


def _folder(id_: str, knowledge: Knowledge) -> Path:
    if id_ not in knowledge.folders:
        raise error(f"no contract {id_}", help=did_you_mean(id_, knowledge.folders))
    return knowledge.folders[id_]


def _document(id_: str, knowledge: Knowledge) -> dict[str, Any]:
    """The YAML of a contract that its kind's model accepts."""
    folder = _folder(id_, knowledge)
    if (folder / CONTRACT).is_file():
        knowledge.get(id_, Contract)
    path = next(folder.glob("*.yaml"))
    document = strict_yaml.load(path.read_text(encoding="utf-8"), str(path))
    assert isinstance(document, dict)
    return document


def _plain(value: Any, depth: int) -> str:
    """A value; members of the outer objects on lines of their own."""
    if isinstance(value, list):
        return ", ".join(_plain(item, depth + 1) for item in value)
    if not isinstance(value, dict):
        return str(value).strip()
    members = [f"{key}: {_plain(item, depth + 1)}" for key, item in value.items()]
    return "".join(f"\n{'  ' * depth}{m}" for m in members) if depth < 2 else "; ".join(members)
