"""Reasons to build an engine again, on a folder that holds nothing but a manifest and two files."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from metainfer.codegen.c import toolchain
from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.driver import fresh
from metainfer.driver.fresh import inputs_of, model_inputs, why_stale
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import Knowledge
from metainfer.resources import ckb_dir

KNOWLEDGE = Knowledge(ckb_dir())
SPEC, MODEL = b"engine tiny {}\n", b"weights"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Folder:
    """A spec with its model and what `compile` would have left of them in `out`."""

    def __init__(self, top: Path) -> None:
        self.spec, self.model, self.out = top / "a.mispec", top / "m.gguf", top / "out"
        self.spec.write_bytes(SPEC)
        self.model.write_bytes(MODEL)
        self.out.mkdir()
        (self.out / "engine.so").write_bytes(b"code")
        (self.out / "weights.bin").write_bytes(b"packed")
        inputs = inputs_of(SPEC, None, KNOWLEDGE, find_compiler())
        self.manifest: dict[str, Any] = {
            "inputs": inputs | model_inputs("file:m.gguf", _sha256(MODEL)),
            "files": {"engine.so": _sha256(b"code"), "weights.bin": _sha256(b"packed")},
        }
        self.save()

    def save(self) -> None:
        (self.out / "manifest.json").write_text(json.dumps(self.manifest))

    def reason(self, ckb: Path | None = None, cc: str | None = None) -> str | None:
        return why_stale(self.spec, self.out, ckb, cc)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    return Folder(tmp_path)


def test_nothing_has_changed(folder: Folder) -> None:
    assert folder.reason() is None


def test_another_spec_or_model(folder: Folder) -> None:
    folder.spec.write_bytes(SPEC + b"// more\n")
    assert folder.reason() == "the spec has changed"
    folder.spec.write_bytes(SPEC)
    folder.model.write_bytes(b"WEIGHTS")
    assert folder.reason() == "the model has changed"
    folder.model.unlink()
    assert folder.reason() == "the model has changed"


def test_a_resumed_build_is_not_what_the_spec_gives(folder: Folder) -> None:
    folder.manifest["inputs"] |= inputs_of(SPEC, b"dump", KNOWLEDGE, find_compiler())
    folder.save()
    assert folder.reason() == "the spec has changed"


def test_a_downloaded_model_may_be_gone(folder: Folder) -> None:
    folder.manifest["inputs"]["source"] = "pypi:some-model/m.gguf"
    folder.save()
    assert folder.reason() is None


def test_other_contracts(folder: Folder, tmp_path: Path) -> None:
    ckb = tmp_path / "ckb"
    shutil.copytree(ckb_dir() / "fusion", ckb / "fusion")
    assert folder.reason(ckb) is None
    (ckb / "fusion/qkv/notes.txt").write_text("")
    assert folder.reason(ckb) == "the contracts have changed"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("metainfer", "metainfer has changed"),
        ("isa", "the machine is another"),
        ("compiler", "the C compiler is another"),
    ],
)
def test_other_surroundings(folder: Folder, name: str, reason: str) -> None:
    folder.manifest["inputs"][name] = "other"
    folder.save()
    assert folder.reason() == reason


def test_a_compiler_that_is_gone_is_no_reason(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    assert folder.reason() is None
    with pytest.raises(DiagnosticError, match="'cc' is not on the PATH"):
        folder.reason(cc="cc")


def test_source_files_decide_and_byte_code_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "_PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("1")

    def digest() -> str:
        return inputs_of(SPEC, None, KNOWLEDGE, Compiler(("true",)))["metainfer"]

    before = digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"1")
    assert digest() == before
    (tmp_path / "a.py").write_text("2")
    assert digest() != before


def test_files_of_the_engine(folder: Folder) -> None:
    (folder.out / "weights.bin").write_bytes(b"PACKED")
    assert folder.reason() == "weights.bin was edited"
    (folder.out / "engine.so").unlink()
    assert folder.reason() == "engine.so is missing"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "{}", '{"inputs": 1, "files": {}}', '{"inputs": {}, "files": []}']
)
def test_a_damaged_manifest(folder: Folder, text: str) -> None:
    (folder.out / "manifest.json").write_text(text)
    assert folder.reason() == "there is no engine yet"


def test_a_spec_that_is_not_there(folder: Folder) -> None:
    folder.spec.unlink()
    with pytest.raises(DiagnosticError, match="no such file"):
        folder.reason()
