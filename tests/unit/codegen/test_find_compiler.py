"""Which C compiler is taken, and what is said when there is none."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from metainfer.codegen.c import toolchain
from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.ir.diagnostics import DiagnosticError


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    return tmp_path


def _install(path: Path, name: str) -> None:
    (path / name).write_text("#!/bin/sh\n")
    (path / name).chmod(0o755)


def test_what_is_asked_for_comes_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, command in (("gcc", "gcc"), ("cc", "cc")):
        _install(path, name)
        assert find_compiler() == Compiler((command,))
    _install(path, "tcc")
    monkeypatch.setenv("CC", "tcc -b")
    assert find_compiler() == Compiler(("tcc", "-b"))
    assert find_compiler("gcc -m64") == Compiler(("gcc", "-m64"))


def test_a_compiler_that_is_named_but_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiagnosticError, match="C compiler 'icc -O9' is not on the PATH"):
        find_compiler("icc -O9")
    monkeypatch.setenv("CC", "tcc")
    with pytest.raises(DiagnosticError, match="C compiler 'tcc' is not on the PATH"):
        find_compiler()


def test_the_wheel_serves_where_the_system_has_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: ModuleSpec(name, None))
    assert find_compiler() == Compiler((sys.executable, "-m", "ziglang", "cc"))
    _install(path, "clang")
    assert find_compiler() == Compiler(("clang",))


def test_without_any_two_ways_are_named() -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_compiler()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help == "install one: apt-get install gcc; or: pip install ziglang"
