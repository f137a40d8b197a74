"""The engine's command line from ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metainfer.driver.engine import check_engine, engine_arguments, run_engine
from metainfer.ir.diagnostics import DiagnosticError

Calls = list[list[str]]


def _folder(path: Path, *features: str) -> Path:
    (path / "tiny").mkdir(exist_ok=True)
    (path / "tiny" / "engine.so").write_bytes(b"")
    (path / "manifest.json").write_text(json.dumps({"features": features}))
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    made: Calls = []
    monkeypatch.setattr("os.execve", lambda path, arguments, env: made.append(arguments))
    return made


def test_engine_arguments() -> None:
    options = {"a_b": 1, "c": True, "d": False, "e": None, "f": ["x", "y"], "g": [], "h": 0}
    assert engine_arguments(options) == ["--a-b=1", "--c", "--f=x", "--f=y", "--h=0"]


def test_options_of_features(tmp_path: Path, calls: Calls) -> None:
    folder = _folder(tmp_path, "chat", "temperature", "seed")
    run_engine(folder, {"prompt": "-p", "raw": True, "temperature": 0.0, "seed": 3, "top_k": None})
    command = [sys.executable, "-m", "tiny", "run"]
    assert calls == [[*command, "--prompt=-p", "--raw", "--temperature=0.0", "--seed=3"]]


def test_what_an_engine_does_anyway_is_not_asked_of_it(tmp_path: Path, calls: Calls) -> None:
    folder = _folder(tmp_path)
    run_engine(folder, {"prompt": "p", "raw": True, "system": None, "temperature": 0.0})
    assert calls == [[sys.executable, "-m", "tiny", "run", "--prompt=p"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.5}, "without --temperature"),
        ({"top_p": 1.0}, "without --top-p"),
        ({"seed": 0}, "without --seed"),
        ({"system": "s"}, "no chat template"),
    ],
)
def test_what_it_cannot_do(
    tmp_path: Path, calls: Calls, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DiagnosticError, match=message):
        run_engine(_folder(tmp_path), options)
    assert calls == []


def test_a_check_killed_by_a_signal(tmp_path: Path) -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    (_folder(tmp_path) / "check.py").write_text(script)
    assert check_engine(tmp_path) == 128 + 9
