"""Chat templates: what they render, what they can reach, and how they fail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import pytest

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.template import Message, chat_template, compile_template, render_chat

USER: Message = {"role": "user", "content": "Hi"}
CHATML = """{% for message in messages %}
    {% if loop.first and message['role'] != 'system' %}
{{ '<|im_start|>system\\nBe kind<|im_end|>\\n' }}
    {%- endif %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}"""


def _render(template: str, *messages: Message, prompt: bool = True) -> str:
    return render_chat(
        template, messages, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>"
    )


def _failure(template: str, messages: Sequence[Message] = (USER,)) -> str:
    with pytest.raises(DiagnosticError) as caught:
        _render(template, *messages)
    return str(caught.value)


def test_chatml() -> None:
    answer = {"role": "assistant", "content": "Yes?"}
    turns = "<|im_start|>system\nBe kind<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
    assert _render(CHATML, USER) == turns + "<|im_start|>assistant\n"
    assert _render(CHATML, USER, answer, prompt=False) == (
        turns + "<|im_start|>assistant\nYes?<|im_end|>\n"
    )


def test_a_compiled_template_renders_the_same() -> None:
    rendered = render_chat(
        compile_template(CHATML), [USER], add_generation_prompt=True, bos_token="", eos_token=""
    )
    assert rendered == _render(CHATML, USER)


def test_what_templates_may_use() -> None:
    assert _render("{{ bos_token }}{{ eos_token }}") == "<s></s>"
    assert _render("{{ messages | tojson }}", {"role": "user", "content": "ü<'"}) == (
        '[{"role": "user", "content": "ü<\'"}]'
    )
    assert _render("{{ {'a': 1} | tojson(indent=1) }}") == '{\n "a": 1\n}'
    loop = "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i * 2 }}{% endfor %}"
    assert _render(loop) == "02"
    year = str(datetime.now().year)
    assert re.fullmatch(r"\d{4}", _render("{{ strftime_now('%Y') }}"))
    assert _render("{{ strftime_now('%Y') }}") >= year
    assert _render("{{ tools is defined }}") == "False"


@pytest.mark.parametrize(
    ("template", "line"),
    [("{% for x in y %}", 1), ("a\n{{ x", 2), ("\n\n{% generation %}", 3), ("{{ 'a' | no }}", 1)],
)
def test_syntax_errors_name_the_line(template: str, line: int) -> None:
    assert f"chat template, line {line}: " in _failure(template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__ }}",
        "{{ raise_exception.__globals__['x'] }}",
        "{{ messages.append(1) }}",
        "{{ '{0.__class__.__base__}'.format(messages) }}",
        "{{ 'a' * 100000000000 }}",
        "{{ [1] * 100000000000 }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ 2 ** 100000 }}",
    ],
)
def test_what_the_sandbox_forbids(template: str) -> None:
    assert "not allowed" in _failure(template)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('roles must alternate') }}", "cannot render these messages: roles"),
        ("{{ missing.field }}", "cannot render these messages: 'missing' is undefined"),
        ("{{ 1 / 0 }}", "fails: ZeroDivisionError"),
        ("{{ 'a' + 1 }}", "fails: TypeError"),
        ("{{ range(100000000) }}", "fails: OverflowError"),
        ("{% include 'x' %}", "fails: TypeError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails: RecursionError"),
        ("{% for i in range(60000) %}{{ '%1000d' % i }}{% endfor %}", "wrote more than 16,777,216"),
    ],
)
def test_failing_templates(template: str, message: str) -> None:
    assert message in _failure(template)


def test_deep_nesting_is_an_error() -> None:
    assert "nested too deeply" in _failure("{{" + "(" * 100_000 + "1" + ")" * 100_000 + "}}")


def test_the_template_of_a_model_file() -> None:
    key = "tokenizer.chat_template"
    assert chat_template({}) is None
    assert chat_template({key: CHATML}) == CHATML
    for wrong, message in [(7, "is not a text"), ("{{ x", "line 1"), ("{{ x.y }}", "undefined")]:
        with pytest.raises(DiagnosticError, match=message):
            chat_template({key: wrong})
