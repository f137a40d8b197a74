"""The layer lint: it passes on metainfer and fails on every kind of wrong import."""

from pathlib import Path

import pytest
from layers import LAYERS, violations

ROOT = Path(__file__).resolve().parents[2]


def test_metainfer_keeps_its_layers() -> None:
    assert violations(ROOT / "metainfer") == []


def test_every_package_of_metainfer_is_checked() -> None:
    packages = {path.parent.name for path in (ROOT / "metainfer").glob("*/__init__.py")}
    assert packages
    assert packages <= {name for line in LAYERS for name in line}


def tree(folder: Path, **files: str) -> Path:
    package = folder / "metainfer"
    base = {"ir/__init__": "", "passes/__init__": "", "files": "", "knowledge/__init__": ""}
    for name, text in (base | {k.replace("__in__", "/"): v for k, v in files.items()}).items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("ir__in__a", "from metainfer.passes.b import c"),
        ("ir__in__a", "import metainfer.passes"),
        ("ir__in__a", "from metainfer import passes"),
        ("ir__in__a", "from ..passes import b"),
        ("ir__in__a", "from .. import passes"),
        ("ir__in__a", "def f():\n    from metainfer.passes import b"),
        ("ir__in__a", "import importlib\nimportlib.import_module('metainfer.passes.b')"),
        ("files", "from metainfer.ir import a"),
        ("models__in__a", "from metainfer.knowledge import b"),
        ("unheard__in__a", "import json"),
        ("ir__in__a", "import metainfer.unheard"),
    ],
)
def test_wrong_imports_are_found(tmp_path: Path, module: str, text: str) -> None:
    found = violations(tree(tmp_path, **{module: text}))
    assert len(found) == 1
    assert f"{module.replace('__in__', '/')}.py:{1 + text.count(chr(10))}:" in found[0]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("passes__in__a", "from metainfer.ir.b import c\nfrom metainfer import files, ir"),
        ("passes__in__a", "from . import b\nfrom ..ir import d\nfrom metainfer.passes import e"),
        ("ir__in__a", "from metainfer.files import x\nimport metainfer\nimport numpy"),
        ("files", "from metainfer import __version__"),
    ],
)
def test_right_imports_pass(tmp_path: Path, module: str, text: str) -> None:
    assert violations(tree(tmp_path, **{module: text})) == []
