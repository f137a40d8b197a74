"""The language reference: its tables are current and its examples are what it says they are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from metainfer.spec.formatter import format_text
from metainfer.spec.language import SECTIONS
from metainfer.spec.reading import read_spec

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```mispec\n(.*?)```", PAGE, re.S)
REFUSED = re.findall(r"```mispec refused\n(.*?)```", PAGE, re.S)


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("language_page", DOCS / "language.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current() -> None:
    # To renew it: python docs/generate.py
    assert _generator().language_page(PAGE) == PAGE


def test_every_section_and_key_has_its_row() -> None:
    for name, section in SECTIONS.items():
        assert re.search(rf"^### `{name}\b", PAGE, re.M), name
        for word in section.keys:
            assert re.search(rf"^\| `{word}\b", PAGE, re.M), word


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_valid_and_formatted(example: str) -> None:
    whole = example.startswith(("engine", "use"))
    text = example if whole else f"engine x {{\n{example}}}\n"
    assert read_spec(text, "x.mispec").problems == ()
    assert format_text(example, "x.mispec") == example


def test_refused_examples_are_refused() -> None:
    generator = _generator()
    assert len(REFUSED) == 2
    for example in REFUSED:
        assert len(generator.problems_of(example)) >= 2
        assert generator.answer_to(example) in PAGE
