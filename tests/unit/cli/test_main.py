"""The commands of `metainfer`: what they hand to the driver, what they print, how they end."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from metainfer.cli.main import main
from metainfer.cli.table import format_table
from metainfer.ir.diagnostics import Place, error

Run = Callable[..., int]


@dataclass(frozen=True)
class CompileOptions:
    ckb: Path | None = None
    start: Path | None = None
    cc: str | None = None
    strict: bool = False
    fetched: Callable[[int, int | None], None] | None = field(default=None, compare=False)


class Driver:
    """Stands for metainfer.driver: records the calls and gives simple answers."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.reason: str | None = "there is no engine yet"

    def why_stale(self, path: Path, out: Path, ckb: Path | None, cc: str | None) -> str | None:
        self.calls.append(("why_stale", path, out, ckb, cc))
        return self.reason

    def compile_spec(
        self, path: Path, out: Path, options: CompileOptions, report: Callable[[str], None]
    ) -> Path:
        self.calls.append(("compile", path, out, options))
        report("packing weights")
        if path.name == "bad.mispec":
            raise error("no", Place("bad.mispec", 1, 1))
        return out

    def run_engine(self, folder: Path, options: dict[str, object]) -> int:
        given = {n: v for n, v in options.items() if v is not None and v is not False}
        self.calls.append(("run", folder, given))
        return 5

    def check_engine(self, folder: Path) -> int:
        self.calls.append(("check", folder))
        return 1

    def worker(self, folder: Path, threads: int | None) -> int:
        self.calls.append(("worker", folder, threads))
        return 0

    def explain(self, path: Path, ckb: Path | None) -> list[dict[str, object]]:
        self.calls.append(("explain", path, ckb))
        return [{"site": "model", "value": "f32", "alternatives": ["f32", "bf16"], "because": None}]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    stand_in = Driver()
    for name, members in {
        "build": {"compile_spec": stand_in.compile_spec, "CompileOptions": CompileOptions},
        "fresh": {"why_stale": stand_in.why_stale},
        "engine": {
            "run_engine": stand_in.run_engine,
            "check_engine": stand_in.check_engine,
            "worker": stand_in.worker,
        },
        "explain": {"explain": stand_in.explain},
    }.items():
        module = ModuleType(f"metainfer.driver.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "metainfer.driver", ModuleType("metainfer.driver"))
    return stand_in


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["metainfer", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert isinstance(caught.value.code, int)
        return caught.value.code

    return call


def test_compile(driver: Driver, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", "a.mispec", "-o", "b", "--from", "c.mlir", "--ckb", "d", "--cc", "e") == 0
    options = CompileOptions(Path("d"), Path("c.mlir"), "e")
    assert driver.calls == [("compile", Path("a.mispec"), Path("b"), options)]
    assert capsys.readouterr() == ("b\n", "")


def test_stages_are_reported_when_asked_for(
    driver: Driver, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compile", "a.mispec", "-o", "b", "-v") == 0
    out, err = capsys.readouterr()
    assert out == "b\n"
    assert re.fullmatch(r"\[ +\d+\.\d s\] packing weights\n", err)
    assert run("compile", "a.mispec", "-o", "b", "-v", "-q") == 0
    assert capsys.readouterr().err == ""


def test_a_spec_that_is_refused(
    driver: Driver, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", "bad.mispec", "--prompt", "x") == 1
    assert "bad.mispec:1:1: error: no" in capsys.readouterr().err
    assert [call[0] for call in driver.calls] == ["why_stale", "compile"]


def test_run_hands_its_options_to_the_engine(driver: Driver, run: Run) -> None:
    sampling = ["--temperature", "0", "--top-k", "40", "--top-p", "0.9", "--seed", "7"]
    others = ["--raw", "--json", "--max-tokens", "8", "--threads", "2", "--system", "be brief"]
    stops = ["--stop", "\n", "--stop", "END"]
    assert run("run", "x/a.mispec", "--prompt", "-- hi", *sampling, *others, *stops) == 5
    assert driver.calls[0] == ("why_stale", Path("x/a.mispec"), Path("build/a"), None, None)
    assert driver.calls[1][:3] == ("compile", Path("x/a.mispec"), Path("build/a"))
    given = {
        "prompt": "-- hi",
        "temperature": 0.0,
        "top_k": 40,
        "top_p": 0.9,
        "seed": 7,
        "raw": True,
        "json": True,
        "max_tokens": 8,
        "threads": 2,
        "system": "be brief",
        "stop": ["\n", "END"],
    }
    assert driver.calls[2] == ("run", Path("build/a"), given)


def test_what_is_up_to_date_is_not_compiled(driver: Driver, run: Run) -> None:
    driver.reason = None
    assert run("run", "a.mispec", "--prompt", "", "-o", "there", "--ckb", "d", "--cc", "e") == 5
    assert driver.calls == [
        ("why_stale", Path("a.mispec"), Path("there"), Path("d"), "e"),
        ("run", Path("there"), {"prompt": ""}),
    ]


def test_check_and_worker(driver: Driver, run: Run) -> None:
    assert run("check", "b") == 1
    assert run("bench-worker", "b", "--threads", "1") == 0
    assert driver.calls == [("check", Path("b")), ("worker", Path("b"), 1)]


def test_explain(driver: Driver, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "a.mispec") == 0
    assert capsys.readouterr().out.splitlines() == [
        "site   value  alternatives  because",
        "model  f32    f32, bf16",
    ]
    assert run("explain", "a.mispec", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["alternatives"] == ["f32", "bf16"]


def test_pull_prints_the_path(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert run("pull", f"file:{tmp_path}/m.gguf") == 0
    assert capsys.readouterr() == (f"{tmp_path}/m.gguf\n", "")
    assert run("pull", f"file:{tmp_path}/m.gguf", "--sha256", "0" * 64) == 1
    assert run("pull", f"file:{tmp_path}/none.gguf") == 1


@pytest.mark.parametrize(
    "arguments",
    [["run", "a.mispec"], ["compile", "a.mispec"], ["fly"], ["run", "a", "--prompt", "b", "--x"]],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    assert run(*arguments) == 2


def test_a_table_of_nothing() -> None:
    assert format_table([]) == ""
