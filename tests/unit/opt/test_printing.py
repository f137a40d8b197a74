"""Views of a module, and whether a module survives its text."""

import pytest
from opt_ir import ADD, X, module_of
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from metainfer.driver.session import reading_context
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import infer
from metainfer.ir.printing import View, symbol_names
from metainfer.ir.roundtrip import check_round_trip, differences
from metainfer.ir.text import print_module

PROGRAM = (
    ADD
    + """\
engine.program @p attributes {package = "t", threads = 2 : i64} {
  engine.block @b {
    engine.barrier
  }
}
"""
)


def test_the_plain_view_is_the_module() -> None:
    module = module_of(PROGRAM)
    assert View().text(module) == print_module(module)
    assert View(generic=True, locations=True).text(module) == print_module(
        module, generic=True, locations=True
    )


def test_named_symbols_in_their_order_at_any_depth() -> None:
    module = module_of(PROGRAM)
    assert symbol_names(module) == ["f", "p", "b"]
    text = View(only=("b", "f")).text(module)
    assert [line for line in text.splitlines() if line.startswith(("func", "engine"))] == [
        line for line in text.splitlines() if line[0] not in " }"
    ]
    assert text.index("func.func @f") < text.index("engine.block @b")
    assert "engine.program" not in text


def test_users_in_their_order_by_result_or_name() -> None:
    text = View(users=True, only=("f",)).text(module_of(ADD))
    assert "%c = infer.add %a, %b : " + X + "  // users: %d\n" in text
    assert '  // users: "func.return"\n' in text
    assert module_of(text).is_structurally_equivalent(module_of(ADD))


def test_bodies_are_left_out_of_a_copy() -> None:
    source = module_of(
        'infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}\n'
        f"kernel.func @k(%a: {X}) -> (y: {X}) "
        '{dims = #infer.ranges<tokens = 1 to 9>, parts = "none", path = @p} {\n'
        "  kernel.return %a\n"
        '} body ["one", "two", "three"]\n'
    )
    text = View(elide_bodies=True).text(source)
    assert "/* 3 lines */" in text
    assert "two" not in text
    assert "two" in print_module(source)


def _add(module: ModuleOp) -> infer.AddOp:
    return next(op for op in module.walk() if isinstance(op, infer.AddOp))


def test_a_sound_module_survives() -> None:
    check_round_trip(module_of(PROGRAM), reading_context())


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("attribute 'x'", lambda add: add.attributes.update(x=StringAttr("y"))),
        ("operand", lambda add: add.operands.__setitem__(0, add.operands[1])),
        ("location", lambda add: setattr(add, "location", _place())),
        ("number of ops", lambda add: (add.result.replace_all_uses_with(add.a), add.detach())),
    ],
)
def test_each_difference_is_seen(what: str, change: object) -> None:
    left, right = module_of(ADD), module_of(ADD)
    change(_add(left))  # type: ignore[operator]
    assert what in [found for found, _ in differences(left, right)]
    assert list(differences(left, left.clone())) == []


def _place() -> FileLineColLoc:
    return FileLineColLoc(StringAttr("z"), IntAttr(1), IntAttr(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f" %a, %b : {X}",
            "the custom form of infer.add parses back with another attribute 'kept'",
        ),
        (" %a, : bad", "the custom form of the module does not parse"),
    ],
)
def test_a_form_that_loses_something_is_refused(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(ADD.replace("%c, %b", "%a, %b"))
    _add(module).attributes["kept"] = StringAttr("x")
    monkeypatch.setattr(infer.AddOp, "print", lambda self, printer: printer.print_string(text))
    with pytest.raises(DiagnosticError) as caught:
        check_round_trip(module, reading_context())
    (found,) = caught.value.diagnostics
    assert found.message.startswith(message)
    assert all("infer.add %a, : bad" in note.message for note in found.notes)
