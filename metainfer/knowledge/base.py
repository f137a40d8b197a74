"""The contract knowledge base as a folder: `KIND/NAME/contract.yaml` and the fragments beside it.

Nothing is read before it is asked for; a contract's hash covers every file of its folder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from metainfer.ir.diagnostics import Note, did_you_mean, error
from metainfer.knowledge import strict_yaml
from metainfer.knowledge.contracts import AnyContract, Contract

ContractT = TypeVar("ContractT", bound=Contract)


@dataclass(frozen=True)
class Fragment:
    """Text beside a contract; `name` is its place inside the knowledge base."""

    name: str
    text: str


@dataclass
class Knowledge:
    """Typed access to the contracts below `root`."""

    root: Path
    _loaded: dict[str, Contract] = field(default_factory=dict)

    def get(self, id_: str, kind: type[ContractT]) -> ContractT:
        """The contract `KIND/NAME`; DiagnosticError if it is missing, malformed or another kind."""
        if id_ not in self._loaded:
            self._loaded[id_] = self._load(id_)
        contract = self._loaded[id_]
        if not isinstance(contract, kind):
            raise error(f"contract {id_} is no {kind.__name__}")
        return contract

    def ids(self, kind: str) -> list[str]:
        """Ids of all contracts of a kind, sorted."""
        folder = self.root / kind
        if not folder.is_dir():
            return []
        return sorted(f"{kind}/{p.parent.name}" for p in folder.glob("*/contract.yaml"))

    def all(self, kind: str, type_: type[ContractT]) -> list[ContractT]:
        """All contracts of a kind, by id."""
        return [self.get(id_, type_) for id_ in self.ids(kind)]

    def fragment(self, id_: str, name: str) -> Fragment:
        """A file beside the contract."""
        path = self.root / id_ / name
        if not path.is_file():
            raise error(f"contract {id_} has no {name}", notes=[Note(f"looked for {path}")])
        return Fragment(f"ckb/{id_}/{name}", _read_text(path))

    def hash(self, id_: str) -> str:
        """SHA-256 over the names and bytes of the contract's files."""
        digest = hashlib.sha256()
        for path in sorted((self.root / id_).iterdir()):
            if path.is_file():
                data = path.read_bytes()
                digest.update(f"{path.name} {len(data)}\n".encode() + data)
        return digest.hexdigest()

    def _load(self, id_: str) -> Contract:
        import pydantic

        path = self.root / id_ / "contract.yaml"
        if not path.is_file():
            known = self.ids(id_.split("/")[0])
            raise error(f"no contract {id_} in {self.root}", help=did_you_mean(id_, known))
        data = strict_yaml.load(_read_text(path), str(path))
        adapter: pydantic.TypeAdapter[Contract] = pydantic.TypeAdapter(AnyContract)
        try:
            contract = adapter.validate_python(data)
        except pydantic.ValidationError as problem:
            notes = [
                Note(f"{'.'.join(map(str, e['loc'])) or 'contract'}: {e['msg']}")
                for e in problem.errors()
            ]
            raise error(f"{path}: not a valid contract", notes=notes) from None
        if contract.id != id_:
            raise error(f"{path}: id is '{contract.id}', its folder says '{id_}'")
        return contract


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 text (byte {problem.start})") from None
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}") from None
