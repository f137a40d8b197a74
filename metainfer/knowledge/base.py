"""The contract knowledge base as a folder: `KIND/NAME/contract.yaml` and the fragments beside it.

Nothing is read before it is asked for; a contract's hash covers every file of its folder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from metainfer.ir.diagnostics import Note, did_you_mean, error
from metainfer.knowledge import overlay as overlays
from metainfer.knowledge import strict_yaml
from metainfer.knowledge.contracts import AnyContract, Contract

CONTRACT = "contract.yaml"
ContractT = TypeVar("ContractT", bound=Contract)


@dataclass(frozen=True)
class Fragment:
    """Text beside a contract; `name` is its place inside the knowledge base."""

    name: str
    text: str


@dataclass
class Knowledge:
    """Typed access to the contracts below `root`, and to those of an overlay before them."""

    root: Path
    overlay: Path | None = None
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
        folders = self.folders.items()
        return [i for i, p in folders if i.startswith(f"{kind}/") and (p / CONTRACT).is_file()]

    def all(self, kind: str, type_: type[ContractT]) -> list[ContractT]:
        """All contracts of a kind by id, but each before those that it overrides."""
        waiting = [self.get(id_, type_) for id_ in self.ids(kind)]
        found: list[ContractT] = []
        while waiting:
            held = {id_ for contract in waiting for id_ in contract.overrides}
            first = next((c for c in waiting if c.id not in held), waiting[0])
            found.append(first)
            waiting.remove(first)
        return found

    def fragment(self, id_: str, name: str) -> Fragment:
        """A file beside the contract."""
        path = self.path(id_, name)
        if not path.is_file():
            raise error(f"contract {id_} has no {name}", notes=[Note(f"looked for {path}")])
        return Fragment(f"ckb/{id_}/{name}", _read_text(path))

    def hash(self, id_: str) -> str:
        """SHA-256 over the names and bytes of the contract's files."""
        digest = hashlib.sha256()
        for path in sorted(self.path(id_).iterdir()):
            if path.is_file():
                data = path.read_bytes()
                digest.update(f"{path.name} {len(data)}\n".encode() + data)
        return digest.hexdigest()

    def check(self) -> None:
        """DiagnosticError if the overlay does not fit; otherwise the first question says so."""
        self.folders  # noqa: B018

    def digest(self) -> str:
        """SHA-256 over all contracts that count, whichever folder they come from."""
        lines = [f"{id_} {self.hash(id_)}\n" for id_ in self.folders]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def path(self, id_: str, name: str = "") -> Path:
        """Where a contract's folder, or the file `name` in it, lies or would lie."""
        return self.folders.get(id_, self.root / id_) / name

    def files(self, kind: str, name: str) -> list[Path]:
        """The files `name` of all folders of a kind that have one, by id."""
        paths = [p / name for i, p in self.folders.items() if i.startswith(f"{kind}/")]
        return [path for path in paths if path.is_file()]

    @cached_property
    def folders(self) -> dict[str, Path]:
        """The folder of every id; DiagnosticError if the overlay does not fit."""
        return overlays.effective(self.root, self.overlay)

    def _load(self, id_: str) -> Contract:
        import pydantic

        if id_ not in (known := self.ids(id_.split("/")[0])):
            raise error(f"no contract {id_} in {self.root}", help=did_you_mean(id_, known))
        path = self.path(id_, CONTRACT)
        text = _read_text(path)
        data = strict_yaml.load(text, str(path))
        adapter: pydantic.TypeAdapter[Contract] = pydantic.TypeAdapter(AnyContract)
        try:
            contract = adapter.validate_python(data)
        except pydantic.ValidationError as problem:
            notes = [_note(e["loc"], e["msg"], text, path) for e in problem.errors()]
            raise error(f"{path}: not a valid contract", notes=notes) from None
        if contract.id != id_:
            raise error(f"{path}: id is '{contract.id}', its folder says '{id_}'")
        return contract


def _note(loc: tuple[str | int, ...], message: str, text: str, path: Path) -> Note:
    # The first step is the kind, by which the model was chosen.
    inner = loc[1:]
    where = ".".join(map(str, loc)) or "contract"
    return Note(f"{where}: {message}", strict_yaml.find_place(text, str(path), inner))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 text (byte {problem.start})") from None
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}") from None
