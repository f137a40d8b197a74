"""The `metainfer ckb` commands, and that passes read contracts only."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from command_line import Done, Shell
from tiny_build import BUILD, MODEL, SPEC, built_shell
from tiny_llama import TinyLlama

from metainfer.driver.built import Built
from metainfer.driver.linker import EVIDENCE, meaning_digest
from metainfer.driver.session import reading_context
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.resources import ckb_dir
from metainfer.verify.evidence import EvidenceStore, Origin
from metainfer.verify.verdict import Failure, Verdict


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """With the tiny model, its spec and its build."""
    folder = tmp_path / "work"
    folder.mkdir()
    return built_shell(folder)


def data(done: Done, code: int = 0) -> Any:
    assert (done.code, done.err) == (code, ""), done
    return json.loads(done.out)


def hiding(shell: Shell, *ids: str) -> str:
    """An overlay that hides contracts."""
    (shell.folder / "own").mkdir()
    shell.write("own/overlay.yaml", f"hides: [{', '.join(ids)}]\n")
    return "own"


# === Reading ===


def test_the_shipped_contracts_are_linted(shell: Shell) -> None:
    done = shell.run("metainfer", "ckb", "lint")
    count = len(list(ckb_dir().glob("*/*/*.yaml")))
    assert (done.code, done.out, done.err) == (0, f"{count} contracts, 0 problems\n", "")
    assert data(shell.run("metainfer", "ckb", "lint", "--json")) == []


def test_problems_of_an_overlay_are_named(shell: Shell) -> None:
    copytree(ckb_dir() / "quant/q8_0", shell.folder / "own/quant/mine")
    done = shell.run("metainfer", "ckb", "lint", "--ckb", "own")
    assert done.code == 1
    path = Path("own/quant/mine/contract.yaml")
    assert f"error: {path}: id is 'quant/q8_0', its folder says 'quant/mine'\n" in done.err


def test_listing_and_showing(shell: Shell) -> None:
    listed = data(shell.run("metainfer", "ckb", "list", "fusion", "--json"))
    assert [entry["id"] for entry in listed] == sorted(entry["id"] for entry in listed)
    assert {"id", "layer", "version", "from", "why"} == set(listed[0])
    own = hiding(shell, "fusion/qkv")
    rest = data(shell.run("metainfer", "ckb", "list", "fusion", "--json", "--ckb", own))
    assert [e["id"] for e in listed if e not in rest] == ["fusion/qkv"]
    shown = data(shell.run("metainfer", "ckb", "show", "fusion/qkv", "--json"))
    assert shown["kind"] == "fusion" and shown["files"] == ["contract.yaml", "pattern.mlir"]
    text = shell.run("metainfer", "ckb", "show", "fusion/qkv").out
    assert (ckb_dir() / "fusion/qkv/pattern.mlir").read_text().strip() in text


def test_explaining_a_contract_and_an_op(shell: Shell) -> None:
    contract = shell.run("metainfer", "ckb", "explain", "weight_map/gguf_llama").out
    assert "rope_pairing: interleaved\n" in contract and "named by: family/llama\n" in contract
    op = shell.run("metainfer", "ckb", "explain", "attend").out
    assert op.startswith("infer.attend\n`y[t, h] = softmax_j(")
    for id_ in ("numeric_path/f32_rows16", "layout/kv_blocks16", "failure/stale_keys"):
        assert f"\n{id_}: " in op
    assert "quant/q4_1" not in op


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("show", "fusion/qvk"), "error: no contract fusion/qvk\nhelp: did you mean 'fusion/qkv'?"),
        (
            ("explain", "atend"),
            "error: no contract and no op is called 'atend'\nhelp: did you mean",
        ),
        (("list", "fusions"), "error: no kind of contract is called 'fusions'\nhelp: did you mean"),
        (("why", BUILD), f"error: '{BUILD}' names no kernel\nhelp: write it as BUILD:KERNEL"),
        (("why", f"{BUILD}:decode_qvk"), "error: the build has no kernel 'decode_qvk'\nhelp: did"),
        (("verify", "quant/q9"), "error: no contract quant/q9 in"),
    ],
)
def test_a_slip_is_refused(shell: Shell, command: tuple[str, ...], message: str) -> None:
    assert shell.refused("metainfer", "ckb", *command).startswith(message)


# === Coverage ===


def rows(done: Done, code: int = 0) -> dict[str, dict[str, Any]]:
    return {f"{row['what']} {row['name'].split(',')[0]}": row for row in data(done, code)}


def test_everything_a_built_spec_needs_is_there(shell: Shell) -> None:
    found = rows(shell.run("metainfer", "ckb", "coverage", SPEC, "--json"))
    assert found["family llama"]["contracts"] == ["family/llama", "weight_map/gguf_llama"]
    assert found["infer.linear q4_1"]["contracts"] == [
        "layout/rows16", "numeric_path/f32_rows16", "quant/q4_1",
    ]  # fmt: skip
    ops = [row for row in found.values() if row["what"].startswith("infer.")]
    assert {row["body"] for row in ops} == {"verified"}
    assert {row["missing"] for row in found.values()} == {""}
    elsewhere = Shell(shell.folder, shell.folder / "empty", shell.temporary)
    again = rows(elsewhere.run("metainfer", "ckb", "coverage", SPEC, "--json"))
    assert {r["body"] for r in again.values() if r["what"].startswith("infer.")} == {"unverified"}


def test_the_file_of_a_model_will_do(shell: Shell) -> None:
    found = rows(shell.run("metainfer", "ckb", "coverage", MODEL, "--json"))
    assert "infer.attend no weight" in found


def test_a_missing_contract_is_what_is_printed(shell: Shell) -> None:
    TinyLlama().write(shell.folder / "other.gguf")
    raw = (shell.folder / "other.gguf").read_bytes()
    (shell.folder / "other.gguf").write_bytes(raw.replace(b"llama", b"alpac"))
    own = hiding(shell, "quant/q4_1")
    command = ("metainfer", "ckb", "coverage", "other.gguf", "--json", "--ckb", own)
    found = rows(shell.run(*command), 1)
    gaps = {name: row["missing"] for name, row in found.items() if row["missing"]}
    assert gaps == {
        "family alpac": "a family contract that names it, and a weight_map for its tensors",
        "format type 3": "a quant contract with the type_id of GGUF's type 3",
    }
    assert "blk.{layer}.attn_q.weight" in found["family alpac"]["used"]


# === Evidence ===


def test_why_a_kernel_may_run(shell: Shell) -> None:
    found = data(shell.run("metainfer", "ckb", "why", f"{BUILD}:decode_qkv", "--json"))
    lock = json.loads((shell.folder / BUILD / "spec.lock").read_text())
    assert (found["by"], found["key"]) == ("rule", lock["kernels"]["decode_qkv"]["key"])
    evidence = found["evidence"]
    assert (evidence["status"], evidence["failure"]) == ("verified", None)
    assert 0 <= evidence["worst_ratio"] <= 1 and evidence["cases"] > 0
    assert evidence["isa"] and "-O3" in evidence["flags"] and evidence["toolchain"]
    assert list(found["contracts"]) == ["layout/rows16", "numeric_path/f32_rows16", "quant/q4_1"]
    assert found["failed"] == [] and "infer.linear" in found["meaning"]
    assert "body" not in found["meaning"]


def test_why_tells_of_what_failed(shell: Shell) -> None:
    module = Built(shell.folder / BUILD, reading_context()).module
    funcs = [f for f in all_of(module, kernel.FuncOp) if f.sym_name.data == "decode_add"]
    origin = Origin(meaning_digest(funcs[0]), "cc 1", (), "avx2")
    failure = Failure(
        "bound", "decode_add", {"tokens": 2}, "a: zeros", (0, 1), 0.5, 1.0, 9.0, "off"
    )
    store = EvidenceStore(shell.cache / EVIDENCE, {"sha256:bad": origin})
    store.record("sha256:bad", Verdict("rejected", "bound", 9.0, 3, failure))
    found = data(shell.run("metainfer", "ckb", "why", f"{BUILD}:decode_add", "--json"))
    assert found["evidence"]["status"] == "verified"
    (failed,) = found["failed"]
    assert (failed["key"], failed["status"]) == ("sha256:bad", "rejected")
    assert failed["failure"]["first_bad_index"] == [0, 1]
    text = shell.run("metainfer", "ckb", "why", f"{BUILD}:decode_add").out
    assert "failed:\n  - key: sha256:bad\n" in text


def test_verification_from_nothing_but_contracts(shell: Shell) -> None:
    """It takes no evidence from the cache, and leaves none."""
    before = {path: path.stat().st_mtime_ns for path in shell.cache.rglob("*")}
    (result,) = data(shell.run("metainfer", "ckb", "verify", "quant/f16", "--json"))
    assert result == {"contract": "quant/f16", "kernels": ["linear", "embed"], "problem": ""}
    assert {path: path.stat().st_mtime_ns for path in shell.cache.rglob("*")} == before


# === Passes read contracts ===


def test_without_the_contract_nothing_is_fused(shell: Shell) -> None:
    own = hiding(shell, "fusion/qkv")
    upto = ("metainfer-opt", SPEC, "-p", "resolve-model,expand-model,plan,fuse")
    with_it = shell.run(*upto).out
    without = shell.run(*upto, "--ckb", own).out
    assert with_it.count('rule = "fusion/qkv"') == 1
    assert '"fusion/qkv"' not in without
    assert with_it.count("infer.group") == without.count("infer.group") + 1
    assert with_it.count("infer.linear") == without.count("infer.linear")
