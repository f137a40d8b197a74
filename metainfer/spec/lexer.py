"""`.mispec` for Pygments: coloured listings in documents and terminals."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, default
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Token,
)

from metainfer.ir.units import UNITS
from metainfer.spec.highlight import (
    CLAUSES,
    OBJECTIVE,
    any_of,
    aspect_words,
    key_words,
    section_words,
    value_words,
)
from metainfer.spec.words import PATTERNS

_END = r"(?![A-Za-z0-9_./])"
_ASPECT = rf"(?:(\.)({any_of(aspect_words())}))?"

# The stubs leave this function without types.
_NAMED = bygroups(Keyword.Declaration, Text, Name.Class)  # type: ignore[no-untyped-call]
_OBJECTIVE = bygroups(Operator.Word, Text, Operator.Word)  # type: ignore[no-untyped-call]
_KEY = bygroups(Name.Attribute, Punctuation, Name.Constant)  # type: ignore[no-untyped-call]


class MispecLexer(RegexLexer):
    """A statement begins with a section or a key; after that come values, numbers and units."""

    name = "mispec"
    aliases: ClassVar[list[str]] = ["mispec"]
    filenames: ClassVar[list[str]] = ["*.mispec"]
    url = "https://pypi.org/project/metainfer/"
    version_added = ""

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"[ \t\r\n;]+", Text),
            (PATTERNS["comment"], Comment.Single),
            (r"[{}]", Punctuation),
            (rf"(engine)([ \t]+)({PATTERNS['name']})", _NAMED, "rest"),
            (rf"(?:engine|use){_END}", Keyword.Declaration, "rest"),
            (OBJECTIVE + _END, _OBJECTIVE, "rest"),
            (rf"(?:{any_of(section_words())}){_END}", Keyword, "rest"),
            (rf"({any_of(key_words())}){_ASPECT}{_END}", _KEY, "rest"),
            default("rest"),
        ],
        "rest": [
            (r"(?=[\r\n;{}])", Text, "#pop"),
            (r"[ \t]+", Text),
            (PATTERNS["comment"], Comment.Single),
            (PATTERNS["text"], String),
            (PATTERNS["number"], Number),
            (PATTERNS["operator"], Operator),
            (PATTERNS["mark"], Punctuation),
            (rf"(?:{any_of(CLAUSES)}){_END}", Operator.Word),
            (rf"(?:{any_of(UNITS)}){_END}", Keyword.Type),
            (rf"(?:{any_of(value_words())}){_END}", Name.Constant),
            (PATTERNS["name"], Name),
            (r".", Token.Error),
        ],
    }  # fmt: skip
