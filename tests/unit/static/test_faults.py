"""Bodies that are wrong: each is found, where it is wrong and for that reason."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from metainfer.verify.mutation.subjects import Subject
from metainfer.verify.sandbox.allowed import allowed_in
from metainfer.verify.static.calls import LOOKUPS, TOUCHES
from metainfer.verify.static.values import Finding

BODIES = Path(__file__).with_name("bodies")
Check = Callable[[str, str], list[Finding]]


def written(file: str) -> dict[str, tuple[str, str]]:
    """Bodies of a file by name, each with the reason that its heading says."""
    text = (BODIES / file).read_text(encoding="utf-8")
    sections = re.split(r"^/// ", text, flags=re.MULTILINE)[1:]
    heads = [section.split("\n", 1) for section in sections]
    return {h.split(":")[0]: (body.strip("\n"), h.split(":", 1)[1].strip()) for h, body in heads}


SPOILED = tomllib.loads((BODIES / "spoiled.toml").read_text(encoding="utf-8"))
WRONG, RIGHT = written("wrong.c"), written("right.c")


@pytest.mark.parametrize("fault", SPOILED)
def test_a_spoiled_body(fault: str, known: dict[str, Subject], check: Check) -> None:
    subject, old, new, why = (SPOILED[fault][k] for k in ("subject", "old", "new", "why"))
    body = "\n".join(known[subject].body)
    assert old in body
    spoiled = body.replace(old, new)
    found = check(subject, spoiled)
    assert any(why in f.why for f in found), [str(f) for f in found]
    lines = zip(body.split("\n"), spoiled.split("\n"), strict=True)
    assert found[0].line >= next(n for n, (a, b) in enumerate(lines, 1) if a != b)


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_body(fault: str, check: Check) -> None:
    body, why = WRONG[fault]
    found = check("scale", body)
    assert found
    assert any(why in f.why for f in found), [str(f) for f in found]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_body(name: str, check: Check) -> None:
    body, _ = RIGHT[name]
    assert check("scale", body) == []


def test_the_place_of_a_finding(check: Check) -> None:
    (found,) = check("scale", "/* two\n   lines */\nfloat a[4];\n    a[4] = x[0];")
    assert (found.line, found.text) == (4, "a[4] = x[0]")
    assert str(found) == (
        "line 4: writes up to 4 bytes behind the 16 bytes of 'a' in `a[4] = x[0]`"
    )


@pytest.mark.parametrize("isa", ["x86_64", "avx2", "avx512_vnni"])
def test_every_allowed_call_with_a_pointer_has_a_width(isa: str) -> None:
    for name, letters in allowed_in(isa).calls.items():
        if set(letters) & {"p", "w"} and name not in LOOKUPS:
            assert TOUCHES[name].takes(len(letters)), name
