"""Which folders a build may replace."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from metainfer.driver.target import engine_target, writing
from metainfer.ir.diagnostics import DiagnosticError


def _refusal(out: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        engine_target(out)
    return caught.value.diagnostics[0].message


def test_what_may_be_written(tmp_path: Path) -> None:
    assert engine_target(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    (tmp_path / "empty").mkdir()
    assert engine_target(tmp_path / "empty") == tmp_path / "empty"
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "manifest.json").write_text("{}")
    assert engine_target(tmp_path / "engine") == tmp_path / "engine"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert engine_target(tmp_path / "link") == tmp_path / "real"


def test_what_may_not_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    assert "it is a file" in _refusal(tmp_path / "file")
    assert f"{tmp_path / 'file'} is no folder" in _refusal(tmp_path / "file" / "a")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "letter").write_text("")
    assert "a folder of other files" in _refusal(tmp_path / "docs")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for out in (Path("."), Path(".."), Path("/")):
        assert "holds the current folder" in _refusal(out)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    assert _refusal(tmp_path / ("x" * 300)).endswith("file name too long")


def test_only_failures_of_the_disk_are_the_users(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(DiagnosticError, match="cannot write out: no space left"),
        writing(Path("out")),
    ):
        raise full
    with pytest.raises(FileNotFoundError), writing(Path("out")):
        (tmp_path / "none").read_bytes()
