"""Private contracts laid over the shipped ones."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Quant
from metainfer.resources import ckb_dir

SHIPPED = Knowledge(ckb_dir())


def over(overlay: Path) -> Knowledge:
    return Knowledge(ckb_dir(), overlay)


def copied(overlay: Path, id_: str, name: str | None = None) -> Path:
    """A shipped contract in the overlay, there called `name`; its `contract.yaml`."""
    own = overlay / (name or id_)
    copytree(ckb_dir() / id_, own)
    path = own / "contract.yaml"
    path.write_text(path.read_text().replace(f"id: {id_}", f"id: {name or id_}"))
    return path


def test_a_new_contract_joins_the_shipped_ones(tmp_path: Path) -> None:
    copied(tmp_path, "quant/q8_0", "quant/mine")
    knowledge = over(tmp_path)
    assert set(knowledge.ids("quant")) == {*SHIPPED.ids("quant"), "quant/mine"}
    assert knowledge.ids("quant") == sorted(knowledge.ids("quant"))
    assert knowledge.get("quant/mine", Quant).block == 32
    assert knowledge.fragment("quant/mine", "decode.mlir").text
    assert knowledge.ids("fusion") == SHIPPED.ids("fusion")


def test_one_of_the_same_id_takes_the_place_of_the_whole_folder(tmp_path: Path) -> None:
    path = copied(tmp_path, "quant/q8_0")
    assert over(tmp_path).digest() == SHIPPED.digest()
    path.write_text(path.read_text().replace("version: 1", "version: 7"))
    (path.parent / "decode.mlir").unlink()
    knowledge = over(tmp_path)
    assert knowledge.get("quant/q8_0", Quant).version == 7
    with pytest.raises(DiagnosticError, match=r"contract quant/q8_0 has no decode\.mlir"):
        knowledge.fragment("quant/q8_0", "decode.mlir")
    assert knowledge.hash("quant/q8_0") != SHIPPED.hash("quant/q8_0")
    assert knowledge.digest() != SHIPPED.digest()


def test_hidden_contracts_are_gone(tmp_path: Path) -> None:
    (tmp_path / "overlay.yaml").write_text("hides: [fusion/qkv, config_map/llama]\n")
    knowledge = over(tmp_path)
    assert set(SHIPPED.ids("fusion")) - set(knowledge.ids("fusion")) == {"fusion/qkv"}
    maps = [path.parent.name for path in knowledge.files("config_map", "map.yaml")]
    assert maps == ["gemma3", "qwen2"]
    assert knowledge.digest() != SHIPPED.digest()


@pytest.mark.parametrize(
    ("text", "message", "help_"),
    [
        ("hides: [fusion/qvk]", "no contract fusion/qvk to hide", "did you mean 'fusion/qkv'?"),
        ("hide: []", "not an overlay", "it says 'hides: [KIND/NAME, ...]', no more"),
        ("hides: fusion/qkv", "not an overlay", "it says 'hides: [KIND/NAME, ...]', no more"),
        ("hides: [1]", "not an overlay", "it says 'hides: [KIND/NAME, ...]', no more"),
    ],
)
def test_an_overlay_s_own_file(tmp_path: Path, text: str, message: str, help_: str) -> None:
    path = tmp_path / "overlay.yaml"
    path.write_text(text)
    with pytest.raises(DiagnosticError) as caught:
        over(tmp_path).ids("fusion")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.message, diagnostic.help) == (f"{path}: {message}", help_)


def test_an_unknown_kind_is_a_slip(tmp_path: Path) -> None:
    copied(tmp_path, "quant/q8_0", "quants/q8_0")
    with pytest.raises(DiagnosticError) as caught:
        over(tmp_path).ids("quant")
    (diagnostic,) = caught.value.diagnostics
    path = tmp_path / "quants/q8_0"
    assert diagnostic.message == f"{path}: no kind of contract is called 'quants'"
    assert diagnostic.help == "did you mean 'quant'?"


def test_notes_and_hidden_folders_are_no_contracts(tmp_path: Path) -> None:
    copied(tmp_path, "quant/q8_0", "quant/mine")
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / "README.md").write_text("ours")
    assert "quant/mine" in over(tmp_path).ids("quant")
