"""Start-up imports and the cost of reading IR, held by what does not depend on the machine."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = ("numpy", "pydantic", "lark", "rich", "typer", "jinja2", "tokenizers", "yaml")


def test_reading_and_printing_ir_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "empty.mlir").write_text("builtin.module {}\n")
    script = (
        "import sys; from metainfer.cli.opt import main; code = main(['empty.mlir']); "
        f"print([n for n in {HEAVY!r} if n in sys.modules], code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "builtin.module {\n}\n[] 0\n"


@pytest.fixture
def ir_speed() -> ModuleType:
    path = ROOT / "benchmarks" / "ir_speed.py"
    spec = importlib.util.spec_from_file_location("benchmark_ir_speed", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_our_parser_verifier_and_printer_against_xdsl(ir_speed: ModuleType) -> None:
    found = ir_speed.measure(1000, 3, None)
    ours, theirs = (sum(found[name].values()) for name in ("metainfer", "xdsl"))
    assert ours <= 1.2 * theirs, ir_speed.table(found, 1000)
