"""The operator table for passes: what can be wrong with Python, at every site where it can be.

Left alone are refusals (a condition that only raises, `self.need`, `assert`, `strict`): on valid
input they have no effect, so that a mutant of one is the original. Tests of diagnostics hold those.
So are names of kernels, the order of symbols, locations, and lists of what might be chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from metainfer.driver.mutation.mutant import Mutant, replacing

LEFT_ALONE = frozenset("name short_name entry_of _c_names _roles insert_symbol choices".split())
"""Functions that make up names or places, of which others would do, or list what else to choose."""
Change = tuple[str, ast.AST, str]
"""Operator, the node that is replaced, and by what."""


def source_mutants(file: str, text: str, executed: set[int] | None = None) -> list[Mutant]:
    """Every mutant of a Python file, in the order of its text.

    With `executed`, only those on lines of that set.
    """
    tree = ast.parse(text)
    places = _Places(text)
    found: dict[tuple[int, int, str], Mutant] = {}
    for node in _walk(tree):
        for rule in RULES.get(type(node), ()):
            for operator, target, after in rule(node):
                start, stop = places.of(target)
                lines = set(range(target.lineno, (target.end_lineno or target.lineno) + 1))  # type: ignore[attr-defined]
                if (executed is None or lines & executed) and text[start:stop] != after:
                    mutant = replacing(file, text, operator, start, stop, after)
                    found.setdefault((start, stop, after), mutant)
    return sorted(found.values(), key=lambda m: (m.start, m.stop, m.after))


@dataclass
class _Places:
    """Character offsets of nodes, whose columns count bytes."""

    text: str

    def __post_init__(self) -> None:
        self._lines = self.text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.AST) -> tuple[int, int]:
        """First and one past the last character."""
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that compute: no refusals, annotations or docstrings."""
    if isinstance(node, ast.Raise | ast.Assert) or _is_refusal(node) or _is_text(node):
        return
    if isinstance(node, ast.FunctionDef) and node.name in LEFT_ALONE:
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    yield node
    if isinstance(node, ast.Expr) and _places(node.value):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords_of_class"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_refusal(node: ast.AST) -> bool:
    match node:
        case ast.Assign(value=ast.BinOp(op=ast.BitOr(), left=ast.Name(), right=ast.Name())):
            return True  # the name of a type
        case ast.If(body=body, orelse=[]):
            return isinstance(body[-1], ast.Raise)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="erase"))):
            return True  # of what is no longer in the module
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="need" | "_expect" | "check_total"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="_check_replaced"))):
            return True
    return False


def _places(node: ast.AST) -> bool:
    """Whether a call gives an op its location; that it has one is checked, and not which."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "derived"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# === Operators ===

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}


def _compare(node: ast.Compare) -> Iterator[Change]:
    if len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield "comparison", node, f"({left} {_COMPARISONS[type(node.ops[0])]} {right})"


def _binary(node: ast.BinOp) -> Iterator[Change]:
    left, right = f"({ast.unparse(node.left)})", f"({ast.unparse(node.right)})"
    if type(node.op) in _ARITHMETIC and not _spells(node):
        yield "arithmetic", node, f"({left} {_ARITHMETIC[type(node.op)]} {right})"
        yield "operand dropped", node, left
        if isinstance(node.op, ast.Sub):
            yield "operands swapped", node, f"({right} - {left})"
    if isinstance(node.op, ast.BitOr) and not _spells(node):
        yield "operand dropped", node, left


def _spells(node: ast.AST) -> bool:
    """Whether text is put together, which nobody computes with."""
    return any(isinstance(n, ast.JoinedStr) for n in ast.walk(node))


def _bool(node: ast.BoolOp) -> Iterator[Change]:
    sign = " or " if isinstance(node.op, ast.And) else " and "
    yield "and/or", node, f"({sign.join(f'({ast.unparse(v)})' for v in node.values)})"
    for value in node.values:
        yield "condition dropped", node, f"({ast.unparse(value)})"


def _not(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield "sign dropped", node, f"({ast.unparse(node.operand)})"


def _constant(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool():
            yield "constant", node, str(not node.value)
        case int():
            yield "constant", node, str(node.value + 1)
            if node.value > 0:
                yield "constant", node, str(node.value - 1)


# === Statements and conditions ===


def _if(node: ast.If) -> Iterator[Change]:
    yield "condition removed", node.test, "True"
    yield "condition removed", node.test, "False"


def _choice(node: ast.IfExp) -> Iterator[Change]:
    yield "condition removed", node, f"({ast.unparse(node.body)})"
    yield "condition removed", node, f"({ast.unparse(node.orelse)})"


def _filter(node: ast.comprehension) -> Iterator[Change]:
    for test in node.ifs:
        yield "condition removed", test, "True"


def _statement(node: ast.stmt) -> Iterator[Change]:
    yield "statement dropped", node, "pass"


def _assign(node: ast.Assign) -> Iterator[Change]:
    if all(isinstance(t, ast.Subscript | ast.Attribute) for t in node.targets):
        yield "statement dropped", node, "pass"


def _aug(node: ast.AugAssign) -> Iterator[Change]:
    yield "statement dropped", node, "pass"


# === Indices and arguments ===


def _subscript(node: ast.Subscript) -> Iterator[Change]:
    match node.slice:
        case ast.Constant(value=int(number)):
            yield "index", node.slice, str(number + 1)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            yield "index", node.slice, "0"
        case ast.Slice(lower=ast.expr() as lower, upper=None):
            yield "slice", node, f"{ast.unparse(node.value)}[{ast.unparse(lower)} + 1:]"
            yield "slice", node, ast.unparse(node.value)
        case ast.Slice(lower=None, upper=ast.expr()):
            yield "slice", node, ast.unparse(node.value)


_NO_ORDER = ("isinstance", "cast", "lookup", "zip", "min", "max", "_meet")
"""Functions whose arguments have no order, or whose types alone forbid another one."""
_FUNCTIONS = {"any": "all", "all": "any", "sorted": "list"}


def _call(node: ast.Call) -> Iterator[Change]:
    name = ast.unparse(node.func)
    if name in ("min", "max"):
        yield "function", node.func, "max" if name == "min" else "min"
    elif name in _FUNCTIONS and len(node.args) == 1 and not node.keywords:
        yield "function", node.func, _FUNCTIONS[name]
    plain = all(isinstance(a, ast.Name | ast.Attribute | ast.Subscript) for a in node.args)
    if len(node.args) == 2 and plain and name not in _NO_ORDER:
        a, b = node.args
        yield "arguments swapped", node, f"{name}({ast.unparse(b)}, {ast.unparse(a)})"


RULES: Mapping[type[ast.AST], tuple[Callable[..., Iterator[Change]], ...]] = {
    ast.Compare: (_compare,),
    ast.BinOp: (_binary,),
    ast.BoolOp: (_bool,),
    ast.UnaryOp: (_not,),
    ast.Constant: (_constant,),
    ast.If: (_if,),
    ast.IfExp: (_choice,),
    ast.comprehension: (_filter,),
    ast.Expr: (_statement,),
    ast.Assign: (_assign,),
    ast.AugAssign: (_aug,),
    ast.Subscript: (_subscript,),
    ast.Call: (_call,),
}
"""By node: its rules."""
