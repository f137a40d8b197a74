"""The `spec` ops: text that parses back, documented examples, verifier rules."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.dialects.spec import Spec
from metainfer.ir.text import parse_module, print_module
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.view import place_of

CONCRETE = [op for op in Spec.operations if op.__doc__]


def _context() -> Context:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Spec)
    return ctx


def _parse(text: str) -> ModuleOp:
    return parse_module(text, "x.mlir", _context())


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("locations", [False, True])
@pytest.mark.parametrize("name", ["quickstart", "laptop_chat", "h200_qwen3", "impossible"])
def test_shipped_specs_round_trip(
    shipped: Callable[[str], ModuleOp],
    resolve: Callable[[ModuleOp], ModuleOp],
    name: str,
    generic: bool,
    locations: bool,
) -> None:
    module = resolve(shipped(name))
    text = print_module(module, generic=generic, locations=locations)
    again = _parse(text)
    again.verify()
    assert again.is_structurally_equivalent(module)
    assert print_module(again, generic=generic, locations=locations) == text
    if locations:
        assert [place_of(op) for op in again.walk()] == [place_of(op) for op in module.walk()]


@pytest.mark.parametrize("op", CONCRETE, ids=lambda op: str(op.name))
def test_the_documented_example_parses(op: type) -> None:
    (example,) = re.findall(r"```mlir\n(.*?)```", op.__doc__ or "", re.S)
    module = _parse(example)
    module.verify()
    assert any(isinstance(found, op) for found in module.walk())
    assert _parse(print_module(module)).is_structurally_equivalent(module)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, blacklist_characters='"')))
def test_any_quoted_text_survives(uri: str) -> None:
    if not uri.strip():
        return
    module = parse_mispec(f'engine x {{ model "{uri}" }}', "x.mispec")
    for generic in (False, True):
        again = _parse(print_module(module, generic=generic))
        assert again.is_structurally_equivalent(module)


def test_an_empty_engine_survives() -> None:
    module = parse_mispec("engine x { }", "x.mispec")
    module.verify()
    for generic in (False, True):
        again = _parse(print_module(module, generic=generic))
        again.verify()
        assert print_module(again) == print_module(module)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('spec.pin kv "~" f32', "operator '~' is none of"),
        ('spec.demand context ">=" 3 tokens', "operator '>=' is none of"),
        ('spec.require kv "==" 3 MiB', "operator '==' is none of"),
        ('spec.expect arch "<=" "llama"', "operator '<=' is none of"),
        ('spec.pin kv "==" f32  spec.pin kv "==" f16', "'kv' is stated twice"),
        ('spec.model "a"  spec.model "b"', "'spec.model' is stated twice"),
        ('spec.want kl "==" 0.5', "operator '==' is none of"),
        ('spec.limit n "~" 2', "operator '~' is none of"),
        ("spec.prefer most itl", "'most' is neither min nor max"),
        ("spec.degrade context [1, 2] tokens", "the values of a degrade fall"),
        ("spec.degrade context [] tokens", "the values of a degrade fall"),
        ('spec.require itl.p95 "<=" 2 ms at {context = 1.5}', "a load is a dictionary of integers"),
        ('spec.engine @inner { spec.model "a" }', "is not a constraint"),
        (
            '"spec.demand"() <{what = "a", op = "~", value = 1 : i64, unit = "miles"}> : () -> ()',
            "unknown unit 'miles'",
        ),
    ],
)
def test_the_verifier_refuses(body: str, complaint: str) -> None:
    module = _parse(f"spec.engine @x {{ {body} }}")
    with pytest.raises(VerifyException, match=re.escape(complaint)):
        module.verify()


def test_a_constraint_belongs_in_an_engine() -> None:
    module = _parse('spec.pin kv "==" f32')
    with pytest.raises(VerifyException, match="engine"):
        module.verify()
