"""`fill-kernels`: providers in order, the gate's word, and a key for every kernel."""

from __future__ import annotations

from collections.abc import Mapping

from tiny_pipeline import OpenGate, Stages, Writer, complaint, run, tiny_stages
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import kernel
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.symbols import all_of
from metainfer.passes.context import BodyProvider, CompilerContext

ADD = "decode_add"


def context(gate: OpenGate, *providers: BodyProvider) -> CompilerContext:
    ctx = CompilerContext()
    ctx.providers, ctx.gate = providers, gate
    return ctx


def bodies(module: ModuleOp) -> dict[str, str]:
    """Kernel → who wrote its body."""
    return {f.sym_name.data: str(f.provider and f.provider.data) for f in kernels(module)}


def kernels(module: ModuleOp) -> list[kernel.FuncOp]:
    return all_of(module, kernel.FuncOp)


def unfilled() -> ModuleOp:
    return tiny_stages().before("fill-kernels")


def test_every_kernel_has_body_target_provider_and_key() -> None:
    for function in kernels(unfilled()):
        assert (function.body, function.key, function.target, function.provider) == (None,) * 4
    for function in kernels(tiny_stages().after("fill-kernels")):
        assert function.body == ArrayAttr([StringAttr("/* test */")])
        assert function.target == StringAttr("c:generic")
        assert function.key == StringAttr("/* test */")


def test_the_first_provider_that_has_a_body_is_taken() -> None:
    ctx = context(OpenGate(), Writer("special", ADD), Writer("rule"))
    found = bodies(run(ctx, unfilled(), "fill-kernels"))
    assert found.pop(ADD) == "special"
    assert set(found.values()) == {"rule"}


def test_a_refused_body_makes_room_for_the_next_one() -> None:
    ctx = context(OpenGate({ADD: "wrong"}), Writer("special", ADD), Writer("rule"))
    module = run(ctx, unfilled(), "fill-kernels")
    assert set(bodies(module).values()) == {"rule"}
    assert {f.key for f in kernels(module)} == {StringAttr("/* rule */")}


def test_a_body_in_the_module_stays_if_the_gate_admits_it() -> None:
    module = tiny_stages().after("fill-kernels")
    ctx = context(OpenGate(), Writer("other"))
    assert set(bodies(run(ctx, module, "fill-kernels")).values()) == {"test"}


def test_a_body_in_the_module_is_replaced_if_the_gate_refuses_it() -> None:
    module = tiny_stages().after("fill-kernels")
    ctx = context(OpenGate({ADD: "edited"}), Writer("other"))
    found = bodies(run(ctx, module, "fill-kernels"))
    assert found.pop(ADD) == "other" and set(found.values()) == {"test"}


class _Closed(OpenGate):
    """Never admits the one kernel."""

    def admit(self, module: ModuleOp) -> dict[str, str]:
        return {ADD: "differs from its meaning"}


def test_when_no_body_is_left_the_reasons_are_given() -> None:
    ctx = context(_Closed(), Writer("special", ADD), Writer("rule"))
    try:
        run(ctx, unfilled(), "fill-kernels")
    except DiagnosticError as problem:
        (diagnostic,) = problem.diagnostics
    assert diagnostic.message == f"no body of kernel @{ADD} was admitted"
    assert [n.message for n in diagnostic.notes] == ["differs from its meaning"] * 2
    assert diagnostic.place is not None


class _Recording(OpenGate):
    """Counts how often keys are asked for, and sees what it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def keys(self, module: ModuleOp) -> dict[str, str]:
        return {name: f"sha256:{name}" for name in super().keys(module)}

    def admit(self, module: ModuleOp) -> dict[str, str]:
        self.asked.append(len(kernels(module)))
        return super().admit(module)


def test_keys_are_the_gate_s_and_all_kernels_are_asked_about() -> None:
    gate = _Recording()
    module = run(context(gate, Writer()), unfilled(), "fill-kernels")
    assert gate.asked == [len(kernels(module))]
    assert {str(f.key and f.key.data) for f in kernels(module)} == {
        f"sha256:{f.sym_name.data}" for f in kernels(module)
    }


def test_it_needs_kernels_providers_and_a_gate() -> None:
    stages: Stages = tiny_stages()
    message = complaint(stages.ctx, stages.after("select-layouts"), "fill-kernels")
    assert message == "pass fill-kernels needs: run outline-kernels first"
    needs = "pass fill-kernels needs body providers and a gate: use metainfer-opt"
    assert complaint(CompilerContext(), unfilled(), "fill-kernels") == needs


def test_a_plain_context_has_no_gate() -> None:
    from metainfer.passes.fill_kernels import FillKernels

    plain = Context()
    register_dialects(plain)
    found: Mapping[str, str] = {}
    try:
        FillKernels().apply(plain, unfilled())
    except DiagnosticError as problem:
        found = {"message": problem.diagnostics[0].message}
    assert "use metainfer-opt" in found["message"]
