"""`metainfer fmt`: what it changes, what it prints and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from metainfer.cli.fmt import register

UGLY = "engine x{ // why\n  workload{ context<=5 tokens }\n}"
NEAT = "engine x { // why\n  workload { context <= 5 tokens }\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ugly.mispec").write_text(UGLY)
    (tmp_path / "neat.mispec").write_text(NEAT)
    (tmp_path / "broken.mispec").write_text("engine x {")
    return tmp_path


def _run(*arguments: str, input: str | None = None) -> Result:
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["fmt", *arguments], input=input)


def test_files_are_laid_out_in_place(folder: Path) -> None:
    result = _run("ugly.mispec", "neat.mispec")
    assert (result.exit_code, result.stdout) == (0, "changed ugly.mispec\n")
    assert (folder / "ugly.mispec").read_text() == NEAT
    assert _run("ugly.mispec").stdout == ""


def test_check_changes_nothing_and_says_what_would_change(folder: Path) -> None:
    result = _run("--check", "ugly.mispec", "neat.mispec")
    assert (result.exit_code, result.stdout) == (1, "would change ugly.mispec\n")
    assert (folder / "ugly.mispec").read_text() == UGLY
    assert _run("--check", "neat.mispec").exit_code == 0


def test_a_file_that_cannot_be_read_leaves_the_others(folder: Path) -> None:
    result = _run("broken.mispec", "gone.mispec", "ugly.mispec")
    assert result.exit_code == 1
    assert "broken.mispec:1:10: error: expected '}' to close this block" in result.stderr
    assert "error: cannot read gone.mispec: no such file" in result.stderr
    assert (folder / "broken.mispec").read_text() == "engine x {"
    assert (folder / "ugly.mispec").read_text() == NEAT


def test_only_spec_files(folder: Path) -> None:
    (folder / "x.txt").write_text("engine   x { }")
    result = _run("x.txt")
    assert (result.exit_code, (folder / "x.txt").read_text()) == (1, "engine   x { }")
    assert "x.txt: expected a .mispec file" in result.stderr


def test_links_and_modes_stay(folder: Path) -> None:
    (folder / "ugly.mispec").chmod(0o600)
    (folder / "link.mispec").symlink_to("ugly.mispec")
    assert _run("link.mispec").stdout == "changed link.mispec\n"
    assert (folder / "link.mispec").is_symlink()
    assert (folder / "ugly.mispec").read_text() == NEAT
    assert (folder / "ugly.mispec").stat().st_mode & 0o777 == 0o600


def test_standard_input_goes_to_standard_output() -> None:
    assert _run("-", input=UGLY).stdout == NEAT
    refused = _run("-", input="engine x {\n}}")
    assert refused.exit_code == 1
    assert "<stdin>:2:2: error: expected a word, found '}'" in refused.stderr
    assert "   2 | }}" in refused.stderr
    checked = _run("--check", "-", input=UGLY)
    assert (checked.exit_code, checked.stdout) == (1, "would change <stdin>\n")


def test_the_canonical_form_resolves_what_is_used(folder: Path) -> None:
    (folder / "base.mispec").write_text("engine b { quantize { kv f16 } }")
    (folder / "top.mispec").write_text('use "base.mispec"\nengine t { target cpu\n{ threads 2 } }')
    result = _run("--canonical", "top.mispec")
    assert result.exit_code == 0
    head, body = result.stdout.split("\n", 1)
    assert head.startswith("// sha256:")
    assert body == "engine t {\n  target cpu { threads 2 }\n  quantize { kv f16 }\n}\n"
    (folder / "again.mispec").write_text(body)
    assert _run("--canonical", "again.mispec").stdout == result.stdout


def test_the_canonical_form_is_of_one_file_without_errors(folder: Path) -> None:
    assert _run("--canonical", "neat.mispec", "ugly.mispec").exit_code == 1
    assert _run("--canonical", "--check", "neat.mispec").exit_code == 1
    (folder / "wrong.mispec").write_text("engine x { nonsense }")
    result = _run("--canonical", "wrong.mispec")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "unknown section: 'nonsense'" in result.stderr


def test_laying_out_needs_no_compiler() -> None:
    script = "import sys, metainfer.spec.formatter, metainfer.spec.printer, metainfer.spec.uses\n"
    script += "print([name for name in ('xdsl', 'numpy', 'pydantic') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
