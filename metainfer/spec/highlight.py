"""Which words of the language are shown alike, from the language table: for lexers and editors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from metainfer.ir.units import UNITS
from metainfer.spec.language import LOADS, SECTIONS
from metainfer.spec.measures import MEASURES
from metainfer.spec.vocabulary import REFERENCE, Key
from metainfer.spec.words import PATTERNS

DECLARATIONS = ("engine", "use")
CLAUSES = ("vs", "except")
OBJECTIVE = r"(?:(then)([ \t]+))?(min|max)"
"""Words that begin an objective; `min` is also a unit of time."""


def section_words() -> list[str]:
    """Words that open a section."""
    return sorted(SECTIONS)


def key_words() -> list[str]:
    """Words that a statement inside a section begins with."""
    keys = [key for section in SECTIONS.values() for key in section.keys.items()]
    options = [option for _, key in keys for option in key.options]
    return sorted({word for word, _ in keys} | set(options))


def value_words() -> list[str]:
    """Names that stand for a choice: values, operands, aspects."""
    found = {REFERENCE, *LOADS, *MEASURES}
    for section in SECTIONS.values():
        found |= {*section.operands}
        for key in section.keys.values():
            found |= _values(key)
    return sorted(found)


def _values(key: Key) -> set[str]:
    inner = [word for option in key.options.values() for word in option.words]
    return {*key.words, *key.exceptions, *inner}


def aspect_words() -> list[str]:
    """What follows a key after a point."""
    keys = [key for section in SECTIONS.values() for key in section.keys.values()]
    return sorted({aspect for key in keys for aspect in key.aspects})


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of `words`, longest first: none is taken for the head of another."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda w: (-len(w), w)))


def textmate_grammar() -> dict[str, Any]:
    """The grammar for editors that read TextMate's format, such as VS Code."""
    start = r"(?:^|(?<=[{;]))[ \t]*"
    sections, keys = any_of(section_words()), any_of(key_words())
    aspects, operands = any_of(aspect_words()), any_of(value_words())
    end = r"(?![A-Za-z0-9_./])"
    return {
        "$schema": (
            "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json"
        ),
        "name": "mispec",
        "scopeName": "source.mispec",
        "fileTypes": ["mispec"],
        "patterns": [
            {"name": "comment.line.double-slash.mispec", "match": PATTERNS["comment"]},
            {"name": "string.quoted.double.mispec", "match": PATTERNS["text"]},
            _starting(start + rf"(engine){end}(?:[ \t]+([A-Za-z_][A-Za-z0-9_]*))?",
                      "storage.type.mispec", "entity.name.class.mispec"),
            _starting(start + rf"(use){end}", "keyword.control.import.mispec"),
            _starting(start + rf"({sections}){end}", "keyword.other.section.mispec"),
            _starting(start + rf"({keys})(?:\.({aspects}))?{end}",
                      "variable.other.member.mispec", "constant.language.mispec"),
            {
                "match": start + OBJECTIVE + end,
                "captures": {
                    "1": {"name": "keyword.operator.word.mispec"},
                    "3": {"name": "keyword.operator.word.mispec"},
                },
            },
            {"name": "keyword.operator.word.mispec", "match": rf"\b({any_of(CLAUSES)}){end}"},
            {"name": "keyword.operator.mispec", "match": PATTERNS["operator"]},
            {"name": "constant.numeric.mispec", "match": PATTERNS["number"]},
            {"name": "support.type.unit.mispec", "match": rf"({any_of(UNITS)}){end}"},
            {"name": "constant.language.mispec", "match": rf"\b({operands}){end}"},
            {"name": "punctuation.separator.mispec", "match": r"[,;@{}]"},
        ],
    }  # fmt: skip


def _starting(pattern: str, *names: str) -> dict[str, Any]:
    captures = {str(number): {"name": name} for number, name in enumerate(names, 1)}
    return {"match": pattern, "captures": captures}


if __name__ == "__main__":
    import json

    print(json.dumps(textmate_grammar(), indent=2))
