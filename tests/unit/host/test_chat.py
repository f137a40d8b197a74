"""The emitted chat module: what templates may use, and that they cannot do harm."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from metainfer.codegen.host.emit import HostFacts, emit_host

MESSAGES = [{"role": "user", "content": "<h\u00e9>"}]


def chat(folder: Path, template: str) -> Any:
    """The chat module of an engine with this template."""
    name = f"chat_{abs(hash((str(folder), template)))}"
    facts = HostFacts(name, frozenset({"chat"}), None, template, "<\"b'>", "</e>")
    for path, text in emit_host(facts).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.chat")
    finally:
        sys.path.remove(str(folder))


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{ bos_token }}|{{ eos_token }}", "<\"b'>|</e>"),
        ("{{ messages[0] | tojson }}", '{"role": "user", "content": "<h\u00e9>"}'),
        ("{% if add_generation_prompt %}go{% endif %}", "go"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("  {% if true %}\n{{ messages[0].content }}\n  {% endif %}\n", "<h\u00e9>\n"),
        ("{{ strftime_now('%Y') }}", time.strftime("%Y")),
    ],
)
def test_templates_render(tmp_path: Path, template: str, rendered: str) -> None:
    assert chat(tmp_path, template).render(MESSAGES) == rendered


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('roles must alternate') }}", "refuses: roles must alternate"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% for i in range(100000000) %}{% endfor %}", "fails"),
        ("{{ 1 / 0 }}", "fails"),
        ("{{ nothing.at.all }}", "fails"),
        ("{% if %}", "fails"),
    ],
)
def test_a_template_that_fails_is_one_error(tmp_path: Path, template: str, message: str) -> None:
    module = chat(tmp_path, template)
    with pytest.raises(module.EngineError, match=message):
        module.render(MESSAGES)
