"""A folder of private contracts laid over the shipped ones.

Its `KIND/NAME` folders are added, each in the place of a shipped one of that id; `overlay.yaml`
beside them may name shipped contracts that are not to be seen: `hides: [fusion/qkv]`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metainfer.ir.diagnostics import did_you_mean, error

FILE = "overlay.yaml"


def folders(root: Path) -> dict[str, Path]:
    """Every `KIND/NAME` folder below `root` by its id."""
    return {
        f"{path.parent.name}/{path.name}": path
        for path in sorted(root.glob("[!._]*/[!._]*"))
        if path.is_dir()
    }


def effective(root: Path, overlay: Path | None) -> dict[str, Path]:
    """The folders that count, by id; DiagnosticError if the overlay does not fit onto `root`."""
    shipped = folders(root)
    if overlay is None:
        return shipped
    own = _own_folders(overlay, shipped)
    hidden = _hides(overlay / FILE, shipped)
    seen = {id_: path for id_, path in shipped.items() if id_ not in hidden}
    return dict(sorted((seen | own).items()))


def _own_folders(overlay: Path, shipped: dict[str, Path]) -> dict[str, Path]:
    if not overlay.is_dir():
        raise error(f"--ckb {overlay}: no such folder")
    own = folders(overlay)
    if not own and not (overlay / FILE).is_file():
        raise error(
            f"--ckb {overlay}: no contracts in it", help="they lie in KIND/NAME/contract.yaml"
        )
    kinds = sorted({id_.split("/")[0] for id_ in shipped})
    for id_, path in own.items():
        kind = id_.split("/")[0]
        if kind not in kinds:
            near = did_you_mean(kind, kinds) or f"the kinds are {', '.join(kinds)}"
            raise error(f"{path}: no kind of contract is called '{kind}'", help=near)
    return own


def _hides(path: Path, shipped: dict[str, Path]) -> frozenset[str]:
    from metainfer.knowledge import strict_yaml

    if not path.is_file():
        return frozenset()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 text (byte {problem.start})") from None
    hidden = _hidden_ids(strict_yaml.load(text, str(path)), path)
    for id_ in hidden:
        if id_ not in shipped:
            raise error(f"{path}: no contract {id_} to hide", help=did_you_mean(id_, shipped))
    return frozenset(hidden)


def _hidden_ids(document: Any, path: Path) -> list[str]:
    hidden = document.get("hides") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(hidden, list) or not all(isinstance(id_, str) for id_ in hidden):
        raise error(f"{path}: not an overlay", help="it says 'hides: [KIND/NAME, ...]', no more")
    return hidden
