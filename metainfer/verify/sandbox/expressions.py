"""Expressions of a body: which there may be, and of which kind each is.

tree-sitter has no types, so kinds are inferred as far as it takes to tell pointers from values:
none becomes the other, and only what the parameters point to can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from metainfer.verify.sandbox.allowed import Allowed
from metainfer.verify.sandbox.kinds import VALUE, Kind, Scopes
from metainfer.verify.sandbox.text import Breach

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_ELEMENTS = 512
"""In one initializer: four times the frequencies of the widest head."""
MOST_IN_TABLES = 2048
"""In all initializers of a body."""
MOST_LITERAL = 40
MOST_DEPTH = 80
_ARITHMETIC = frozenset("+ - * / % & | ^ << >> < <= > >= == != && ||".split())
_ASSIGN = frozenset("= += -= *= /= %= &= |= ^= <<= >>=".split())


class Expressions:
    """Checks expressions and collects breaches; `offset` is where the body begins in its source."""

    def __init__(self, parameters: Mapping[str, Kind], allowed: Allowed, offset: int) -> None:
        self.allowed, self.offset = allowed, offset
        self.scopes = Scopes([dict(parameters)])
        self.breaches: list[Breach] = []
        self.elements = self.depth = 0
        self.expressions: dict[str, Callable[[Node], Kind | None]] = {
            "identifier": self._identifier,
            "number_literal": self._number,
            "parenthesized_expression": self._parenthesized,
            "binary_expression": self._binary,
            "unary_expression": self._unary,
            "update_expression": self._update,
            "pointer_expression": self._pointer,
            "subscript_expression": self._subscript,
            "field_expression": self._field,
            "cast_expression": self._cast,
            "call_expression": self._call,
            "conditional_expression": self._conditional,
            "assignment_expression": self._assignment,
            "compound_literal_expression": self._literal,
        }

    def refuse(self, node: Node, what: str) -> None:
        """Note a breach; nothing inside the node is looked at after that."""
        length = min(node.end_byte - node.start_byte, 200)
        self.breaches.append(Breach(node.start_byte - self.offset, max(1, length), what))

    def expression(self, node: Node) -> Kind | None:
        """Check an expression; its kind, or None where that is unknown after a breach."""
        kind = None
        self.depth += 1
        if self.depth > MOST_DEPTH:
            self.refuse(node, f"nest deeper than {MOST_DEPTH}")
        elif check := self.expressions.get(node.type):
            kind = check(node)
        else:
            self.refuse(node, f"use {called(node)}")
        self.depth -= 1
        return kind

    def need(self, node: Node, kind: Kind | None, depth: int) -> None:
        """Refuse an expression whose kind is not the one of its place."""
        if kind is not None and kind.depth != depth:
            self.refuse(node, f"have {kind} where {Kind(depth)} belongs")

    def qualifier(self, node: Node) -> bool:
        """Check a qualifier, which can only be `const`."""
        if text_of(node) != "const":
            self.refuse(node, f"use '{text_of(node)}'")
        return True

    def type_name(self, node: Node) -> str | None:
        """The name of a type, if it is allowed."""
        name = text_of(node)
        if name in self.allowed.types:
            return name
        self.refuse(node, f"use the type '{name}'")
        return None

    def initial(self, value: Node, kind: Kind) -> None:
        """Check what something of a kind is initialised with."""
        if value.type == "initializer_list":
            self._elements(value, kind)
            return
        given = self.expression(value)
        self.need(value, given, kind.depth)
        self._keep_const(value, given, kind)

    def _elements(self, node: Node, kind: Kind) -> None:
        if node.named_child_count > MOST_ELEMENTS:
            self.refuse(node, f"have a table of more than {MOST_ELEMENTS} elements")
            return
        self.elements += node.named_child_count
        if self.elements > MOST_IN_TABLES:
            self.refuse(node, f"have tables of more than {MOST_IN_TABLES:,} elements")
            return
        for child in node.named_children:
            self.initial(child, kind.element())

    def _keep_const(self, node: Node, given: Kind | None, wanted: Kind) -> None:
        if given is not None and given.depth and given.const and not wanted.const:
            self.refuse(node, "write through a pointer to what is constant")

    def _identifier(self, node: Node) -> Kind | None:
        name = text_of(node)
        if kind := self.scopes.find(name):
            if kind.batch:
                self.refuse(node, "use the batch but for its fields")
                return None
            return kind
        if name in self.allowed.constants:
            return VALUE
        self.refuse(node, f"name '{name}'")
        return None

    def _number(self, node: Node) -> Kind:
        if node.end_byte - node.start_byte > MOST_LITERAL:
            self.refuse(node, f"have a literal of more than {MOST_LITERAL} characters")
        return VALUE

    def _parenthesized(self, node: Node) -> Kind | None:
        return self.expression(node.named_children[0])

    def _binary(self, node: Node) -> Kind | None:
        operator = operator_of(node)
        nodes = node.named_children
        left, right = (self.expression(n) for n in nodes)
        if operator not in _ARITHMETIC:
            self.refuse(node, f"use the operator '{operator}'")
        if left is None or right is None:
            return None
        if operator == "+" and left.depth + right.depth == 1:
            return left if left.depth else right
        if operator == "-" and left.depth == 1 and not right.depth:
            return left
        for part, kind in zip(nodes, (left, right), strict=True):
            self.need(part, kind, 0)
        return VALUE

    def _unary(self, node: Node) -> Kind:
        if operator_of(node) not in ("-", "+", "~", "!"):
            self.refuse(node, f"use the operator '{operator_of(node)}'")
        inner = node.named_children[0]
        self.need(inner, self.expression(inner), 0)
        return VALUE

    def _update(self, node: Node) -> Kind | None:
        return self._target(node.named_children[0])

    def _target(self, node: Node) -> Kind | None:
        """The kind of what is assigned to."""
        if node.type not in ("identifier", "subscript_expression", "pointer_expression"):
            self.refuse(node, f"assign to {called(node)}")
            return None
        kind = self.expression(node)
        if kind is not None and kind.depth > 1:
            self.refuse(node, "assign to an array")
        return kind

    def _pointer(self, node: Node) -> Kind | None:
        inner = node.named_children[0]
        kind = self.expression(inner)
        if kind is None:
            return None
        if operator_of(node) == "*":
            self.need(inner, kind, 1)
            return VALUE
        if inner.type != "subscript_expression" or kind.depth:
            self.refuse(node, "take the address of what is no element of an array")
        return Kind(1, kind.const)

    def _subscript(self, node: Node) -> Kind | None:
        base, index = node.named_children
        self.need(index, self.expression(index), 0)
        kind = self.expression(base)
        return None if kind is None else kind.element()

    def _field(self, node: Node) -> Kind | None:
        owner, name = node.named_children
        kind = self.scopes.find(text_of(owner)) if owner.type == "identifier" else None
        what = self.allowed.fields.get(text_of(name))
        if kind is None or not kind.batch or what is None or operator_of(node) != "->":
            self.refuse(node, f"take the field '{text_of(name)}'")
            return None
        return Kind(1, const=True) if what == "p" else VALUE

    def _cast(self, node: Node) -> Kind | None:
        type_, value = (node.child_by_field_name(f) for f in ("type", "value"))
        assert type_ is not None and value is not None
        wanted = self._described(type_)
        given = self.expression(value)
        if wanted is None or given is None:
            return wanted
        if text_of(type_) != "void" and given.depth != wanted.depth:
            self.refuse(node, f"make {wanted} of {given}")
        self._keep_const(node, given, wanted if wanted.depth else Kind(0, const=True))
        return wanted

    def _described(self, node: Node) -> Kind | None:
        """The kind of the type in a cast."""
        const, stars = False, 0
        for child in node.named_children:
            if child.type == "type_qualifier":
                const |= self.qualifier(child)
            elif child.type == "abstract_pointer_declarator" and not child.named_child_count:
                stars += 1
            elif child.type in ("primitive_type", "type_identifier"):
                if text_of(child) != "void" and self.type_name(child) is None:
                    return None
            else:
                self.refuse(child, f"use {called(child)}")
                return None
        return Kind(stars, const and stars > 0)

    def _call(self, node: Node) -> Kind | None:
        function, given = (node.child_by_field_name(f) for f in ("function", "arguments"))
        assert function is not None and given is not None
        name = text_of(function)
        wanted = self.allowed.calls.get(name) if function.type == "identifier" else None
        if wanted is None or self.scopes.find(name):
            self.refuse(function, f"call '{name}'")
            return None
        nodes = given.named_children
        if len(nodes) != len(wanted):
            self.refuse(node, f"call '{name}' with {len(nodes)} arguments")
            return None
        for argument, letter in zip(nodes, wanted, strict=True):
            kind = self.expression(argument)
            self.need(argument, kind, 0 if letter == "x" else 1)
            if letter == "w":
                self._keep_const(argument, kind, Kind(1))
        return VALUE

    def _conditional(self, node: Node) -> Kind | None:
        parts = [node.child_by_field_name(f) for f in ("condition", "consequence", "alternative")]
        kinds = [None if part is None else self.expression(part) for part in parts]
        condition, yes, no = parts
        if condition is None or yes is None or no is None:
            self.refuse(node, "leave out a branch of a choice")
            return None
        self.need(condition, kinds[0], 0)
        if kinds[1] is None or kinds[2] is None:
            return None
        self.need(no, kinds[2], kinds[1].depth)
        return Kind(kinds[1].depth, kinds[1].const or kinds[2].const)

    def _assignment(self, node: Node) -> Kind | None:
        left, right = node.named_children
        operator = operator_of(node)
        if operator not in _ASSIGN:
            self.refuse(node, f"use the operator '{operator}'")
        target, value = self._target(left), self.expression(right)
        if target is None:
            return None
        if operator in ("+=", "-="):
            self.need(right, value, 0)
            return target
        self.need(right, value, target.depth)
        self._keep_const(right, value, target if operator == "=" else VALUE)
        return target

    def _literal(self, node: Node) -> Kind | None:
        type_, value = (node.child_by_field_name(f) for f in ("type", "value"))
        assert type_ is not None and value is not None
        kind = self._described(type_)
        if kind is not None and kind.depth:
            self.refuse(type_, "have a pointer without a name")
            return None
        self._elements(value, VALUE)
        return kind


def text_of(node: Node) -> str:
    """The source of a node."""
    raw = node.text
    assert raw is not None
    return raw.decode()


def operator_of(node: Node) -> str:
    """The operator of an expression."""
    operator = node.child_by_field_name("operator")
    return "" if operator is None else operator.type


_NAMES = {
    "storage_class_specifier": "a storage class",
    "function_declarator": "a function",
    "function_definition": "a function",
    "parenthesized_declarator": "a pointer to a function or an array",
    "labeled_statement": "a label",
    "goto_statement": "goto",
    "struct_specifier": "a struct",
    "union_specifier": "a union",
    "enum_specifier": "an enum",
    "type_definition": "a type of its own",
    "compound_statement": "a statement as an expression",
    "attribute_specifier": "an attribute",
    "sizeof_expression": "sizeof",
}


def called(node: Node) -> str:
    """What a node is called in a message."""
    return _NAMES.get(node.type, f"{node.type.replace('_', ' ')}")
