"""Integer arithmetic over named numbers, for shapes and defaults in contracts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from metainfer.ir.diagnostics import error

Number = int | float
_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def evaluate(text: str, names: Mapping[str, Number]) -> Number:
    """The value of `text`: names, integers, `+ - * /`; a division must come out even."""
    try:
        return _value(ast.parse(text, mode="eval").body, names, text)
    except SyntaxError:
        raise error(f"not an expression: {text}") from None


def _value(node: ast.expr, names: Mapping[str, Number], text: str) -> Number:
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise error(f"unknown name '{name}' in {text}")
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _quotient(_value(left, names, text), _value(right, names, text), text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names, text), _value(right, names, text))
    raise error(f"not an expression over names and integers: {text}")


def _quotient(a: Number, b: Number, text: str) -> Number:
    if not isinstance(a, int) or not isinstance(b, int) or b == 0 or a % b:
        raise error(f"{text}: {a} is no multiple of {b}")
    return a // b
