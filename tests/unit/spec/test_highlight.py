"""Colours: the lexer and the editors' grammar know every word of the language, and only those."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments import lex
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Token, _TokenType

from metainfer.ir.units import UNITS
from metainfer.resources import specs_dir
from metainfer.spec.highlight import (
    CLAUSES,
    key_words,
    section_words,
    textmate_grammar,
    value_words,
)
from metainfer.spec.language import SECTIONS
from metainfer.spec.lexer import MispecLexer

GRAMMAR = Path(__file__).parents[3] / "editors" / "mispec.tmLanguage.json"
SPECS = sorted(specs_dir().glob("*.mispec"))


def _tokens(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, word) for kind, word in lex(text, MispecLexer()) if word.strip()]


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_shipped_specs_have_no_unknown_words(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = _tokens(text)
    assert not [word for kind, word in tokens if kind in Error or kind in Token.Error]
    assert "".join(word for _, word in lex(text, MispecLexer())) == text


def test_words_are_told_apart_by_where_they_stand() -> None:
    text = "engine x { // why\n workload { prompt ~ 5 tokens }\n"
    text += " require { itl.p95 <= 2 ms @ prompt 5 }; prefer { min kv; then min e2e }"
    kinds_of = {word: kind for kind, word in _tokens(text)}
    assert kinds_of["engine"] is Keyword.Declaration
    assert kinds_of["x"] is Name.Class
    assert kinds_of["// why"] is Comment.Single
    assert kinds_of["workload"] is Keyword
    assert kinds_of["itl"] is Name.Attribute
    assert kinds_of["p95"] is Name.Constant
    assert kinds_of["ms"] is Keyword.Type
    assert kinds_of["<="] is Operator
    assert kinds_of["5"] is Number
    assert kinds_of["min"] is kinds_of["then"] is Operator.Word
    assert [kind for kind, word in _tokens(text) if word == "prompt"] == [
        Name.Attribute,
        Name.Constant,
    ]


@pytest.mark.parametrize("name", SECTIONS)
def test_the_lexer_knows_every_section_and_key(name: str) -> None:
    assert _tokens(f"{name} {{")[0] == (Keyword, name)
    for word, key in SECTIONS[name].keys.items():
        first, *rest = _tokens(f"{{ {key.example}")[1:]
        assert first == (Name.Attribute, word)
        assert all(kind not in Error for kind, _ in rest)


def test_the_lexer_knows_every_value_and_unit() -> None:
    for word in value_words():
        assert _tokens(f"kv {word}")[1] == (Name.Constant, word)
    for unit in UNITS:
        assert _tokens(f"kv 1 {unit}")[2] == (Keyword.Type, unit)


def test_no_word_is_of_two_classes_where_a_statement_begins() -> None:
    assert not set(section_words()) & set(key_words())
    assert not set(CLAUSES) & {*section_words(), *key_words(), *value_words()}


def test_the_lexer_is_for_spec_files() -> None:
    assert MispecLexer.filenames == ["*.mispec"]
    assert MispecLexer.aliases == ["mispec"]


def test_the_editors_grammar_is_made_from_the_table() -> None:
    # To renew it: python -m metainfer.spec.highlight > editors/mispec.tmLanguage.json
    assert json.loads(GRAMMAR.read_text(encoding="utf-8")) == textmate_grammar()


def test_objectives_in_the_editors_grammar() -> None:
    words = [
        word
        for word, scope in _scopes("prefer { min kv; then max itl }")
        if scope.endswith("operator.word.mispec")
    ]
    assert words == ["min", "then", "max"]


def _scopes(line: str) -> list[tuple[str, str]]:
    """The scopes of a line, as an editor finds them: the first pattern at the leftmost place."""
    found: list[tuple[str, str]] = []
    patterns = [(p, re.compile(p["match"])) for p in textmate_grammar()["patterns"]]
    at = 0
    while True:
        matches = [(m.start(), i) for i, (_, p) in enumerate(patterns) if (m := p.search(line, at))]
        if not matches:
            return found
        _, index = min(matches)
        rule, pattern = patterns[index]
        match = pattern.search(line, at)
        assert match is not None and match.end() > at
        if "name" in rule:
            found.append((match.group(), rule["name"]))
        for number, capture in rule.get("captures", {}).items():
            if match[int(number)]:
                found.append((match[int(number)], capture["name"]))
        at = match.end()


@pytest.mark.parametrize("name", SECTIONS)
def test_the_editors_grammar_knows_every_section_and_key(name: str) -> None:
    assert (name, "keyword.other.section.mispec") in _scopes(f"  {name} {{")
    for word, key in SECTIONS[name].keys.items():
        assert (word, "variable.other.member.mispec") in _scopes(f"{name} {{ {key.example} }}")


def test_the_editors_grammar_leaves_texts_and_comments_whole() -> None:
    scopes = _scopes('  model "engine { 5 MiB // }" // engine 5')
    assert scopes == [
        ("model", "keyword.other.section.mispec"),
        ('"engine { 5 MiB // }"', "string.quoted.double.mispec"),
        ("// engine 5", "comment.line.double-slash.mispec"),
    ]
