"""One flipped byte in what an engine is made from is noticed, named, and replaced or refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copytree

import pytest
from tiny_llama import TinyLlama
from tiny_pipeline import Stages, tiny_cache, write_model
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.driver import linker, session
from metainfer.driver.build import CompileOptions, compile_spec
from metainfer.driver.fresh import why_stale
from metainfer.driver.imported import check_imports
from metainfer.driver.session import compiler_context
from metainfer.files import cache_dir
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import lookup
from metainfer.ir.text import print_module
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.lock import FILE, lock_text
from metainfer.passes.context import CompilerContext
from metainfer.passes.fill_kernels import write_keys
from metainfer.resources import ckb_dir

__all__ = ["tiny_cache"]
NAME = "decode_qkv"
LAST = "plan-memory"


@dataclass(frozen=True)
class Original:
    """A spec and its engine, both on the warm cache of this module."""

    stages: Stages
    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)
    """Of the folder, whose weights are the cache's own file."""

    def compile(self, out: Path, **options: object) -> list[str]:
        """Compile again, into `out`; what was warned of."""
        told: list[Diagnostic] = []
        given = CompileOptions(warn=told.append, **options)  # type: ignore[arg-type]
        compile_spec(self.stages.spec, out, given, lambda line: None)
        assert all(d.severity == "warning" for d in told)
        return [d.message for d in told]

    def planned(self) -> ModuleOp:
        """The module that the engine was printed from."""
        return self.stages.after(LAST)


@dataclass
class Edited:
    """An edited dump, compiled."""

    original: Original
    folder: Path
    text: str
    told: list[str] = field(default_factory=list)

    def compile(self, *, strict: bool = False) -> Path:
        """The engine from the dump."""
        dump = self.folder / "dump.mlir"
        dump.write_text(self.text, encoding="utf-8")
        self.told = self.original.compile(self.folder / "out", start=dump, strict=strict)
        return self.folder / "out"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    spec = write_model(TinyLlama())
    found = Original(Stages(spec, compiler_context()), tmp_path_factory.mktemp("damage") / "out")
    assert found.compile(found.folder) == []
    found.files.update(engine_files(found.folder))
    return found


def engine_files(folder: Path) -> dict[str, bytes]:
    """Every file of the engine's own, by name."""
    package = next(folder.glob("*/engine.so")).parent
    found = {p.name: p.read_bytes() for p in package.iterdir() if p.is_file()}
    return found | {"weights.bin": (folder / "weights.bin").read_bytes()}


def flip(path: Path, at: float = 0.5) -> bytes:
    """Change one bit of a file in place; what it held before."""
    raw = path.read_bytes()
    place = int(len(raw) * at)
    path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
    return raw


def refused(problem: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return problem.value.diagnostics[0].message


# === A body in a dump ===


def change_body(module: ModuleOp, name: str, old: str, new: str) -> None:
    """Change the first line of a body that holds `old`."""
    func = lookup(module, name, kernel.FuncOp)
    assert func.body is not None
    lines = [line.data for line in func.body]
    at = next(n for n, line in enumerate(lines) if old in line)
    lines[at] = lines[at].replace(old, new, 1)
    func.properties["body"] = ArrayAttr([StringAttr(line) for line in lines])


def test_an_untouched_dump_gives_the_same_engine(original: Original, tmp_path: Path) -> None:
    edited = Edited(original, tmp_path, print_module(original.planned()))
    assert engine_files(edited.compile(strict=True)) == original.files
    assert edited.told == []


def test_what_a_dump_s_keys_do_not_cover_is_replaced(original: Original, tmp_path: Path) -> None:
    """One body has a flipped byte, one key has, one body is gone."""
    module = original.planned()
    change_body(module, "decode_qkv", " + ", " - ")
    func = lookup(module, "decode_gate_up", kernel.FuncOp)
    assert func.key is not None
    func.properties["key"] = StringAttr(func.key.data[:-1] + "x")
    del lookup(module, "prefill_qkv", kernel.FuncOp).properties["body"]
    edited = Edited(original, tmp_path, print_module(module))
    assert engine_files(edited.compile()) == original.files
    other_key = "does not have the key of what it says: the rule-based body takes its place"
    assert sorted(edited.told) == [
        f"kernel @decode_gate_up {other_key}",
        f"kernel @decode_qkv {other_key}",
        "kernel @prefill_qkv has no body: it gets the rule-based one",
    ]
    with pytest.raises(DiagnosticError) as caught:
        edited.compile(strict=True)
    assert refused(caught) in edited.told


def test_a_dump_s_word_is_no_evidence(original: Original, tmp_path: Path) -> None:
    """The key is right for the wrong body, as one who recomputes it can make it."""
    module = original.planned()
    change_body(module, "decode_add", " + ", " - ")
    gate = original.stages.ctx.gate
    assert gate is not None
    write_keys(module, gate)
    edited = Edited(original, tmp_path, print_module(module))
    assert engine_files(edited.compile()) == original.files
    (line,) = edited.told
    assert line.startswith("kernel @decode_add is not verified: ")


# === Contracts ===


def test_a_flipped_byte_of_an_imported_contract_is_refused(
    original: Original, tmp_path: Path
) -> None:
    for kind, name, value in (
        (infer.FormatOp, "q4_1", "bytes"),
        (infer.LayoutOp, "rows16", "lanes"),
        (infer.PathOp, "f32_rows16", "order"),
    ):
        module = original.planned()
        op = lookup(module, name, kind)
        wrong = {"bytes": "bytes = 20", "lanes": "lanes = 16", "order": "k ascending"}[value]
        text = print_module(module)
        at = text.index(wrong, text.index(f"{op.name} @{name}")) + len(wrong) - 1
        edited = Edited(original, tmp_path, text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :])
        with pytest.raises(DiagnosticError) as caught:
            edited.compile()
        assert name in refused(caught) or op.name in refused(caught), refused(caught)


def test_another_version_of_a_contract_is_told(original: Original) -> None:
    module, told = original.planned(), list[str]()
    op = lookup(module, "q4_1", infer.FormatOp)
    op.properties["hash"] = StringAttr(op.hash.data[:-1] + "x")
    path = lookup(module, "f32_rows16", infer.PathOp)
    path.properties["contract"] = StringAttr("numeric_path/theirs")
    check_imports(module, original.stages.ctx.knowledge, told.append)
    assert told == [
        "@q4_1 comes from another version of contract quant/q4_1 than the one here",
        "@f32_rows16: there is no contract numeric_path/theirs here to compare it with",
    ]


def test_a_flipped_byte_of_a_shipped_contract_is_refused(
    original: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "ckb"
    copytree(ckb_dir(), copy)
    (copy / FILE).write_text(lock_text(Knowledge(copy)))
    monkeypatch.setattr(session, "CompilerContext", partial(CompilerContext, ckb=copy))
    assert original.compile(tmp_path / "same") == []
    for name in ("quant/q4_1/contract.yaml", "quant/q4_1/decode.mlir"):
        whole = flip(copy / name)
        with pytest.raises(DiagnosticError) as caught:
            original.compile(tmp_path / "other")
        assert refused(caught) == "contract quant/q4_1 is not as shipped"
        (copy / name).write_bytes(whole)
    assert not (tmp_path / "other").exists()


# === The cache ===


def test_a_flipped_byte_of_evidence_is_verified_again(original: Original, tmp_path: Path) -> None:
    (store,) = (cache_dir() / linker.EVIDENCE).glob("*.sqlite")
    with closing(sqlite3.connect(store)) as database, database:
        key = json.loads((original.folder / "spec.lock").read_text())["kernels"][NAME]["key"]
        where = "WHERE kernel = ?"
        (text,) = database.execute(f"SELECT content FROM evidence {where}", (key,)).fetchone()
        changed = text.replace('"verified"', '"verifiee"')
        database.execute(f"UPDATE evidence SET content = ? {where}", (changed, key))
    again = "evidence is damaged: its digest differs; verifying again"
    assert original.compile(tmp_path / "out") == [f"{NAME}: {again}"]
    assert original.compile(tmp_path / "out", strict=True) == []
    assert engine_files(tmp_path / "out") == original.files


@pytest.fixture
def own_cache(original: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the cache, to be damaged."""
    copytree(cache_dir(), tmp_path / "cache")
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


KEPT = {
    "objects/*.o": "it is made anew",
    "libraries/*.so": "it is made anew",
    "weights/*.bin": "it is packed anew",
}


def test_a_flipped_byte_of_a_kept_file_is_made_anew(
    original: Original, tmp_path: Path, own_cache: Path
) -> None:
    kept = {path: flip(path) for kind in KEPT for path in own_cache.glob(kind)}
    told = original.compile(tmp_path / "out")
    mended = {path for path, raw in kept.items() if path.read_bytes() == raw}
    assert {path.parent.name for path in mended} == {"objects", "libraries", "weights"}
    lines = {f"{p} is damaged: {KEPT[f'{p.parent.name}/*{p.suffix}']}" for p in mended}
    assert set(told) == lines
    assert engine_files(tmp_path / "out") == original.files
    assert original.compile(tmp_path / "out") == []


def test_a_file_without_its_digest_is_not_used(
    original: Original, tmp_path: Path, own_cache: Path
) -> None:
    for kind in ("libraries", "weights"):
        for path in (own_cache / kind).glob("*.sha256"):
            path.unlink()
            flip(path.with_suffix(""))
    assert original.compile(tmp_path / "out") == []
    assert engine_files(tmp_path / "out") == original.files


# === The engine ===


def test_a_flipped_byte_of_an_engine_is_built_again(
    original: Original, tmp_path: Path, own_cache: Path
) -> None:
    folder = tmp_path / "out"
    copytree(original.folder, folder)
    for name in ("weights.bin", "engine.so"):
        (path,) = folder.rglob(name)
        whole = flip(path)
        reason = why_stale(original.stages.spec, folder)
        assert reason == f"{path.relative_to(folder)} was edited"
        path.write_bytes(whole)
        assert why_stale(original.stages.spec, folder) is None
    flip(path)
    assert original.compile(folder) == []
    assert engine_files(folder) == original.files
