"""Plain `xdsl-opt` with our entry point: dialects, passes and specs."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tiny_pipeline import TinyLlama, write_model
from xdsl.utils.exceptions import ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from metainfer.ir.dialects.register import DIALECTS
from metainfer.passes.pipelines import PASSES

POINTS = (
    EntryPoint("xdsl", "xdsl.universe:XDSL_UNIVERSE", "xdsl.universe"),
    EntryPoint("metainfer", "metainfer.cli.universe:UNIVERSE", "xdsl.universe"),
)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: POINTS)


def _run(*arguments: object) -> None:
    xDSLOptMain(args=list(map(str, arguments))).run()


def test_everything_is_registered_once() -> None:
    tool = xDSLOptMain(args=[])
    assert set(DIALECTS) <= set(tool.ctx.registered_dialect_names)
    assert set(PASSES) <= set(tool.available_passes)


def test_a_spec_goes_through_our_passes(capsys: pytest.CaptureFixture[str]) -> None:
    _run(write_model(TinyLlama()), "-p", "resolve-model,expand-model")
    out = capsys.readouterr().out
    assert "func.func @layer(%x: tensor<?x96xf32, #infer.dims<tokens, _>>" in out
    assert 'infer.rope %q, %batch {head_dim = 16 : i64, pairing = "interleaved"' in out


def test_xdsl_passes_work_on_our_ops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.mlir"
    source.write_text(
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %b = infer.add %a, %a : tensor<4xf32>\n"
        "  %c = infer.add %a, %a : tensor<4xf32>\n"
        "  %d = infer.add %b, %c : tensor<4xf32>\n"
        "  func.return %d : tensor<4xf32>\n}\n"
    )
    _run(source, "-p", "cse")
    assert capsys.readouterr().out.count("infer.add") == 2


def test_an_error_in_a_spec_has_its_place(tmp_path: Path) -> None:
    spec = tmp_path / "a.mispec"
    spec.write_text('engine a {\n  modle "file:m.gguf"\n}\n')
    with pytest.raises(ParseError, match=r"a\.mispec:2:3"):
        _run(spec)
