"""What the project's own files promise each other."""

import importlib
import tomllib
from pathlib import Path

import pytest

from metainfer.resources import ckb_dir, specs_dir

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert "pytest" in command
    assert command in (ROOT / "README.md").read_text().splitlines()


@pytest.mark.parametrize("script", PROJECT["project"]["scripts"].values())
def test_scripts_exist(script: str) -> None:
    module, function = script.split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_the_wheel_takes_its_data_from_the_checkout() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert wheel == {"ckb": "metainfer/_data/ckb", "specs": "metainfer/_data/specs"}
    # A copy in the package would hide the checkout's own files from metainfer/resources.py.
    assert not (ROOT / "metainfer" / "_data").exists()
    assert (ckb_dir(), specs_dir()) == (ROOT / "ckb", ROOT / "specs")


def test_every_dependency_is_pinned_for_ci() -> None:
    pins = (ROOT / "constraints-ci.txt").read_text().lower().splitlines()
    assert all("==" in pin for pin in pins)
    pinned = {pin.split("==")[0] for pin in pins}
    extras = PROJECT["project"]["optional-dependencies"]
    own = {f"metainfer[{extra}]": extras[extra] for extra in extras}
    wanted = PROJECT["project"]["dependencies"] + extras["test"]
    flat = [name for entry in wanted for name in own.get(entry, [entry])]
    assert {name.split(">")[0].lower() for name in flat} <= pinned
