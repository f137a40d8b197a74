"""Running passes: verified input, verified output, and a mark of how far a module is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tiny_pipeline import fake_context, tiny_stages
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from metainfer.driver.build import remaining_passes
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.passes.base import MetaPass
from metainfer.passes.instruments.base import Instrument, Step
from metainfer.passes.manager import STAGE, run_passes, stage_of
from metainfer.passes.pipelines import DEFAULT, PASSES


@dataclass(frozen=True)
class Broken(ModulePass):
    """Defines a function twice."""

    name = "broken"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = all_of(op, func.FuncOp)[0]
        op.body.block.add_op(function.clone())


@dataclass(frozen=True)
class Foreign(ModulePass):
    """Not one of our pipeline; changes nothing."""

    name = "foreign"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        return None


def test_a_pass_that_breaks_the_module_is_named() -> None:
    module = tiny_stages().after("expand-model")
    with pytest.raises(DiagnosticError) as caught:
        run_passes(fake_context(), module, [Foreign(), Broken()])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "@layer is defined twice"
    assert [n.message for n in diagnostic.notes] == ["the module was sound before pass broken"]


def test_an_unsound_input_is_nobody_s_fault() -> None:
    module = tiny_stages().after("expand-model")
    Broken().apply(Context(), module)
    with pytest.raises(DiagnosticError) as caught:
        run_passes(fake_context(), module, [Foreign()])
    assert caught.value.diagnostics[0].notes == ()


def test_an_instrument_sees_every_pass_with_its_number() -> None:
    seen: list[tuple[int, str, str | None]] = []

    class See(Instrument):
        def after(self, step: Step) -> None:
            seen.append((step.number, step.name, stage_of(step.module)))

    module = tiny_stages().after("")
    passes = [PASSES["resolve-model"]()(), Foreign(), PASSES["expand-model"]()()]
    run_passes(fake_context(), module, passes, instruments=[See()])
    assert seen == [
        (1, "resolve-model", "resolve-model"),
        (2, "foreign", "resolve-model"),
        (3, "expand-model", "expand-model"),
    ]


@pytest.mark.parametrize("name", DEFAULT)
def test_every_pass_of_the_pipeline_is_ours_and_says_what_it_does(name: str) -> None:
    loaded = PASSES[name]()
    assert issubclass(loaded, MetaPass) and loaded.name == name and loaded.summary
    before = DEFAULT[: DEFAULT.index(name)]
    assert loaded.requires in before or (loaded.requires == "" and before == ())


@pytest.mark.parametrize("name", DEFAULT)
def test_a_module_says_which_passes_remain(name: str) -> None:
    module = tiny_stages().after(name)
    assert stage_of(module) == name
    assert remaining_passes(module) == DEFAULT[DEFAULT.index(name) + 1 :]


def test_a_spec_needs_all_passes() -> None:
    module = tiny_stages().after("")
    assert stage_of(module) is None
    assert remaining_passes(module) == DEFAULT


def test_what_ops_look_like_does_not_decide_what_remains() -> None:
    """A dump after `fuse` from which every group was taken out is still one after `fuse`."""
    from metainfer.ir.dialects import infer

    module = tiny_stages().after("specialize-entries")
    module.attributes[STAGE] = StringAttr("fuse")
    assert not any(isinstance(op, infer.GroupOp) for op in module.walk())
    assert remaining_passes(module)[0] == "select-layouts"


def _unmarked(module: ModuleOp) -> None:
    del module.attributes[STAGE]


def _misspelt(module: ModuleOp) -> None:
    module.attributes[STAGE] = StringAttr("fuze")


@pytest.mark.parametrize(
    ("edit", "message", "help"),
    [
        (_unmarked, "this IR does not say which pass it comes after", "metainfer.stage"),
        (_misspelt, "metainfer.stage names no pass: 'fuze'", "fuse"),
    ],
)
def test_ir_of_an_unknown_stage_is_refused(
    edit: Callable[[ModuleOp], None], message: str, help: str
) -> None:
    module = tiny_stages().after("fuse")
    edit(module)
    with pytest.raises(DiagnosticError) as caught:
        remaining_passes(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message
    assert diagnostic.help is not None and help in diagnostic.help


def test_the_mark_is_part_of_the_text() -> None:
    module = tiny_stages().after("fuse")
    again = parse_module(str(module), "dump.mlir", fake_context())
    assert stage_of(again) == "fuse"
