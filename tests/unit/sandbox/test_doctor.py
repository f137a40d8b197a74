"""`metainfer doctor`: what it prints, and that a layer that does not hold is named."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from typer.testing import CliRunner

from metainfer.cli.commands import app
from metainfer.codegen.c.toolchain import find_compiler
from metainfer.driver import doctor
from metainfer.verify.sandbox import proofs
from metainfer.verify.sandbox.layers import Layer
from metainfer.verify.sandbox.proofs import ACTIONS, OPTIONAL, Proof, prove_layers

LAYERS = {"text", "object", *get_args(Layer)}


@pytest.fixture(scope="module")
def proved() -> list[Proof]:
    return prove_layers(find_compiler())


def test_every_layer_is_proved(proved: list[Proof]) -> None:
    assert {p.layer for p in proved} == LAYERS
    assert [(p.layer, p.why) for p in proved if p.required and not p.ok] == []


def test_every_layer_of_a_run_has_an_action() -> None:
    assert set(ACTIONS) == set(get_args(Layer))
    assert all(ACTIONS.values())


def test_json_has_an_entry_per_layer(proved: list[Proof], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "prove_layers", lambda compiler: proved)
    done = CliRunner().invoke(app, ["doctor", "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert set(found["sandbox"]) == LAYERS
    assert all(entry["ok"] for n, entry in found["sandbox"].items() if n not in OPTIONAL)
    assert found["cores"] >= 1
    assert {"compiler", "isa", "cache", "healthy"} <= set(found)


@pytest.mark.parametrize(("layer", "code"), [("seccomp", 1), ("namespaces", 0)])
def test_a_layer_that_does_not_hold_is_named(
    layer: str, code: int, proved: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [
        Proof(layer, p.required, "a kernel can") if p.layer == layer else Proof(p.layer, p.required)
        for p in proved
    ]
    monkeypatch.setattr(doctor, "prove_layers", lambda compiler: broken)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == code
    assert "does not hold" in done.stdout
    assert "a kernel can" in done.stdout


def test_an_action_that_goes_through_is_a_broken_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the read-only layer proved by a write that it allows, and by one nobody can do."""
    library = proofs._probes(find_compiler())
    assert proofs._action_fails(library, "read_only", "write_an_input", 1) is None
    assert proofs._action_fails(library, "read_only", "take_memory", 1) == (
        "a kernel can take memory"
    )
    why = proofs._action_fails(library, "read_only", "connect_to_the_parent", 1)
    assert why == (
        "whether a kernel can connect to the parent is unknown: it fails here in any case"
    )
