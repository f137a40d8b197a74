"""A kernel body as a tree: expressions and statements, every variable a slot of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from metainfer.verify.static.values import CType

LONGEST_TEXT = 70


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a line of the body, from 1, and bytes of the parsed source."""

    line: int
    source: bytes
    start: int
    stop: int

    @property
    def text(self) -> str:
        """What stands there, on one line."""
        text = " ".join(self.source[self.start : self.stop].decode().split())
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."

    def __str__(self) -> str:
        return f"`{self.text}`"


@dataclass(slots=True, eq=False)
class Expr:
    """An expression."""

    place: Place


@dataclass(slots=True, eq=False)
class Literal(Expr):
    """A number; `value` is None for a float."""

    value: int | None
    type: CType


@dataclass(slots=True, eq=False)
class Constant(Expr):
    """A name of `lanes.h` or a C header: `MI_V`."""

    name: str


@dataclass(slots=True, eq=False)
class Variable(Expr):
    """A parameter or a local."""

    slot: int
    name: str


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """`-x`, `~x`, `!x`, `+x`."""

    operator: str
    argument: Expr


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """Any operator with two operands that assigns nothing."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Choice(Expr):
    """`condition ? yes : no`."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(slots=True, eq=False)
class Index(Expr):
    """`base[index]`."""

    base: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Deref(Expr):
    """`*pointer`."""

    pointer: Expr


@dataclass(slots=True, eq=False)
class AddressOf(Expr):
    """`&element` or `&variable`."""

    target: Expr


@dataclass(slots=True, eq=False)
class FieldOf(Expr):
    """`batch->name`."""

    owner: Expr
    name: str


@dataclass(slots=True, eq=False)
class Cast(Expr):
    """`(type)value`, or `(type *)value`."""

    type: CType
    pointer: bool
    value: Expr


@dataclass(slots=True, eq=False)
class Call(Expr):
    """A call of a named function."""

    name: str
    arguments: Sequence[Expr]


@dataclass(slots=True, eq=False)
class SizeOf(Expr):
    """`sizeof` a type or a variable."""

    type: CType | None
    slot: int | None


@dataclass(slots=True, eq=False)
class Braces(Expr):
    """`{a, b}` as an initializer, or a compound literal of `type`."""

    type: CType | None
    elements: Sequence[Expr]


@dataclass(slots=True, eq=False)
class Stmt:
    """A statement."""

    place: Place


@dataclass(slots=True, eq=False)
class Declare(Stmt):
    """One declared name; `dims` are the sizes of an array, None where the initializer counts."""

    slot: int
    name: str
    type: CType
    pointer: bool
    const: bool
    dims: Sequence[Expr | None]
    value: Expr | None


@dataclass(slots=True, eq=False)
class Assign(Stmt):
    """`target operator= value`; `operator` is empty for a plain one, `x++` adds 1."""

    target: Expr
    operator: str
    value: Expr


@dataclass(slots=True, eq=False)
class Evaluate(Stmt):
    """An expression as a statement."""

    value: Expr


@dataclass(slots=True, eq=False)
class Block(Stmt):
    """Statements in order."""

    body: Sequence[Stmt]


@dataclass(slots=True, eq=False)
class If(Stmt):
    """A branch; either side may be empty."""

    condition: Expr
    yes: Stmt
    no: Stmt | None


@dataclass(slots=True, eq=False)
class Leave(Stmt):
    """`return`, `break` or `continue`."""

    word: str


@dataclass(slots=True, eq=False)
class Loop(Stmt):
    """`for` and `while`, with what it assigns anywhere inside, by slot."""

    first: Sequence[Stmt]
    condition: Expr | None
    update: Sequence[Stmt]
    body: Stmt
    writes: dict[int, list[Assign]] = field(default_factory=dict)
    steady: set[int] = field(default_factory=set)
    """Slots that every turn assigns exactly once, whatever else happens in it."""
    breaks: bool = False
    plain: bool = False
    """Whether its condition is `plain`."""


def plain(expr: Expr) -> bool:
    """Whether only variables and numbers are added, multiplied and compared in it."""
    if isinstance(expr, Binary):
        return expr.operator in _PLAIN and plain(expr.left) and plain(expr.right)
    return isinstance(expr, Variable | Literal | Constant)


_PLAIN = frozenset("+ - * < <= > >= == !=".split())


def variables(expr: Expr) -> Iterator[int]:
    """The slots of all variables in an expression."""
    if isinstance(expr, Variable):
        yield expr.slot
    for part in _PARTS.get(type(expr), ()):
        yield from variables(getattr(expr, part))
    if isinstance(expr, Call | Braces):
        for inner in expr.arguments if isinstance(expr, Call) else expr.elements:
            yield from variables(inner)


_PARTS: dict[type[Expr], Sequence[str]] = {
    Unary: ("argument",),
    Binary: ("left", "right"),
    Choice: ("condition", "yes", "no"),
    Index: ("base", "index"),
    Deref: ("pointer",),
    AddressOf: ("target",),
    FieldOf: ("owner",),
    Cast: ("value",),
}
