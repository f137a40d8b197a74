"""Interpreting two modules on drawn inputs: equal, or the first op that differs."""

import pytest
from opt_ir import module_of
from tiny_pipeline import tiny_stages
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, f64

from metainfer.driver.equivalence import Comparison, compare_modules
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of

STAGES = ("plan", "specialize-entries", "fuse", "outline-kernels")


def ops(module: ModuleOp, kind: type) -> list:  # type: ignore[type-arg]
    return [op for op in module.walk() if isinstance(op, kind)]


def only(found: Comparison) -> str:
    assert found.differences
    return found.differences[0].diagnostic().message


@pytest.mark.parametrize("stage", STAGES)
def test_no_pass_changes_the_meaning(stage: str) -> None:
    found = compare_modules(tiny_stages().after("expand-model"), tiny_stages().after(stage))
    assert found.differences == []
    assert {a for a, _ in found.pairs} == {"layer", "forward"}
    assert found.calls >= 2 * len(found.pairs)


def _theta(module: ModuleOp) -> None:
    ops(module, infer.RopeOp)[1].properties["theta"] = FloatAttr(10001.0, f64)


def _scale(module: ModuleOp) -> None:
    ops(module, infer.AttendOp)[0].properties["scale"] = FloatAttr(0.2501, f64)


def _eps(module: ModuleOp) -> None:
    ops(module, infer.RmsNormOp)[-1].properties["eps"] = FloatAttr(1e6, f64)


def _weight(module: ModuleOp) -> None:
    ops(module, infer.WeightRefOp)[-5].properties["weight"] = infer.SymbolRefAttr("ffn_gate")


def _operand(module: ModuleOp) -> None:
    add = ops(module, infer.AddOp)[0]
    add.operands[1] = add.a


def _dropped(module: ModuleOp) -> None:
    norm = ops(module, infer.RmsNormOp)[0]
    norm.result.replace_all_uses_with(norm.x)
    norm.detach()


@pytest.mark.parametrize(
    ("change", "blamed"),
    [
        (_theta, "infer.rope (%k_rot)"),
        (_scale, "infer.attend (%attn)"),
        (_eps, "infer.rms_norm (%z)"),
        (_operand, "infer.add (%x_attn)"),
        (_dropped, "infer.linear (%q)"),
    ],
)
@pytest.mark.parametrize("stage", ["expand-model", "outline-kernels"])
def test_the_first_op_that_differs_is_named(change: object, blamed: str, stage: str) -> None:
    left, right = tiny_stages().after("expand-model"), tiny_stages().after(stage)
    changed = left.clone() if stage == "expand-model" else right
    if stage == "expand-model":
        right = changed
    change(changed)  # type: ignore[operator]
    assert blamed.split(" ")[0] in only(compare_modules(left, right))
    if stage == "expand-model":
        assert blamed in only(compare_modules(left, right))


def test_a_wrong_weight_of_the_same_shape() -> None:
    left = tiny_stages().after("expand-model")
    right = left.clone()
    for ref in ops(right, infer.WeightRefOp):
        if ref.weight.root_reference.data == "ffn_up":
            ref.properties["weight"] = infer.SymbolRefAttr("ffn_gate")
    assert "infer.weight_ref (%ffn_up)" in only(compare_modules(left, right))


def test_a_renamed_weight_is_the_same_weight() -> None:
    left = tiny_stages().after("expand-model")
    right = left.clone()
    for weight in all_of(right, infer.WeightOp):
        weight.properties["sym_name"] = StringAttr(f"w_{weight.sym_name.data}")
    for ref in ops(right, infer.WeightRefOp):
        ref.properties["weight"] = infer.SymbolRefAttr(f"w_{ref.weight.root_reference.data}")
    assert compare_modules(left, right).differences == []


X = "tensor<?x8xf32, #infer.dims<tokens, _>>"


def _sums(*pairs: str) -> ModuleOp:
    """`%v1`, `%v2`, ... are the sums of pairs of values; the last one is returned."""
    dims = "attributes {dims = #infer.ranges<tokens = 1 to 9>}"
    lines = [f"func.func @f(%a: {X}, %b: {X}) -> {X} {dims} {{"]
    for number, pair in enumerate(pairs, 1):
        left, right = pair.split("+")
        lines.append(f"  %v{number} = infer.add %{left}, %{right} : {X}")
    lines += [f"  func.return %v{len(pairs)} : {X}", "}"]
    return module_of("\n".join(lines))


def test_another_order_of_additions_is_within_the_bounds() -> None:
    # (a + b) + a, and (a + a) + b
    assert compare_modules(_sums("a+b", "v1+a"), _sums("a+a", "v1+b")).differences == []


def test_an_op_too_many_is_found() -> None:
    found = compare_modules(_sums("a+b", "v1+a"), _sums("a+b", "v1+b", "v2+a"))
    assert "%v2" in only(found)


def test_names_and_signatures_must_match() -> None:
    left, right = _sums("a+b"), _sums("a+a")
    with pytest.raises(DiagnosticError, match="no function @g on the left side"):
        compare_modules(left, right, ["g"])
    assert compare_modules(left, module_of("builtin.module {}")).pairs == []
    with pytest.raises(DiagnosticError, match="no function @f on the right side"):
        compare_modules(left, module_of("builtin.module {}"), ["f"])
    narrow = module_of(
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %a : tensor<4xf32>\n}\n"
    )
    with pytest.raises(DiagnosticError, match="@f takes other arguments on each side"):
        compare_modules(left, narrow)
