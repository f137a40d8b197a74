"""The guides do what they show: files are written, commands run, outputs compared."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
Page = Callable[[str], str]
GUIDES = sorted((DOCS / "guides").glob("*.md"))


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """`console.py` and `shell.py` of the docs, which are no package."""
    before, found = list(sys.path), {}
    sys.path.insert(0, str(DOCS))
    for name in ("shell", "console"):
        spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
        assert spec is not None and spec.loader is not None
        found[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    sys.path[:] = before
    yield found


def test_there_are_guides() -> None:
    assert [path.stem for path in GUIDES] == ["write-a-backend", "write-a-contract", "write-a-pass"]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_a_guide_is_current(path: Path, modules: dict[str, ModuleType]) -> None:
    page = path.read_text(encoding="utf-8")
    shown = modules["console"].with_output(page, DOCS / "examples")
    assert page == shown, "run: python docs/generate.py"
    assert "Traceback" not in shown


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_its_python_is_formatted(path: Path, modules: dict[str, ModuleType]) -> None:
    files = modules["console"].files_of(path.read_text(encoding="utf-8"))
    for name in (name for name in files if name.endswith(".py")):
        for command in (["check", "--quiet"], ["format", "--check"]):
            done = subprocess.run(
                [sys.executable, "-m", "ruff", *command, "--stdin-filename", f"docs/{name}", "-"],
                input=files[name],
                capture_output=True,
                text=True,
                cwd=ROOT,
            )
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_its_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


# === The shell of the pages ===


@pytest.fixture
def page(tmp_path: Path, modules: dict[str, ModuleType]) -> Page:
    """What a page shows in the end, among no examples."""
    return lambda text: modules["console"].with_output(text, tmp_path)


def console(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("```console", *lines, "```"))


def test_files_come_before_the_commands_below_them(page: Page) -> None:
    first, second = "```text a/b.txt\none\n```\n", "```text a/b.txt\ntwo\n```\n"
    text = first + console("$ cat a/b.txt", "stale") + second + console("$ cat a/b.txt")
    assert page(text) == first + console("$ cat a/b.txt", "one") + second + console(
        "$ cat a/b.txt", "two"
    )


def test_a_filter_sees_standard_error_only_if_told(page: Page) -> None:
    script = "```python s.py\nimport sys\n\nprint('a x')\nprint('b y', file=sys.stderr)\n```\n"
    plain, both = "$ python s.py | grep x", "$ python s.py 2>&1 | grep x"
    assert page(script + console(plain)) == script + console(plain, "b y", "a x")
    assert page(script + console(both)) == script + console(both, "a x")


def test_sed_reads_its_pattern_as_sed_does(page: Page) -> None:
    file = "```text t\nf(a * b) f(a * b)\n```\n"
    command = r"$ sed -i 's|f(a \* b)|a + b|' t"
    text = file + console(command, "$ cat t")
    assert page(text) == file + console(command, "$ cat t", "a + b f(a * b)")
    with pytest.raises(ValueError, match="nothing in t is like z"):
        page(file + console("$ sed -i s/z/y/ t"))


def test_a_failed_expectation_fails_the_page(page: Page) -> None:
    files = "```text t\none\n```\n```text e\n// CHECK: WORD\n```\n"
    kept = files.replace("WORD", "one") + console("$ cat t | filecheck e")
    assert page(kept) == kept
    with pytest.raises(ValueError, match="e expects another text"):
        page(kept.replace("CHECK: one", "CHECK: two"))


def test_what_a_page_does_leaves_no_trace(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("METAINFER_CACHE", raising=False)
    before = Path.cwd(), list(sys.path), sys.dont_write_bytecode
    (tmp_path / "mine.py").write_text("x = 1\n")
    with modules["shell"].workplace(tmp_path) as folder:
        assert Path.cwd() == folder.resolve()
        importlib.import_module("mine")
    assert (Path.cwd(), sys.path, sys.dont_write_bytecode) == before
    assert "mine" not in sys.modules and not folder.exists()
