"""The C compiler: found or asked for, run once per content, its complaints passed on."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.ir.diagnostics import DiagnosticError

SOURCE = '#include "n.h"\nint answer(void) { return N; }\n'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def counting(tmp_path: Path) -> tuple[Compiler, Path]:
    """A compiler that writes a line for each run."""
    real, log = find_compiler().command, tmp_path / "runs"
    script = tmp_path / "counting-cc"
    script.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {" ".join(real)} "$@"\n')
    script.chmod(0o755)
    return Compiler((str(script),)), log


def compiled(log: Path) -> int:
    """Runs that compiled or linked, not those that ask for the version."""
    return sum(" -o " in line for line in log.read_text().splitlines())


def test_objects_and_libraries_are_made_once_per_content(cache: Path, tmp_path: Path) -> None:
    compiler, log = counting(tmp_path)

    def build(number: int, *flags: str) -> Path:
        headers = {"n.h": f"#define N {number}\n"}
        return compiler.link([compiler.object(SOURCE, headers, "answer.c", flags)])

    first = build(41)
    assert compiled(log) == 2
    assert build(41) == first and compiled(log) == 2
    assert build(42) != first and compiled(log) == 4
    build(41, "-DOTHER")  # another object, perhaps the same bytes
    assert compiled(log) in (5, 6)
    assert ctypes.CDLL(str(build(42))).answer() == 42


def test_the_same_content_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("one", "two"):
        monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / name))
        compiler = find_compiler()
        path = compiler.link([compiler.object(SOURCE, {"n.h": "#define N 1\n"}, "answer.c", ())])
        found.append(path.read_bytes())
    assert found[0] == found[1]


def test_what_the_compiler_says_is_passed_on(cache: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_compiler().object("int f(void) { return nothing; }", {}, "f.c", ())
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith("the C compiler failed: f.c:1:")
    assert "nothing" in diagnostic.message
    assert [p for p in cache.rglob("*") if p.is_file()] == []


def test_a_compiler_is_named_by_option_then_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "sh -c")
    assert find_compiler().command == ("sh", "-c")
    assert find_compiler("env cc").command == ("env", "cc")
    with pytest.raises(DiagnosticError, match="C compiler 'no-such-cc' is not on the PATH"):
        find_compiler("no-such-cc")


def test_the_identity_names_version_and_target() -> None:
    identity = find_compiler().identity
    assert any(character.isdigit() for character in identity)
    assert os.uname().machine.replace("_", "-") in identity.replace("_", "-")
