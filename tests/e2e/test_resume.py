"""Any stage can be printed, edited and resumed from; an unedited one gives the same engine.

On a tiny model; on a real one with `METAINFER_RESUME_SPEC=specs/quickstart.mispec pytest
tests/e2e/test_resume.py`, which takes minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

sys.path.append(str(Path(__file__).parents[1] / "support"))

from tiny_llama import TinyLlama
from tiny_pipeline import Stages, detach, run, tiny_cache, write_model

from metainfer.driver.build import CompileOptions, compile_spec, read_module
from metainfer.driver.session import compiler_context
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import lookup
from metainfer.ir.text import parse_module, print_module
from metainfer.passes.pipelines import DEFAULT

SPEC = os.environ.get("METAINFER_RESUME_SPEC")
if SPEC is None:
    __all__ = ["tiny_cache"]
else:
    del tiny_cache  # a real model is in the cache of whoever asks for it


@dataclass(frozen=True)
class Original:
    """A spec, its module after each pass, and the engine that it compiles to."""

    stages: Stages
    folder: Path

    @property
    def spec(self) -> Path:
        """The spec's file."""
        return self.stages.spec

    def resume(self, text: str, out: Path) -> Path:
        """The engine that compiling from `text`, a dump, gives."""
        dump = out.with_name(f"{out.name}.mlir")
        dump.write_text(text, encoding="utf-8")
        return compile_spec(self.spec, out, CompileOptions(start=dump), lambda line: None)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    """The engine made in one go."""
    spec = Path(SPEC) if SPEC else write_model(TinyLlama())
    folder = tmp_path_factory.mktemp("resume") / "original"
    compile_spec(spec, folder, CompileOptions(), lambda line: None)
    yield Original(Stages(spec, compiler_context()), folder)


def files(folder: Path) -> dict[str, bytes]:
    """Every file of an engine folder but the manifest, which tells what it was made from."""
    found = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    return {
        name: path.read_bytes()
        for name, path in sorted(found.items())
        if "__pycache__" not in name and name != "manifest.json"
    }


def manifest(folder: Path) -> dict[str, object]:
    """The manifest but for its `inputs`: what was compiled, which may be the spec or a dump."""
    content: dict[str, object] = json.loads((folder / "manifest.json").read_text())
    del content["inputs"]
    return content


@pytest.mark.parametrize("name", DEFAULT)
def test_resuming_after_any_pass_gives_the_same_engine(
    original: Original, name: str, tmp_path: Path
) -> None:
    text = print_module(original.stages.after(name), locations=True)
    resumed = original.resume(text, tmp_path / "resumed")
    found, wanted = files(resumed), files(original.folder)
    done = {
        f"ir/{n:03d}-{p}.mlir" for n, p in enumerate(DEFAULT, 1) if n <= DEFAULT.index(name) + 1
    }
    assert set(wanted) - set(found) == done
    assert {n for n, data in found.items() if data != wanted[n]} == set()
    assert manifest(resumed) == manifest(original.folder)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("name", DEFAULT)
def test_resuming_from_either_form_gives_the_same_program(
    original: Original, name: str, generic: bool
) -> None:
    """The program decides the engine, as the test above shows byte by byte for one form."""
    stages = original.stages
    module = stages.after(name)
    text = print_module(module, generic=generic, locations=True)
    again = parse_module(text, "dump.mlir", stages.ctx)
    assert again.is_structurally_equivalent(module)
    assert print_module(again, generic=generic, locations=True) == text
    for rest in _passes_after(name):
        run(stages.ctx, again, rest)
    final = stages.after(DEFAULT[-1])
    assert print_module(again, locations=True) == print_module(final, locations=True)


def _passes_after(name: str) -> tuple[str, ...]:
    return DEFAULT[DEFAULT.index(name) + 1 :]


@pytest.mark.parametrize("name", ["plan", *_passes_after("plan")])
def test_a_program_does_not_depend_on_locations(original: Original, name: str) -> None:
    """Before `plan` they do matter: a decision says which line of the spec it follows from."""
    stages = original.stages
    again = parse_module(print_module(stages.after(name)), "dump.mlir", stages.ctx)
    for rest in _passes_after(name):
        run(stages.ctx, again, rest)
    assert print_module(again) == print_module(stages.after(DEFAULT[-1]))


def test_a_dump_s_model_is_found_wherever_the_dump_lies(original: Original, tmp_path: Path) -> None:
    """Without locations nothing in the dump tells where `file:` sources start from."""
    text = print_module(original.stages.after("fuse"))
    resumed = original.resume(text, tmp_path / "resumed")
    assert manifest(resumed) == manifest(original.folder)


def lock(folder: Path) -> dict[str, str]:
    """Key of each kernel by name."""
    kernels = json.loads((folder / "spec.lock").read_text())["kernels"]
    return {name: entry["key"] for name, entry in kernels.items()}


def answers(folder: Path) -> list[list[int]]:
    """The recorded greedy tokens."""
    return [case["tokens"] for case in json.loads((folder / "check.json").read_text())["cases"]]


def ungroup(group: infer.GroupOp) -> None:
    """Put a group's ops in its place, as a user does who deletes its two lines in a dump."""
    block = group.parent_block()
    last = group.body.block.last_op
    assert block is not None and isinstance(last, infer.YieldOp)
    for outer, inner in zip(group.results, last.operands, strict=True):
        inner.name_hint = outer.name_hint
        outer.replace_all_uses_with(inner)
    for op in list(group.body.block.ops)[:-1]:
        detach(op)
        block.insert_op_before(op, group)
    detach(group)
    group.erase()


def groups(module: ModuleOp, function: str) -> dict[str, infer.GroupOp]:
    """Rule → group of a function."""
    found = lookup(module, function, func.FuncOp).walk()
    return {op.rule.data: op for op in found if isinstance(op, infer.GroupOp)}


def calls(folder: Path, block: str) -> list[str]:
    """The kernels that a block of the built program calls, in order."""
    (dump,) = (folder / "ir").glob("*-plan-memory.mlir")
    lines = dump.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if f"engine.block @{block} " in line)
    end = next(n for n in range(start, len(lines)) if lines[n].startswith("    }"))
    called = (line.split("engine.call @")[1] for line in lines[start:end] if "engine.call" in line)
    return [text.split(" ")[0] for text in called]


def test_deleting_a_group_replaces_its_kernel_by_one_per_op(
    original: Original, tmp_path: Path
) -> None:
    module = original.stages.after("fuse")
    ungroup(groups(module, "decode_layer")["fusion/qkv"])
    resumed = original.resume(print_module(module, locations=True), tmp_path / "edited")
    before, after = lock(original.folder), lock(resumed)
    # Equal kernels are one kernel: the output projection has q's shape, and v has k's.
    assert set(before.values()) - set(after.values()) == {before["decode_qkv"]}
    assert set(after.values()) - set(before.values()) == {after["decode_attn_k"]}
    assert before["decode_attn_output"] == after["decode_attn_q"]
    assert {n for n in set(before) & set(after) if before[n] != after[n]} == set()
    assert calls(original.folder, "decode_layer")[:3] == [
        "decode_rms_norm", "decode_qkv", "decode_rope",
    ]  # fmt: skip
    assert calls(resumed, "decode_layer")[:5] == [
        "decode_rms_norm", "decode_attn_q", "decode_attn_k", "decode_attn_k", "decode_rope",
    ]  # fmt: skip
    assert calls(resumed, "prefill_layer") == calls(original.folder, "prefill_layer")
    assert answers(resumed) == answers(original.folder)


def test_a_dump_without_any_group_is_still_one_after_fuse(
    original: Original, tmp_path: Path
) -> None:
    module = original.stages.after("fuse")
    for function in ("decode_layer", "prefill_layer"):
        for group in groups(module, function).values():
            ungroup(group)
    resumed = original.resume(print_module(module), tmp_path / "edited")
    assert not (resumed / "ir" / "006-fuse.mlir").exists()
    assert not any("qkv" in name or "gate_up" in name for name in lock(resumed))
    assert answers(resumed) == answers(original.folder)


def test_an_edited_body_is_not_linked(original: Original, tmp_path: Path) -> None:
    """A wrong body in a dump after `fill-kernels` does not become part of an engine."""
    from metainfer.ir.diagnostics import DiagnosticError

    text = print_module(original.stages.after("fill-kernels"), locations=True)
    module = read_module(_written(text, tmp_path / "sound.mlir"), original.stages.ctx)
    assert print_module(module, locations=True) == text
    edited = _written(text.replace(" + ", " - "), tmp_path / "edited.mlir")
    assert edited.read_text() != text
    strict = CompileOptions(start=edited, strict=True)
    with pytest.raises(DiagnosticError) as caught:
        compile_spec(original.spec, tmp_path / "edited", strict, lambda line: None)
    assert "does not have the key of what it says" in caught.value.diagnostics[0].message
    assert not (tmp_path / "edited").exists()


def _written(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@cache
def mlir_opt() -> str | None:
    """MLIR's own tool, under either of the names that packages give it."""
    return shutil.which("mlir-opt") or shutil.which("mlir-opt-19")


@pytest.mark.parametrize("name", DEFAULT)
def test_mlir_reads_the_generic_form_of_every_stage(original: Original, name: str) -> None:
    tool = mlir_opt()
    if tool is None:
        pytest.skip("mlir-opt is not installed: apt-get install mlir-19-tools")
    for locations in (False, True):
        text = print_module(original.stages.after(name), generic=True, locations=locations)
        command = [tool, "--allow-unregistered-dialect"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
