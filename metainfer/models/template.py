"""Chat templates: Jinja text from model files, run in a sandbox.

A template is a program from outside. It runs in Jinja's immutable sandbox (no attribute that leads
out, no change of its arguments), cannot compute huge numbers or repeat text without bound, and its
output is limited. What goes wrong in it is the file's or the messages' fault and becomes a
`DiagnosticError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from metainfer.ir.diagnostics import DiagnosticError, error
from metainfer.models.gguf import Value

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

Message = Mapping[str, Any]
"""One message of a chat: `{"role": "user", "content": "..."}`, and what else a template reads."""

_KEY = "tokenizer.chat_template"
_MAX_OUTPUT = 16 << 20
_MAX_REPEAT = 1 << 16
_PROBE: tuple[Message, ...] = ({"role": "user", "content": "Hello"},)


def chat_template(metadata: Mapping[str, Value]) -> str | None:
    """The template text of a model file, checked by a trial run; None when it has none."""
    source = metadata.get(_KEY)
    if source is None:
        return None
    if not isinstance(source, str):
        raise error(f"'{_KEY}' is not a text")
    render_chat(source, _PROBE, add_generation_prompt=True, bos_token="", eos_token="")
    return source


def compile_template(source: str) -> Template:
    """Compile a template in the sandbox; a syntax error names its line."""
    from jinja2 import TemplateSyntaxError

    try:
        return _environment().from_string(source)
    except TemplateSyntaxError as problem:
        raise error(f"chat template, line {problem.lineno}: {problem.message}") from None
    except RecursionError:
        raise error("the chat template is nested too deeply") from None


def render_chat(
    template: str | Template,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool,
    bos_token: str,
    eos_token: str,
) -> str:
    """The text of a chat, to be encoded with special tokens recognised.

    Raises `DiagnosticError` for a template that does not compile, does what the sandbox forbids,
    refuses the messages (`raise_exception`), or fails in any other way.
    """
    compiled = compile_template(template) if isinstance(template, str) else template
    out: list[str] = []
    size = 0
    try:
        for part in compiled.generate(
            messages=list(messages),
            add_generation_prompt=add_generation_prompt,
            bos_token=bos_token,
            eos_token=eos_token,
        ):
            size += len(part)
            if size > _MAX_OUTPUT:
                raise error(f"the chat template wrote more than {_MAX_OUTPUT:,} characters")
            out.append(part)
    except DiagnosticError:
        raise
    except Exception as problem:  # the template is a foreign program: it may raise anything
        raise _failure(problem) from None
    return "".join(out)


def _failure(problem: Exception) -> DiagnosticError:
    from jinja2.exceptions import SecurityError, TemplateError

    if isinstance(problem, SecurityError):
        return error(f"the chat template does something that is not allowed: {problem}")
    if isinstance(problem, TemplateError):
        return error(f"the chat template cannot render these messages: {problem}")
    return error(f"the chat template fails: {type(problem).__name__}: {problem}")


def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2.exceptions import SecurityError, TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        # Intercepted operators are not folded while compiling either.
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            numbers = isinstance(left, int | float) and isinstance(right, int | float)
            small = numbers and abs(left) <= _MAX_REPEAT and abs(right) <= _MAX_REPEAT
            if not small or (operator == "**" and abs(right) > 16):
                raise SecurityError(f"operator {operator} on a text, a list or a large number")
            return super().call_binop(context, operator, left, right)

        def unsafe_undefined(self, obj: Any, attribute: str) -> NoReturn:
            # Jinja's own answer prints as nothing; here the access itself is the error.
            raise SecurityError(f"access to '{attribute}' of a {type(obj).__name__}")

    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    environment = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = _strftime_now
    environment.filters["tojson"] = _tojson
    return environment


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _tojson(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
