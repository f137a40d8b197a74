"""The knowledge base as a folder: contracts found, checked, hashed; the shipped ones sound."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

import pytest
from xdsl.dialects import func

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.symbols import lookup
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Contract, Fusion, Layout, Quant
from metainfer.passes.imports import import_format, parse_fragment
from metainfer.resources import ckb_dir

SHIPPED = sorted(
    f"{path.parent.parent.name}/{path.parent.name}" for path in ckb_dir().glob("*/*/contract.yaml")
)


@pytest.fixture
def ckb(tmp_path: Path) -> Path:
    """A copy of the shipped knowledge base, to be edited."""
    copytree(ckb_dir(), tmp_path / "ckb")
    return tmp_path / "ckb"


def complaint(knowledge: Knowledge, id_: str) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        knowledge.get(id_, Contract)
    return caught.value


@pytest.mark.parametrize("id_", SHIPPED)
def test_every_shipped_contract_is_valid_and_gives_its_reason(id_: str) -> None:
    contract = Knowledge(ckb_dir()).get(id_, Contract)
    assert contract.id == id_
    assert len(contract.why) > 20


@pytest.mark.parametrize("id_", [i for i in SHIPPED if i.startswith("quant/")])
def test_every_format_s_decode_fits_its_fields(id_: str) -> None:
    from xdsl.dialects.builtin import ModuleOp

    from metainfer.ir.verify import verify_module

    module = ModuleOp([])
    import_format(module, id_.split("/")[1], Knowledge(ckb_dir()))
    verify_module(module)


@pytest.mark.parametrize("id_", [i for i in SHIPPED if i.startswith("fusion/")])
def test_every_pattern_is_one_function(id_: str) -> None:
    knowledge = Knowledge(ckb_dir())
    assert knowledge.get(id_, Fusion).benefit
    fragment = parse_fragment(knowledge.fragment(id_, "pattern.mlir"))
    assert lookup(fragment, "pattern", func.FuncOp).body.block.last_op is not None


def test_ids_and_all_are_sorted_and_typed() -> None:
    knowledge = Knowledge(ckb_dir())
    ids = knowledge.ids("quant")
    assert ids == sorted(ids) and {"quant/f32", "quant/q4_1", "quant/q8_0"} <= set(ids)
    assert [q.id for q in knowledge.all("quant", Quant)] == ids
    assert knowledge.ids("nothing") == []


def test_another_kind_than_asked_for_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="contract quant/f32 is no Layout"):
        Knowledge(ckb_dir()).get("quant/f32", Layout)


def test_a_missing_contract_is_named_with_the_nearest_one() -> None:
    knowledge = Knowledge(ckb_dir())
    (diagnostic,) = complaint(knowledge, "layout/rows17").diagnostics
    assert diagnostic.message.startswith("no contract layout/rows17 in ")
    assert diagnostic.help == "did you mean 'layout/rows16'?"


def test_a_missing_fragment_is_named() -> None:
    with pytest.raises(DiagnosticError, match=re.escape("contract quant/f32 has no pattern.mlir")):
        Knowledge(ckb_dir()).fragment("quant/f32", "pattern.mlir")


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("block: 32", "block: 0", "block"),
        ("block: 32", "blok: 32", "blok"),
        ("kind: quant", "kind: quants", "quants"),
        ("fields: [d, qs]", "fields: d", "fields"),
        ("why: ", "wy: ", "why"),
        ("layer: generic", "layer: special", "layer"),
        ("version: 1", "version: 0", "version"),
    ],
)
def test_a_wrong_field_is_named(ckb: Path, old: str, new: str, note: str) -> None:
    path = ckb / "quant/q8_0/contract.yaml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    (diagnostic,) = complaint(Knowledge(ckb), "quant/q8_0").diagnostics
    assert diagnostic.message == f"{path}: not a valid contract"
    assert any(note in n.message for n in diagnostic.notes), diagnostic.notes


def test_the_id_is_the_folder_s(ckb: Path) -> None:
    (ckb / "quant/q8_0").rename(ckb / "quant/q8_9")
    (diagnostic,) = complaint(Knowledge(ckb), "quant/q8_9").diagnostics
    assert "id is 'quant/q8_0', its folder says 'quant/q8_9'" in diagnostic.message


@pytest.mark.parametrize("file", ["contract.yaml", "decode.mlir", "new.txt"])
def test_the_hash_covers_every_file(ckb: Path, file: str) -> None:
    before = Knowledge(ckb).hash("quant/q8_0")
    assert before == Knowledge(ckb_dir()).hash("quant/q8_0")
    path = ckb / "quant/q8_0" / file
    path.write_text((path.read_text() if path.exists() else "") + "\n")
    assert Knowledge(ckb).hash("quant/q8_0") != before


def test_the_hash_covers_names(ckb: Path) -> None:
    before = Knowledge(ckb).hash("quant/q8_0")
    (ckb / "quant/q8_0/decode.mlir").rename(ckb / "quant/q8_0/other.mlir")
    assert Knowledge(ckb).hash("quant/q8_0") != before
