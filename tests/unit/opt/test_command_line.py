"""Flags of `metainfer-opt` that dumps, modes and documentation leave open."""

from pathlib import Path

import pytest
from opt_ir import ADD

from metainfer.cli.opt import main
from metainfer.cli.opt_arguments import argument_parser, mlir_spelling
from metainfer.cli.opt_plugin import load_plugin
from metainfer.ir.diagnostics import DiagnosticError

PLUGIN = Path(__file__).parents[2] / "filecheck" / "opt" / "Inputs" / "broken.py"


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(ADD)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("--mlir-print-ir-after-all", "--print-ir-after-all"),
        ("--mlir-timing", "--timing"),
        ("--mlir-pass-statistics", "--statistics"),
        ("--mlir-pass-pipeline-crash-reproducer=x.mlir", "--crash-reproducer=x.mlir"),
        ("--mlir-print-debuginfo", "--print-debuginfo"),
        ("--verify-each", "--verify-each=1"),
        ("--mlir-in-a-value", "--in-a-value"),
        ("mlir-file.mlir", "mlir-file.mlir"),
        ("-p", "-p"),
    ],
)
def test_spellings_of_mlir_opt(theirs: str, ours: str) -> None:
    assert mlir_spelling(theirs) == ours


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "f"],
        ["--verify-each=2"],
        ["--rewrite-limit=-1"],
        ["--mode", "fast"],
        ["--dim", "tokens"],
        ["--run", "@"],
        ["--equiv", "a.mlir"],
        ["--print-ir-aft"],
    ],
)
def test_values_of_a_wrong_form_are_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        argument_parser().parse_args(arguments)
    assert caught.value.code == 2


def test_a_plugin_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    for name, text, message in [
        ("none.py", None, "no such file"),
        ("empty.py", "", "it lists no passes"),
        ("wrong.py", "PASSES = [int]", "it lists no passes"),
        ("words.txt", "PASSES = []", "no Python file"),
    ]:
        if text is not None:
            Path(name).write_text(text)
        with pytest.raises(DiagnosticError, match=message):
            load_plugin(Path(name))


def test_a_plugin_that_raises_is_an_internal_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raise.py").write_text("1 / 0")
    assert main(["in.mlir", "--load-pass-plugin", "raise.py", "-p", "x"]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_internal_error_leaves_a_file_that_runs_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    flags = ["--load-pass-plugin", str(PLUGIN)]
    assert main(["in.mlir", *flags, "-p", "raise", "--verify-roundtrip"]) == 3
    (report,) = tmp_path.glob("metainfer-crash-*.mlir")
    assert "-p raise --verify-roundtrip" in report.read_text().splitlines()[0]
    capsys.readouterr()
    assert main(["--run-reproducer", str(report), *flags]) == 3
    assert "IndexError: no such thing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flag", ["-o stolen.mlir", "--load-pass-plugin evil.py", "--crash-reproducer=x", "--cc ./evil"]
)
def test_a_reproducer_may_not_write_or_run_anything(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("r.mlir").write_text(f"// RUN: metainfer-opt %s -p fuse {flag}\n{ADD}")
    assert main(["--run-reproducer", "r.mlir"]) == 1
    name = flag.partition(" ")[0].partition("=")[0]
    assert f"r.mlir:1:1: error: a reproducer may not use {name}" in capsys.readouterr().err
    assert sorted(p.name for p in Path().iterdir()) == ["in.mlir", "r.mlir"]


def test_what_a_reproducer_says_is_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.mlir").write_text(f"// RUN: metainfer-opt %s -p fuze --verify-each=0\n{ADD}")
    assert main(["--run-reproducer", "r.mlir"]) == 1
    assert "unknown pass 'fuze'" in capsys.readouterr().err
    assert main(["--run-reproducer", "in.mlir"]) == 1
    assert "in.mlir is no reproducer" in capsys.readouterr().err


def test_good_parts_of_a_split_input_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("parts.mlir").write_text(f"{ADD}// -----\n{ADD}// -----\nfunc.funk\n")
    assert main(["parts.mlir", "--split-input-file", "-o", "out.mlir"]) == 1
    assert Path("out.mlir").read_text().split("// -----\n")[0].startswith("builtin.module")
    assert Path("out.mlir").read_text().count("// -----") == 1
    assert "parts.mlir:13:1: error: unknown operation 'func.funk'" in capsys.readouterr().err
    assert main(["out.mlir", "--split-input-file"]) == 0


def test_unverified_ir_passes_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.mlir").write_text(
        'func.func @f(%a: i32) -> i32 {\n  %b = "arith.addi"(%c, %a) : (i32, i32) -> i32\n'
        '  %c = "arith.addi"(%a, %a) : (i32, i32) -> i32\n  func.return %b : i32\n}\n'
    )
    assert main(["bad.mlir"]) == 1
    assert main(["bad.mlir", "--verify-each"]) == 1
    assert main(["bad.mlir", "--verify-each=0"]) == 0


@pytest.mark.parametrize("mode", ["--bisect-passes", "--reduce"])
def test_a_command_that_cannot_be_run_is_no_verdict(
    mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["in.mlir", mode, "--check-command", "no-such-program %s"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error: cannot run the check's command 'no-such-program %s'" in err


def test_bisection_of_an_input_that_is_bad_already(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["in.mlir", "--bisect-passes", "--check-command", "false"]) == 1
    assert capsys.readouterr().out.startswith("the input fails before any pass\nerror: the check's")


def test_a_command_judges_the_text_of_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    command = "! grep -q infer.add %s"
    assert main(["in.mlir", "--reduce", "--check-command", command]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("4 ops reduced to 3 in ")
    assert out.count("= infer.add") == 1
    assert f"// checked by: {command}" in out
