"""What can be said about a pass: summary, precondition, options, before and after."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from dataclasses import dataclass

from xdsl.passes import ModulePass
from xdsl.utils.hints import type_repr


@dataclass(frozen=True)
class OptionInfo:
    """An option of a pass as pipeline text spells it."""

    name: str
    type: str
    default: str | None
    """Text of the default value; None where the option must be given."""
    help: str


@dataclass(frozen=True)
class PassInfo:
    """A pass for its reader."""

    name: str
    summary: str
    requires: str
    """The pass that must have run before, or nothing."""
    effect: str
    """The `before:` and `after:` of the pass, and what else its module says."""
    options: tuple[OptionInfo, ...]


def pass_info(pass_class: type[ModulePass]) -> PassInfo:
    """Everything that class, fields and module of a pass say about it."""
    text = inspect.getdoc(sys.modules[pass_class.__module__]) or ""
    return PassInfo(
        pass_class.name,
        getattr(pass_class, "summary", "") or _first_line(pass_class),
        getattr(pass_class, "requires", ""),
        text.partition("\n")[2].strip("\n") if "before:" in text else "",
        tuple(_options(pass_class)),
    )


def _first_line(pass_class: type[ModulePass]) -> str:
    return (inspect.getdoc(pass_class) or "").partition("\n")[0]


def _options(pass_class: type[ModulePass]) -> list[OptionInfo]:
    fields = [f for f in dataclasses.fields(pass_class) if f.init and f.name != "name"]
    helps = _field_docs(pass_class) if fields else {}
    return [
        OptionInfo(
            field.name.replace("_", "-"),
            field.type if isinstance(field.type, str) else type_repr(field.type),
            _default(field),
            helps.get(field.name, ""),
        )
        for field in fields
    ]


def _default(field: dataclasses.Field[object]) -> str | None:
    if field.default is dataclasses.MISSING:
        return None
    return "none" if field.default is None else str(field.default).lower()


def _field_docs(pass_class: type[ModulePass]) -> dict[str, str]:
    """The string under each field, which Python itself throws away."""
    try:
        source = textwrap.dedent(inspect.getsource(pass_class))
    except OSError:  # the class was made without a source file
        return {}
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    docs = {}
    for field, doc in zip(definition.body, definition.body[1:], strict=False):
        match field, doc:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
    return docs


def help_text(info: PassInfo) -> str:
    """All of it, for a terminal."""
    lines = [f"{info.name}: {info.summary}"]
    if info.requires:
        lines.append(f"  needs: {info.requires} before it")
    if info.effect:
        lines += ["", textwrap.indent(info.effect, "  ")]
    for option in info.options:
        default = "required" if option.default is None else f"default {option.default}"
        lines += ["", f"  {option.name}: {option.type} ({default})"]
        lines += [f"      {line}" for line in option.help.splitlines()]
    return "\n".join(lines)
