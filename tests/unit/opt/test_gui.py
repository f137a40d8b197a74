"""xDSL's terminal program with our dialects and passes, without a terminal."""

import asyncio
import sys
from pathlib import Path

import pytest
from opt_ir import ADD

from metainfer.cli import gui


def test_it_opens_our_ir_and_runs_our_passes(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    source = tmp_path / "in.mlir"
    source.write_text(ADD)
    app = gui.application(source, "fuse", {})

    async def look() -> tuple[str, str, set[str]]:
        async with app.run_test() as pilot:
            await pilot.pause()
            return (
                app.input_text_area.text,
                app.output_text_area.text,
                {n for n, _ in app.all_passes},
            )

    shown, output, passes = asyncio.run(look())
    assert "infer.add %a, %b" in shown
    assert "infer.add %a, %b" in output
    assert {"fuse", "canonicalize"} <= passes


def test_a_spec_is_shown_as_ir(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    spec = tmp_path / "a.mispec"
    spec.write_text('engine a {\n  model "file:m.gguf"\n}\n')
    assert "spec.engine @a" in gui.application(spec, "", {}).pre_loaded_input_text


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xdsl.interactive.app", None)
    assert gui.main([]) == 1
    assert "help: pip install 'metainfer[gui]'" in capsys.readouterr().err
