"""All-or-nothing writes, and what they must leave alone."""

from __future__ import annotations

import os
import threading

import pytest

from metainfer.files import atomic_dir, write_atomic


def test_write_replaces_a_file_whole(tmp_path):
    target = tmp_path / "a" / "x"
    write_atomic(target, "old")
    write_atomic(target, b"new")
    assert target.read_bytes() == b"new"
    assert [p.name for p in target.parent.iterdir()] == ["x"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_atomic(pipe, "through")
    reader.join(timeout=10)
    assert got == [b"through"]
    assert pipe.is_fifo()


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_failed_directory_leaves_the_old_one(tmp_path):
    target = tmp_path / "build"
    with atomic_dir(target) as fresh:
        (fresh / "x").write_text("old")
    with pytest.raises(RuntimeError), atomic_dir(target) as fresh:
        (fresh / "x").write_text("new")
        raise RuntimeError
    assert (target / "x").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["build"]
