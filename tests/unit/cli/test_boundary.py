"""Exit codes and what is printed for each way a command can end."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metainfer.cli.boundary import (
    DONE,
    INTERNAL,
    INTERRUPTED,
    REJECTED,
    Reproducer,
    guarded,
)
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, error


def raising(problem: BaseException):  # type: ignore[no-untyped-def]
    def body() -> int:
        raise problem

    return body


@pytest.fixture
def crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_the_code_of_the_body_passes_through() -> None:
    assert guarded(lambda: DONE) == DONE
    assert guarded(lambda: 7) == 7


def test_every_diagnostic_is_rendered_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    problem = DiagnosticError(
        Diagnostic("first", Place("<stdin>", 2, 3, 2), help="try this"), Diagnostic("second")
    )
    assert guarded(raising(problem), sources={"<stdin>": "one\nabcdef\n"}) == REJECTED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "<stdin>:2:3: error: first",
        "   2 | abcdef",
        "     |   ^^",
        "help: try this",
        "error: second",
    ]


def test_a_place_in_a_file_shows_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.mlir"
    path.write_text("hello\n")
    assert guarded(raising(error("bad", Place(str(path), 1, 1, 5)))) == REJECTED
    assert "1 | hello" in capsys.readouterr().err


def test_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(KeyboardInterrupt())) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


def test_a_full_disk_is_not_our_bug(capsys: pytest.CaptureFixture[str], crashes: Path) -> None:
    problem = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out.bin")
    assert guarded(raising(problem)) == REJECTED
    assert capsys.readouterr().err == "error: out.bin: No space left on device\n"
    assert list(crashes.iterdir()) == []


def test_an_internal_error_leaves_a_report(
    capsys: pytest.CaptureFixture[str], crashes: Path
) -> None:
    assert guarded(raising(ValueError("odd\nmore"))) == INTERNAL
    (report,) = crashes.iterdir()
    err = capsys.readouterr().err
    assert err.startswith("internal error: ValueError: odd\n")
    assert str(report) in err
    assert "Traceback" not in err
    assert "Traceback" in report.read_text()


def test_the_reproducer_holds_the_input_and_the_command(
    capsys: pytest.CaptureFixture[str], crashes: Path
) -> None:
    found = Reproducer(".mlir", "the text\n", "metainfer-opt %s -p 'a,b'")
    code = guarded(raising(ValueError("odd")), reproducer=lambda: found, traceback=True)
    assert code == INTERNAL
    (report,) = crashes.glob("*.mlir")
    lines = report.read_text().splitlines()
    assert lines[0] == "// RUN: metainfer-opt %s -p 'a,b'"
    assert lines[-1] == "the text"
    assert all(line.startswith("//") for line in lines[:-1])
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert f"metainfer-opt {report} -p 'a,b'" in err


def test_a_reader_that_leaves_is_no_error() -> None:
    script = (
        "import sys\nfrom metainfer.cli.boundary import guarded\n"
        "sys.exit(guarded(lambda: print('x' * 1000000) or 0))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(1)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == REJECTED
