"""The generated pages are current and complete, and the examples in the op docs are IR."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.ir import Operation

from metainfer.cli.opt_arguments import argument_parser
from metainfer.driver.session import reading_context
from metainfer.ir.dialects.register import DIALECTS, dialect_factory
from metainfer.ir.roundtrip import check_round_trip
from metainfer.ir.text import parse_module
from metainfer.passes.pipelines import PASSES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def pages(generate: ModuleType) -> dict[str, str]:
    return generate.pages()


@pytest.mark.parametrize("name", ["metainfer-opt.md", "dialects.md", "passes.md"])
def test_a_page_is_current(name: str, pages: dict[str, str]) -> None:
    assert (DOCS / name).read_text() == pages[name], "run: python docs/generate.py"


def test_every_flag_is_shown_in_a_command() -> None:
    page = (DOCS / "metainfer-opt.md").read_text()
    commands = "\n".join(line for line in page.splitlines() if line.startswith("$ "))
    flags = {
        max(action.option_strings, key=len): action.option_strings
        for action in argument_parser()._actions
        if action.option_strings
    }
    hidden = [f for f, spellings in flags.items() if not any(_word(s, commands) for s in spellings)]
    assert hidden == []


def _word(flag: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){flag}(?![\w-])", text) is not None


def test_every_pass_and_op_has_its_section() -> None:
    passes, dialects = ((DOCS / n).read_text() for n in ("passes.md", "dialects.md"))
    assert all(f"\n## {name}\n" in passes for name in PASSES)
    assert all(f"\n## `{op.name}`\n" in dialects for op in _ops())


def test_every_pass_says_before_after_and_what_its_options_mean() -> None:
    sections = (DOCS / "passes.md").read_text().split("\n## ")[2:]
    assert len(sections) == len(PASSES)
    for section in sections:
        assert "before:" in section
        assert "after:" in section
        assert "|  |" not in section, section


def _ops() -> list[type[Operation]]:
    ours = [name for name, (module, _) in DIALECTS.items() if module.startswith("metainfer.")]
    return [op for name in ours for op in dialect_factory(name)().operations]


EXAMPLES = {
    op.name: found
    for op in _ops()
    if (found := re.findall(r"```mlir\n(.*?)```", inspect.getdoc(op) or "", re.DOTALL))
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_an_op_parse_and_survive_printing(name: str) -> None:
    ctx = reading_context()
    ctx.allow_unregistered = True  # for "test.values", which stands for what comes before
    for text in EXAMPLES[name]:
        module = parse_module(text, "example.mlir", ctx)
        assert any(op.name == name for op in module.walk())
        check_round_trip(module, ctx)
