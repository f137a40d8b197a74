"""The operator table: what can be wrong with a C body, at every site where it can be.

Sites come from the syntax tree, so a mutant is always one well-formed change. The classes are those
of published tables for kernels (off-by-one bounds and indices, swapped operators and operands,
dropped statements, terms and conditions, wrong constants, lost precision), see kernels.md §3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

PREFIX = b"void f(void) {\n"


@dataclass(frozen=True)
class Mutation:
    """Bytes `start` to `stop` of a body replaced."""

    operator: str
    start: int
    stop: int
    text: str

    def apply(self, body: str) -> str:
        """The mutated body."""
        raw = body.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.stop :]).decode()


Found = Iterator[tuple[str, "Node", str]]
"""Operator, the node that is replaced, and by what."""


def mutations(body: str) -> list[Mutation]:
    """Every mutation of a body, in the order of its text."""
    import tree_sitter_c
    from tree_sitter import Language, Parser

    raw = PREFIX + body.encode() + b"\n}\n"
    root = Parser(Language(tree_sitter_c.language())).parse(raw).root_node
    found: dict[tuple[int, int, str], Mutation] = {}
    for node in _walk(root):
        for rule in RULES.get(node.type, ()):
            for operator, target, text in rule(node):
                start, stop = target.start_byte - len(PREFIX), target.end_byte - len(PREFIX)
                if start >= 0 and _text(target) != text:
                    mutation = Mutation(operator, start, stop, text)
                    found.setdefault((start, stop, text), mutation)
    return sorted(found.values(), key=lambda m: (m.start, m.stop, m.text))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: Node) -> str:
    assert node.text is not None
    return node.text.decode()


def _field(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    assert child is not None
    return child


# === Constants ===


def _number(node: Node) -> Found:
    text = _text(node)
    if not text.isdigit() or (node.parent is not None and node.parent.type == "array_declarator"):
        return
    value = int(text)
    yield "constant + 1", node, str(value + 1)
    if value:
        yield "constant - 1", node, str(value - 1)
    if value > 2:
        yield "constant halved", node, str(value // 2)


def _float(node: Node) -> Found:
    text = _text(node)
    if text.isdigit():
        return
    yield "factor 1 + 2^-9", node, f"({text} * 1.001953125f)"
    yield "factor 2", node, f"({text} * 2)"
    yield "float to 0", node, "0.0f"


# === Operators ===

_SWAPS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "%": ("/",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "<": ("<=", ">"),
    "<=": ("<",),
    ">": (">=", "<"),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
}


def _binary(node: Node) -> Found:
    sign, left, right = (_field(node, n) for n in ("operator", "left", "right"))
    for other in _SWAPS.get(_text(sign), ()):
        yield f"{_text(sign)} to {other}", sign, other
    yield "right operand dropped", node, _text(left)
    yield "left operand dropped", node, _text(right)
    if _text(sign) in ("-", "/", "%", "<<", ">>"):
        yield "operands swapped", node, f"({_text(right)} {_text(sign)} {_text(left)})"


def _assignment(node: Node) -> Found:
    sign, right = _field(node, "operator"), _field(node, "right")
    swaps = {"+=": ("=", "-="), "-=": ("+=",), "*=": ("=", "/="), "/=": ("*=",), "|=": ("=",)}
    for other in swaps.get(_text(sign), ()):
        yield f"{_text(sign)} to {other}", sign, other
    text = _text(right)
    if "mi_" in text:
        yield "rounded to bfloat16", right, f"(vf)((vi)({text}) & -65536)"
    elif "[" in text:
        yield "rounded to half", right, f"(float)(_Float16)({text})"


def _update(node: Node) -> Found:
    text = _text(node)
    if text.endswith("++"):
        yield "step 2", node, f"{text[:-2]} += 2"


def _unary(node: Node) -> Found:
    sign, argument = _field(node, "operator"), _field(node, "argument")
    if _text(sign) in ("-", "!", "~"):
        yield f"{_text(sign)} dropped", node, f"({_text(argument)})"


# === Calls ===

_RENAMES = {
    "mi_max": "mi_min_",
    "__builtin_sqrtf": "",
    "cos": "sin",
    "sin": "cos",
}


def _call(node: Node) -> Found:
    name = _text(_field(node, "function"))
    texts = [_text(argument) for argument in _field(node, "arguments").named_children]
    if name in _RENAMES:
        other = _RENAMES[name]
        whole = f"({texts[1]})" if name == "mi_max" else f"{other}({', '.join(texts)})"
        yield f"{name} replaced", node, whole
    if name in ("mi_fma", "__builtin_fmaf"):
        yield from _fma(node, texts)
    if name == "mi_select":
        yield "selection inverted", node, f"mi_select({texts[0]}, {texts[2]}, {texts[1]})"
        yield "selection dropped", node, f"({texts[1]})"
    if name == "mi_below":
        yield "mask one wider", node, f"mi_below({texts[0]} + 1, {texts[1]})"
        yield "mask one narrower", node, f"mi_below({texts[0]} - 1, {texts[1]})"
    if name in ("mi_exp", "expf", "exp", "tanhf"):
        yield f"{name} to first order", node, f"(1.0f + ({texts[0]}))"
    if name == "mi_sum":
        yield "one lane for the sum", node, f"(({texts[0]})[0][0])"
    if name == "mi_load":
        yield "first lane for all", node, f"mi_set(*({texts[0]}))"
    if name == "mi_load" or name.startswith("mi_load_"):
        yield "loads one behind", node, f"{name}(({texts[0]}) + 1)"


def _fma(node: Node, texts: list[str]) -> Found:
    a, b, c = texts
    yield "addend dropped", node, f"(({a}) * ({b}))"
    yield "product dropped", node, f"({c})"
    yield "addend subtracted", node, f"(({a}) * ({b}) - ({c}))"
    yield "sum for product", node, f"(({a}) + ({b}) + ({c}))"


# === Statements and conditions ===


def _statement(node: Node) -> Found:
    yield "statement dropped", node, ";"


def _condition(node: Node) -> Found:
    condition, body = _field(node, "condition"), _field(node, "consequence")
    yield "condition always true", condition, "(1)"
    yield "branch dropped", body, "{}" if body.type == "compound_statement" else ";"


def _ternary(node: Node) -> Found:
    yield "first choice", node, f"({_text(_field(node, 'consequence'))})"
    yield "second choice", node, f"({_text(_field(node, 'alternative'))})"


def _loop(node: Node) -> Found:
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "binary_expression":
        right = _field(condition, "right")
        yield "last turn dropped", right, f"({_text(right)}) - 1"
        yield "one turn more", right, f"({_text(right)}) + 1"


def _identifier(node: Node) -> Found:
    """Another name of the same shape: `x0` for `x1`, `k_in` for `v_in`."""
    parent = node.parent
    if parent is None or parent.type in ("call_expression", "declaration", "init_declarator"):
        return
    text = _text(node)
    for mine, other in (("k_", "v_"), ("v_", "k_"), ("x0", "x1"), ("a0", "a1"), ("c0", "c1")):
        if text.startswith(mine):
            yield "another name", node, other + text[len(mine) :]


Rule = Callable[["Node"], Found]
RULES: dict[str, tuple[Rule, ...]] = {
    "number_literal": (_number, _float),
    "binary_expression": (_binary,),
    "assignment_expression": (_assignment,),
    "update_expression": (_update,),
    "unary_expression": (_unary,),
    "call_expression": (_call,),
    "expression_statement": (_statement,),
    "if_statement": (_condition,),
    "conditional_expression": (_ternary,),
    "for_statement": (_loop,),
    "identifier": (_identifier,),
}
"""The table, by the kind of node that a rule looks at."""
