"""The policy over the syntax tree of a body: what is not listed here, no body may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from metainfer.verify.sandbox.allowed import Allowed
from metainfer.verify.sandbox.expressions import (
    MOST_DEPTH,
    MOST_ELEMENTS,
    Expressions,
    called,
    operator_of,
    text_of,
)
from metainfer.verify.sandbox.kinds import Kind
from metainfer.verify.sandbox.text import Breach

if TYPE_CHECKING:
    from tree_sitter import Node

HEAD = "void body(void) {\n"
MOST_LOCAL_BYTES = 4 << 20
"""Of all arrays: half the stack that a thread has."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_DECIDE = ("if_statement", "while_statement", "do_statement")
_DECLARATORS = ("identifier", "pointer_declarator", "array_declarator")


def grammar_breaches(text: str, parameters: Mapping[str, Kind], allowed: Allowed) -> list[Breach]:
    """Breaches of a body without comments, in order."""
    from tree_sitter import Language, Parser
    from tree_sitter_c import language

    source = f"{HEAD}{text}\n}}\n".encode()
    walk = _Statements(parameters, allowed, len(HEAD))
    try:
        walk.function(Parser(Language(language())).parse(source).root_node)
    except RecursionError:
        walk.breaches.append(Breach(0, 1, f"nest deeper than {MOST_DEPTH}"))
    return walk.breaches


class _Statements(Expressions):
    def __init__(self, parameters: Mapping[str, Kind], allowed: Allowed, offset: int) -> None:
        super().__init__(parameters, allowed, offset)
        self.local_bytes = 0
        self.statements: dict[str, Callable[[Node], None]] = {
            "compound_statement": self._compound,
            "declaration": self._declaration,
            "expression_statement": self._parts,
            "for_statement": self._for,
            "if_statement": self._parts,
            "else_clause": self._parts,
            "while_statement": self._parts,
            "do_statement": self._parts,
            "break_statement": self._nothing,
            "continue_statement": self._nothing,
            "return_statement": self._return,
        }

    def function(self, root: Node) -> None:
        """Check the only function of a file."""
        functions = root.named_children
        if root.has_error:
            self._unreadable(root)
        elif len(functions) != 1 or functions[0].type != "function_definition":
            self.refuse(functions[-1], "close the function it is in")
        else:
            body = functions[0].child_by_field_name("body")
            assert body is not None
            self.statement(body)

    def _unreadable(self, node: Node) -> None:
        """Note every place where the text is no C."""
        if node.is_error or node.is_missing:
            self.refuse(node, "hold what is no C statement")
            return
        for child in node.children:
            if child.has_error or child.is_missing:
                self._unreadable(child)

    def statement(self, node: Node) -> None:
        """Check a statement."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            self.refuse(node, f"nest deeper than {MOST_DEPTH}")
        elif check := self.statements.get(node.type):
            check(node)
        else:
            self.refuse(node, f"use {called(node)}")
        self.depth -= 1

    def _compound(self, node: Node) -> None:
        self.scopes.blocks.append({})
        for child in node.named_children:
            self.statement(child)
        self.scopes.blocks.pop()

    def _parts(self, node: Node) -> None:
        for child in node.named_children:
            if child.type in self.statements:
                self.statement(child)
            elif node.type in _DECIDE:
                self.need(child, self.expression(child), 0)
            else:
                self._sequence(child)

    def _sequence(self, node: Node) -> None:
        """One expression, or several joined by commas."""
        if node.type == "comma_expression":
            for child in node.named_children:
                self._sequence(child)
        else:
            self.expression(node)

    def _for(self, node: Node) -> None:
        self.scopes.blocks.append({})
        for name in ("initializer", "condition", "update", "body"):
            child = node.child_by_field_name(name)
            if child is None:
                continue
            if child.type in self.statements:
                self.statement(child)
            elif name == "condition":
                self.need(child, self.expression(child), 0)
            else:
                self._sequence(child)
        self.scopes.blocks.pop()

    def _nothing(self, node: Node) -> None:
        pass

    def _return(self, node: Node) -> None:
        if node.named_child_count:
            self.refuse(node, "return a value")

    def _declaration(self, node: Node) -> None:
        const, type_ = False, None
        for child in node.named_children:
            if child.type == "type_qualifier":
                const |= self.qualifier(child)
            elif child.type in ("primitive_type", "type_identifier"):
                type_ = self.type_name(child)
            elif child.type in ("init_declarator", *_DECLARATORS):
                self._declared(child, const, type_)
            else:
                self.refuse(child, f"use {called(child)}")
                return

    def _declared(self, node: Node, const: bool, type_: str | None) -> None:
        declarator: Node | None = node
        value = None
        if node.type == "init_declarator":
            declarator = node.child_by_field_name("declarator")
            value = node.child_by_field_name("value")
        assert declarator is not None
        name, kind = self._declarator(declarator, const, type_)
        # C declares the name before its initializer; a body that would use it there has no value.
        if value is not None and kind is not None:
            self.initial(value, kind)
        if name is not None and kind is not None:
            self.scopes.declare(name, kind)

    def _declarator(
        self, node: Node, const: bool, type_: str | None
    ) -> tuple[str | None, Kind | None]:
        depth, stars, elements = 0, 0, 1
        inner: Node | None = node
        while inner is not None and inner.type in ("pointer_declarator", "array_declarator"):
            if inner.type == "pointer_declarator":
                stars += 1
                for child in inner.named_children[:-1]:
                    self._pointer_qualifier(child)
            else:
                elements *= self._array_size(inner)
            depth += 1
            inner = inner.child_by_field_name("declarator")
        if inner is None or inner.type != "identifier" or stars > 1 or depth > 3:
            self.refuse(node, f"declare {called(inner or node)}")
            return None, None
        if depth > stars and type_ is not None:
            self._count(node, elements * (8 if stars else self.allowed.types[type_]))
        return self._new_name(inner), Kind(depth, const and depth > 0)

    def _pointer_qualifier(self, node: Node) -> None:
        if node.type == "type_qualifier" and text_of(node) in ("const", "restrict"):
            return
        self.refuse(node, f"use {called(node)}")

    def _new_name(self, node: Node) -> str | None:
        name = text_of(node)
        taken = (self.allowed.calls, self.allowed.constants, self.allowed.types)
        if not _NAME.fullmatch(name) or any(name in names for names in taken):
            self.refuse(node, f"call something of its own '{name}'")
            return None
        return name

    def _array_size(self, node: Node) -> int:
        size = node.child_by_field_name("size")
        if size is None:
            return MOST_ELEMENTS  # the initializer counts them, and has no more
        count = self._constant(size)
        if count is None:
            self.refuse(size, "have an array whose size is no constant")
        return count or 0

    def _constant(self, node: Node) -> int | None:
        """The largest value of a constant expression; None where it is none."""
        if node.type == "number_literal":
            return (
                int(text_of(node)) if text_of(node).isdigit() and len(text_of(node)) < 12 else None
            )
        if node.type == "identifier":
            return self.allowed.constants.get(text_of(node))
        if node.type == "parenthesized_expression":
            return self._constant(node.named_children[0])
        if node.type != "binary_expression":
            return None
        left, right = (self._constant(c) for c in node.named_children)
        if left is None or right is None:
            return None
        operator = operator_of(node)
        if operator == "/":
            return left  # its divisor is at least one
        known = {"+": left + right, "*": left * right, "-": left}
        return known.get(operator)

    def _count(self, node: Node, size: int) -> None:
        self.local_bytes += size
        if self.local_bytes > MOST_LOCAL_BYTES:
            self.refuse(node, f"have more than {MOST_LOCAL_BYTES:,} bytes of arrays")
