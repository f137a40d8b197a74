"""Prints the model-independent part of an engine: runtime C and Python, from the templates here.

What the spec does not ask for leaves no line behind. Templates hold whole-line conditions, in the
comment syntax of their language, and `${name}` substitutions::

    //% if top_k            #% if chat
    ...                     ...
    //% else                #% end
    ...
    //% end
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from importlib.resources import files

from metainfer.ir.diagnostics import did_you_mean, error

FEATURES = frozenset({"temperature", "top_k", "top_p", "seed", "chat"})
WEIGHTS_HEADER_BYTES = 4096

_PACKAGE_FILES = (
    "__init__.py",
    "__main__.py",
    "binding.py",
    "pool.c",
    "runtime.c",
    "runtime.h",
    "sampler.c",
    "text.py",
    "weights.c",
)
_TEMPLATE_WORDS = ("bos_token", "eos_token", "raise_exception", "strftime_now", "tojson")
_DIRECTIVE = re.compile(r"\s*(?://|#)% *(if|else|end) *(\w*)$")
_SUBSTITUTION = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class HostFacts:
    """All that the host code depends on, beside the constants of `engine.h`.

    `features` are words of `FEATURES`. `bos_id` is the token that begins every text, None when the
    tokenizer adds none. The chat template, with the special tokens it may mention, is needed by
    the feature `chat` alone; what the template does not mention is not emitted for it either.
    """

    name: str
    features: Set[str]
    bos_id: int | None = None
    chat_template: str | None = None
    bos_token: str = ""
    eos_token: str = ""
    ring: bool = False
    """Whether states forget: `engine.h` has `MI_RING` and `MI_WINDOW`."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise error(f"engine name '{self.name}' is not an identifier")
        if keyword.iskeyword(self.name):
            raise error(f"engine name '{self.name}' is a word of Python")
        for word in sorted(set(self.features) - FEATURES):
            raise error(f"the host has no feature '{word}'", help=did_you_mean(word, FEATURES))
        for word in ("top_k", "top_p", "seed"):
            if word in self.features and "temperature" not in self.features:
                raise error(f"sampling '{word}' means nothing without 'temperature'")
        if "chat" in self.features and self.chat_template is None:
            raise error("chat is asked for, but the model has no chat template")


def weights_header(weights_id: str) -> bytes:
    """The first `WEIGHTS_HEADER_BYTES` of `weights.bin`; `weights_id` is `MI_WEIGHTS_ID`."""
    if not re.fullmatch(r"[0-9a-f]{64}", weights_id):
        raise ValueError(f"not a SHA-256 in hex: {weights_id!r}")
    return f"MIWEIGHT{weights_id}".encode().ljust(WEIGHTS_HEADER_BYTES, b"\0")


def emit_host(facts: HostFacts) -> dict[str, str]:
    """The text of each host file by its path below the build folder.

    The package is `<name>/`; its `engine.h`, `model.c`, `kernels.c` and `tokenizer.json` come
    from elsewhere. `check.py` lies beside it.
    """
    names = {f"{facts.name}/{name}": name for name in _PACKAGE_FILES}
    names["check.py"] = "check.py"
    if "chat" in facts.features:
        names[f"{facts.name}/chat.py"] = "chat.py"
    flags = set(facts.features) | ({"bos"} if facts.bos_id is not None else set())
    flags |= {"ring"} if facts.ring else set()
    flags |= {word for word in _TEMPLATE_WORDS if word in (facts.chat_template or "")}
    words = {
        "name": facts.name,
        "bos_id": str(facts.bos_id),
        "bos_token": json.dumps(facts.bos_token, ensure_ascii=False),
        "eos_token": json.dumps(facts.eos_token, ensure_ascii=False),
    }
    folder = files(__package__) / "templates"
    out = {
        path: expand((folder / f"{name}.in").read_text(encoding="utf-8"), flags, words)
        for path, name in sorted(names.items())
    }
    if "chat" in facts.features:
        out[f"{facts.name}/chat_template.jinja"] = facts.chat_template or ""
    return out


def expand(template: str, flags: Set[str], words: Mapping[str, str]) -> str:
    """`template` with the lines whose conditions hold under `flags`, and `words` filled in."""
    text = "\n".join(_kept_lines(template.splitlines(), flags)) + "\n"
    return _SUBSTITUTION.sub(lambda match: words[match[1]], text)


def _kept_lines(lines: list[str], flags: Set[str]) -> Iterator[str]:
    """Before: `if f`, a, `else`, b, `end`. After: a when f is in `flags`, else b. They nest."""
    holds: list[bool] = []
    for line in lines:
        directive = _DIRECTIVE.match(line)
        if not directive:
            if all(holds):
                yield line
        elif directive[1] == "if":
            holds.append(directive[2] in flags)
        elif directive[1] == "else":
            holds[-1] = not holds[-1]
        else:
            holds.pop()
    if holds:
        raise ValueError("a condition of the template has no end")
