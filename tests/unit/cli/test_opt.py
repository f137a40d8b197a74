"""`metainfer-opt` as a process would see it: arguments in, text and exit code out."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from metainfer.cli.opt import main
from metainfer.ir.diagnostics import error
from metainfer.ir.text import place_of

IR = 'func.func @f(%x: i32) -> i32 {\n  func.return %x : i32 loc("a.mispec":1:2)\n}\n'
PRINTED = """\
builtin.module {
  func.func @f(%x: i32) -> i32 {
    func.return %x : i32
  }
}
"""


@dataclass(frozen=True)
class Tag(ModulePass):
    name = "tag"
    summary = "writes an attribute"

    text: str = "t"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes[self.text] = StringAttr("seen")


@dataclass(frozen=True)
class Refuse(ModulePass):
    name = "refuse"
    summary = "refuses everything"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise error("not this", place_of(next(iter(op.ops))))


@dataclass(frozen=True)
class Crash(ModulePass):
    name = "crash"
    summary = "has a bug"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise IndexError("oops")


@dataclass(frozen=True)
class Wait(ModulePass):
    name = "wait"
    summary = "is interrupted"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = {p.name: lambda p=p: p for p in (Tag, Refuse, Crash, Wait)}
    monkeypatch.setattr("metainfer.passes.pipelines.PASSES", table)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "in.mlir").write_text(IR)
    return "in.mlir"


def test_ir_is_printed_as_it_came(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source]) == 0
    assert capsys.readouterr() == (PRINTED, "")


def test_standard_input_is_the_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(IR.encode())))
    assert main([]) == 0
    assert capsys.readouterr() == (PRINTED, "")


def test_an_error_in_standard_input_shows_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"func.funk @f()\n")))
    assert main(["-"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "<stdin>:1:1: error: unknown operation 'func.funk'",
        "   1 | func.funk @f()",
        "     | ^^^^^^^^^",
        "help: did you mean 'func.func'?",
    ]


def test_forms_and_locations(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, "--print-op-generic", "--print-debuginfo"]) == 0
    out = capsys.readouterr().out
    assert '"func.return"(%x) : (i32) -> () loc("a.mispec":1:2)' in out
    assert 'loc("in.mlir":1:1)' in out


def test_passes_run_in_order_and_print_to_a_file(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([source, "-p", "tag,tag{text=u}", "-o", "out.mlir"]) == 0
    assert capsys.readouterr() == ("", "")
    text = (tmp_path / "out.mlir").read_text()
    assert text.startswith('builtin.module attributes {t = "seen", u = "seen"} {')
    assert main(["out.mlir"]) == 0
    assert capsys.readouterr().out == text


def test_a_spec_is_read_by_its_frontend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mispec").write_text('engine a {\n  model "file:m.gguf"\n}\n')
    assert main(["a.mispec"]) == 0
    assert "spec.engine @a {" in capsys.readouterr().out


def test_a_pass_that_refuses(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, "-p", "refuse", "-o", "out.mlir"]) == 1
    assert capsys.readouterr().err.startswith("in.mlir:1:1: error: not this\n   1 | func.func @f")
    assert not Path("out.mlir").exists()


def test_an_error_in_the_pipeline(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, "-p", "tag,tagg"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "<passes>:1:5: error: unknown pass 'tagg'",
        "   1 | tag,tagg",
        "     |     ^^^^",
        "help: did you mean 'tag'?",
    ]


def test_a_pass_that_crashes_leaves_a_reproducer(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([source, "-p", "tag{text=u},crash"]) == 3
    err = capsys.readouterr().err
    assert "IndexError: oops" in err
    assert "Traceback" in err
    (report,) = tmp_path.glob("metainfer-crash-*.mlir")
    assert f"metainfer-opt {report} -p 'tag{{text=u}},crash'" in err
    assert report.read_text().endswith(IR)
    assert main([str(report), "-p", "crash"]) == 3


def test_an_interrupted_pass(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, "-p", "wait", "-o", "out.mlir"]) == 130
    assert not Path("out.mlir").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.mlir"], "cannot read none.mlir: no such file"),
        (["none.txt"], "none.txt: expected a .mispec or .mlir file"),
        (["binary.mlir"], "binary.mlir:2:3: error: this byte is not UTF-8 text"),
        (["empty.mlir"], "empty.mlir:1:1: error: the input is empty"),
        (["in.mlir", "-o", "in.mlir/x"], "cannot write in.mlir/x"),
        (["in.mlir", "--ckb", "nowhere"], "--ckb nowhere: no such folder"),
    ],
)
def test_what_cannot_be_read_or_written(
    arguments: list[str], message: str, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("binary.mlir").write_bytes(b"ab\ncd\xff")
    Path("empty.mlir").write_text("\n")
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--print-op-genric"])
    assert caught.value.code == 2


def test_the_list_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-passes"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "]
    assert names == ["tag", "refuse", "crash", "wait"]
