"""`ckb lint`: the shipped contracts are sound, and every kind of mistake in one is found."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest

from metainfer.driver.ckb.lint import lint, seal
from metainfer.driver.session import reading_context
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Family, PerfRule
from metainfer.knowledge.lock import check_shipped
from metainfer.knowledge.schema import models, schemas
from metainfer.resources import ckb_dir


def test_the_shipped_contracts_are_sound() -> None:
    assert [d.message for d in lint(Knowledge(ckb_dir()))] == []


@pytest.fixture
def ckb(tmp_path: Path) -> Path:
    """A copy of the shipped contracts, to be edited; it has no tests beside it."""
    copytree(ckb_dir(), tmp_path / "ckb")
    return tmp_path / "ckb"


def found(ckb: Path, overlay: Path | None = None) -> list[str]:
    """Messages, but for what every edit of a shipped file leads to."""
    messages = [d.message for d in lint(Knowledge(ckb, overlay))]
    return [m for m in messages if not m.endswith("is not as shipped") and "no digest in" not in m]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


QUANT, FUSION = "quant/q4_1/contract.yaml", "fusion/qkv/contract.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (QUANT, "block: 32", "blok: 32", "not a valid contract"),
        (QUANT, "infer.linear]", "infer.linaer]", "applies.op: no op 'infer.linaer'"),
        (QUANT, "{op:", "{format: [q9], op:", "applies.format: no format 'q9'"),
        (QUANT, "{op:", "{tokens: 1..4 MiB, op:", "not a valid contract"),
        (QUANT, "type_id: 3", "type_id: 2", "apply to the same case and differ"),
        (QUANT, "fields: [d, m, qs]", "fields: [d, qs]", "yaml: infer.format: one block"),
        (FUSION, "version: 1", "version: 1\nversion: 2", "duplicate key 'version'"),
        (FUSION, "version: 1", "version: 1\noverrides: [fusion/x]", "no other fusion contract"),
        (FUSION, "version: 1", "version: 1\noverrides: [fusion/qkv]", "no other fusion contract"),
        ("family/llama/contract.yaml", "weight_map/gguf_llama", "weight_map/x", "no contract"),
        ("failure/stale_keys/contract.yaml", "detector: stage", "detector: stag", "mean 'stage'"),
        ("config_map/llama/map.yaml", "tied: false", "tide: false", "not a valid config_map"),
        ("fusion/qkv/pattern.mlir", "func.func", "func.fun", "func.fun"),
    ],
)
def test_a_mistake_is_found(ckb: Path, file: str, old: str, new: str, message: str) -> None:
    edit(ckb / file, old, new)
    assert any(message in line for line in found(ckb)), found(ckb)


def test_a_wrong_value_has_a_place(ckb: Path) -> None:
    edit(ckb / QUANT, "block: 32", "block: 0")
    with pytest.raises(DiagnosticError) as caught:
        Knowledge(ckb).all("quant", models()["quant"])
    (note,) = caught.value.diagnostics[0].notes
    line = (ckb / QUANT).read_text().splitlines().index("block: 0") + 1
    assert note.place is not None
    assert (note.place.line, note.place.col) == (line, len("block: ") + 1)


def test_guards_are_looked_for_in_a_checkout(tmp_path: Path) -> None:
    copytree(ckb_dir(), tmp_path / "ckb")
    (tmp_path / "tests").mkdir()
    guards = found(tmp_path / "ckb")
    assert guards and all(": guards: no tests/" in line for line in guards)


# === Overlaps ===


def overlaid(folder: Path, id_: str, name: str, *changes: tuple[str, str]) -> Path:
    """A changed copy of a shipped contract in an overlay, called `name` there."""
    copytree(ckb_dir() / id_, folder / name)
    path = folder / name / "contract.yaml"
    for old, new in ((f"id: {id_}", f"id: {name}"), *changes):
        edit(path, old, new)
    return folder


RULE = "perf_rule/cpu_entries"
OTHER = ("decode: 4", "decode: 8")


def test_other_values_for_the_same_case_are_refused(ckb: Path, tmp_path: Path) -> None:
    overlay = overlaid(tmp_path / "own", RULE, "perf_rule/mine", OTHER)
    assert found(ckb, overlay) == [f"{RULE} and perf_rule/mine apply to the same case and differ"]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [OTHER, ("version: 1", f"version: 1\noverrides: [{RULE}]")],
        [OTHER, ("machine: [x86_64, amd64]", "machine: [riscv64]")],
    ],
    ids=["same values", "overrides", "another machine"],
)
def test_these_may_stand_beside_it(
    ckb: Path, tmp_path: Path, changes: list[tuple[str, str]]
) -> None:
    assert found(ckb, overlaid(tmp_path / "own", RULE, "perf_rule/mine", *changes)) == []


def test_two_families_of_one_architecture(ckb: Path, tmp_path: Path) -> None:
    overlay = overlaid(tmp_path / "own", "family/llama", "family/zz", ("10000.0", "500000.0"))
    assert found(ckb, overlay) == ["family/llama and family/zz apply to the same case and differ"]
    edit(overlay / "family/zz/contract.yaml", "version: 1", "version: 1\noverrides: [family/llama]")
    assert found(ckb, overlay) == []
    families = Knowledge(ckb, overlay).all("family", Family)
    assert next(f.id for f in families if "llama" in f.arch) == "family/zz"


def test_those_that_override_come_first_whatever_their_names(tmp_path: Path) -> None:
    overlay = overlaid(
        tmp_path, RULE, "perf_rule/zz", OTHER, ("version: 1", f"version: 1\noverrides: [{RULE}]")
    )
    rules = reading_context(overlay).knowledge.all("perf_rule", PerfRule)
    assert [rule.id for rule in rules] == ["perf_rule/zz", RULE]


# === Digests and schemas ===


def test_schemas_are_current() -> None:
    folder = ckb_dir() / "schema"
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()} == schemas()


def test_schemas_describe_the_contracts() -> None:
    for kind, text in ((name.removesuffix(".json"), text) for name, text in schemas().items()):
        schema = json.loads(text)
        wanted = {n for n, f in models()[kind].model_fields.items() if f.is_required()}
        assert set(schema["required"]) == wanted
        assert not schema["additionalProperties"]


def test_what_was_not_shipped_is_named(ckb: Path) -> None:
    edit(ckb / QUANT, "version: 1", "version: 2")
    (ckb / "quant/q8_0/contract.yaml").unlink()
    (ckb / "quant/q8_0/decode.mlir").unlink()
    (ckb / "quant/q8_0").rmdir()
    with pytest.raises(DiagnosticError) as caught:
        check_shipped(Knowledge(ckb))
    messages = [d.message for d in caught.value.diagnostics]
    assert messages == [
        "contract quant/q4_1 is not as shipped",
        f"contract quant/q8_0 is missing from {ckb}",
    ]


def test_sealing_admits_a_change_and_writes_nothing_twice(ckb: Path) -> None:
    assert seal(Knowledge(ckb)) == []
    edit(ckb / QUANT, "version: 1", "version: 2")
    (ckb / "schema/quant.json").write_text("{}")
    names = sorted(path.name for path in seal(Knowledge(ckb)))
    assert names == ["contracts.sha256", "quant.json"]
    check_shipped(Knowledge(ckb))
    assert [d.message for d in lint(Knowledge(ckb))] == []


def test_a_replaced_or_hidden_contract_need_not_be_as_shipped(ckb: Path, tmp_path: Path) -> None:
    edit(ckb / QUANT, "version: 1", "version: 2")
    own = overlaid(tmp_path / "own", "quant/q4_1", "quant/q4_1")
    check_shipped(Knowledge(ckb, own))
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding/overlay.yaml").write_text("hides: [quant/q4_1]\n")
    check_shipped(Knowledge(ckb, tmp_path / "hiding"))
