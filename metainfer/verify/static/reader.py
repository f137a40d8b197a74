"""From the text of a body to its tree. What is not listed here is a finding.

Every declaration gets a slot, so that names are resolved once and shadowing is no matter later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from metainfer.verify.static import tree
from metainfer.verify.static.literals import literal
from metainfer.verify.static.tree import Expr, Place, Stmt
from metainfer.verify.static.values import INT, TYPES, CType, Finding

if TYPE_CHECKING:
    from tree_sitter import Node

HEAD = b"void body(void) {\n"
CONSTANTS = ("MI_LANES", "MI_V", "MI_N", "INFINITY", "INT32_MAX", "INT32_MIN")


class NotUnderstood(Exception):
    """A construct that has no meaning here."""

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(what)
        self.finding = Finding(place.line, place.text, f"{what} is not understood")


@lru_cache(maxsize=256)
def read_body(text: str, parameters: tuple[str, ...]) -> Stmt:
    """The tree of a body; parameter i has slot i. Raises `NotUnderstood`."""
    from tree_sitter import Language, Parser
    from tree_sitter_c import language

    source = HEAD + text.encode() + b"\n}\n"
    root = Parser(Language(language())).parse(source).root_node
    reader = _Reader(source, parameters)
    if root.has_error:
        bad = next(n for n in _walk(root) if n.is_error or n.is_missing)
        raise reader.refused(bad, "what is no C statement")
    functions = root.named_children
    if len(functions) != 1 or functions[0].type != "function_definition":
        raise reader.refused(functions[-1], "what closes the function it is in")
    return reader.statement(reader.child(functions[0], "body"))


def _walk(node: Node) -> Iterable[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else operator.type


def _children(node: Node) -> list[Node]:
    return [c for c in node.named_children if c.type != "comment"]


class _Reader:
    def __init__(self, source: bytes, parameters: Sequence[str]) -> None:
        self.source = source
        self.scopes: list[dict[str, int]] = [{n: i for i, n in enumerate(parameters)}]
        self.slots = len(parameters)
        self.loops: list[tree.Loop] = []
        self.expressions: dict[str, Callable[[Node], Expr]] = {
            "identifier": self._identifier,
            "number_literal": lambda n: literal(self.place(n), _text(n)),
            "parenthesized_expression": lambda n: self.expression(_children(n)[0]),
            "binary_expression": self._binary,
            "unary_expression": self._unary,
            "conditional_expression": self._choice,
            "subscript_expression": self._subscript,
            "pointer_expression": self._pointer,
            "field_expression": self._field,
            "cast_expression": self._cast,
            "call_expression": self._call,
            "sizeof_expression": self._sizeof,
            "initializer_list": self._braces,
            "compound_literal_expression": self._compound_literal,
        }
        self.statements: dict[str, Callable[[Node], Stmt]] = {
            "compound_statement": self._block,
            "expression_statement": self._evaluated,
            "if_statement": self._if,
            "for_statement": self._for,
            "while_statement": self._while,
            "return_statement": self._leave,
            "break_statement": self._leave,
            "continue_statement": self._leave,
            "declaration": lambda n: tree.Block(self.place(n), self._declarations(n)),
        }

    def place(self, node: Node) -> Place:
        """Where a node stands."""
        return Place(node.start_point[0], self.source, node.start_byte, node.end_byte)

    def refused(self, node: Node, what: str) -> NotUnderstood:
        """An error about a node."""
        return NotUnderstood(self.place(node), what)

    def child(self, node: Node, name: str) -> Node:
        """The child that plays a part in a node."""
        child = node.child_by_field_name(name)
        if child is None:
            raise self.refused(node, f"a {node.type.replace('_', ' ')} without {name}")
        return child

    # Statements

    def statement(self, node: Node) -> Stmt:
        """The tree of a statement."""
        if read := self.statements.get(node.type):
            return read(node)
        raise self.refused(node, f"a {node.type.replace('_', ' ')}")

    def _block(self, node: Node) -> Stmt:
        self.scopes.append({})
        body = [self.statement(c) for c in _children(node)]
        self.scopes.pop()
        return tree.Block(self.place(node), body)

    def _evaluated(self, node: Node) -> Stmt:
        steps = [s for c in _children(node) for s in self._steps(c)]
        return steps[0] if len(steps) == 1 else tree.Block(self.place(node), steps)

    def _steps(self, node: Node) -> list[Stmt]:
        """Assignments and calls, joined by commas."""
        place = self.place(node)
        if node.type == "comma_expression":
            return [s for c in _children(node) for s in self._steps(c)]
        if node.type == "update_expression":
            one = tree.Literal(place, 1, INT)
            return [self._assigned(node, self.child(node, "argument"), _operator(node)[0], one)]
        if node.type == "assignment_expression":
            value = self.expression(self.child(node, "right"))
            operator = _operator(node).removesuffix("=")
            return [self._assigned(node, self.child(node, "left"), operator, value)]
        return [tree.Evaluate(place, self.expression(node))]

    def _assigned(self, node: Node, target: Node, operator: str, value: Expr) -> Stmt:
        assign = tree.Assign(self.place(node), self.expression(target), operator, value)
        if isinstance(assign.target, tree.Variable):
            for loop in self.loops:
                loop.writes.setdefault(assign.target.slot, []).append(assign)
        return assign

    def _if(self, node: Node) -> Stmt:
        condition = self.expression(self.child(node, "condition"))
        yes = self.statement(self.child(node, "consequence"))
        other = node.child_by_field_name("alternative")
        no = None if other is None else self.statement(_children(other)[0])
        return tree.If(self.place(node), condition, yes, no)

    def _for(self, node: Node) -> Stmt:
        self.scopes.append({})
        first: list[Stmt] = []
        if (given := node.child_by_field_name("initializer")) is not None:
            declares = given.type == "declaration"
            first = self._declarations(given) if declares else self._steps(given)
        loop = self._loop(node, first)
        self.scopes.pop()
        return loop

    def _while(self, node: Node) -> Stmt:
        return self._loop(node, [])

    def _loop(self, node: Node, first: list[Stmt]) -> Stmt:
        condition = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        inner = self.child(node, "body")
        head = Place(node.start_point[0], self.source, node.start_byte, inner.start_byte)
        loop = tree.Loop(head, first, None, (), tree.Block(head, ()))
        before = self.slots
        self.loops.append(loop)
        loop.condition = None if condition is None else self.expression(condition)
        loop.plain = loop.condition is not None and tree.plain(loop.condition)
        loop.body = tree.Block(head, [self.statement(inner)])
        loop.update = () if update is None else self._steps(update)
        self.loops.pop()
        loop.writes = {s: w for s, w in loop.writes.items() if s < before}
        loop.steady = _steady(loop)
        return loop

    def _leave(self, node: Node) -> Stmt:
        if _children(node):
            raise self.refused(node, "a returned value")
        word = node.type.removesuffix("_statement")
        if word == "break":
            if not self.loops:
                raise self.refused(node, "a break outside of a loop")
            self.loops[-1].breaks = True
        return tree.Leave(self.place(node), word)

    # Declarations

    def _declarations(self, node: Node) -> list[Stmt]:
        const, type_ = False, None
        found: list[Stmt] = []
        for child in _children(node):
            if child.type == "type_qualifier" and _text(child) == "const":
                const = True
            elif child.type in ("primitive_type", "type_identifier"):
                type_ = self._type(child)
            elif type_ is not None:
                found.append(self._declared(child, type_, const))
            else:
                raise self.refused(child, f"a {child.type.replace('_', ' ')}")
        return found

    def _declared(self, node: Node, type_: CType, const: bool) -> Stmt:
        place, value, declarator = self.place(node), None, node
        if node.type == "init_declarator":
            declarator = self.child(node, "declarator")
            value = self.expression(self.child(node, "value"))
        pointer, dims = False, list[Expr | None]()
        while declarator.type in ("pointer_declarator", "array_declarator"):
            if declarator.type == "pointer_declarator":
                if pointer or dims:
                    raise self.refused(node, "a pointer to, or an array of, pointers")
                pointer = True
            else:
                size = declarator.child_by_field_name("size")
                dims.insert(0, None if size is None else self.expression(size))
            declarator = self.child(declarator, "declarator")
        if declarator.type != "identifier" or (pointer and dims):
            raise self.refused(node, f"a {declarator.type.replace('_', ' ')}")
        slot, name = self.slots, _text(declarator)
        self.slots += 1
        self.scopes[-1][name] = slot
        return tree.Declare(place, slot, name, type_, pointer, const, dims, value)

    def _type(self, node: Node) -> CType:
        if known := TYPES.get(_text(node)):
            return known
        raise self.refused(node, f"the type '{_text(node)}'")

    def _described(self, node: Node) -> tuple[CType, bool]:
        """The type of a cast, and whether it is a pointer to that."""
        type_, pointer = None, False
        for child in _children(node):
            if child.type == "abstract_pointer_declarator" and not child.named_child_count:
                pointer = True
            elif child.type in ("primitive_type", "type_identifier"):
                type_ = self._type(child)
            elif child.type != "type_qualifier" or _text(child) != "const":
                raise self.refused(node, f"a {child.type.replace('_', ' ')}")
        if type_ is None:
            raise self.refused(node, "a cast to no type")
        return type_, pointer

    # Expressions

    def expression(self, node: Node) -> Expr:
        """The tree of an expression that assigns nothing."""
        if read := self.expressions.get(node.type):
            return read(node)
        raise self.refused(node, f"a {node.type.replace('_', ' ')}")

    def _identifier(self, node: Node) -> Expr:
        name, place = _text(node), self.place(node)
        for scope in reversed(self.scopes):
            if name in scope:
                return tree.Variable(place, scope[name], name)
        if name in CONSTANTS:
            return tree.Constant(place, name)
        raise self.refused(node, f"the name '{name}'")

    def _binary(self, node: Node) -> Expr:
        left, right = (self.expression(self.child(node, n)) for n in ("left", "right"))
        return tree.Binary(self.place(node), _operator(node), left, right)

    def _unary(self, node: Node) -> Expr:
        return tree.Unary(
            self.place(node), _operator(node), self.expression(self.child(node, "argument"))
        )

    def _choice(self, node: Node) -> Expr:
        names = ("condition", "consequence", "alternative")
        condition, yes, no = (self.expression(self.child(node, n)) for n in names)
        return tree.Choice(self.place(node), condition, yes, no)

    def _subscript(self, node: Node) -> Expr:
        base, index = (self.expression(self.child(node, n)) for n in ("argument", "index"))
        return tree.Index(self.place(node), base, index)

    def _pointer(self, node: Node) -> Expr:
        argument = self.expression(self.child(node, "argument"))
        if _operator(node) == "*":
            return tree.Deref(self.place(node), argument)
        return tree.AddressOf(self.place(node), argument)

    def _field(self, node: Node) -> Expr:
        owner = self.expression(self.child(node, "argument"))
        return tree.FieldOf(self.place(node), owner, _text(self.child(node, "field")))

    def _cast(self, node: Node) -> Expr:
        if _text(self.child(node, "type")) == "void":
            return self.expression(self.child(node, "value"))
        type_, pointer = self._described(self.child(node, "type"))
        return tree.Cast(
            self.place(node), type_, pointer, self.expression(self.child(node, "value"))
        )

    def _call(self, node: Node) -> Expr:
        function = self.child(node, "function")
        given = _children(self.child(node, "arguments"))
        if function.type == "parenthesized_expression" and len(given) == 1:
            # To a parser without types, `(vf)(x)` is a call.
            type_ = self._type(_children(function)[0])
            return tree.Cast(self.place(node), type_, False, self.expression(given[0]))
        if function.type != "identifier":
            raise self.refused(node, "a call of what is no name")
        arguments = [self.expression(a) for a in given]
        return tree.Call(self.place(node), _text(function), arguments)

    def _sizeof(self, node: Node) -> Expr:
        described = node.child_by_field_name("type")
        if described is not None:
            type_, pointer = self._described(described)
            if not pointer:
                return tree.SizeOf(self.place(node), type_, None)
        else:
            value = self.expression(self.child(node, "value"))
            if isinstance(value, tree.Variable):
                return tree.SizeOf(self.place(node), None, value.slot)
        raise self.refused(node, "the size of what is neither a type nor a variable")

    def _braces(self, node: Node) -> Expr:
        return tree.Braces(self.place(node), None, [self.expression(c) for c in _children(node)])

    def _compound_literal(self, node: Node) -> Expr:
        type_, pointer = self._described(self.child(node, "type"))
        if pointer:
            raise self.refused(node, "a pointer without a name")
        elements = [self.expression(c) for c in _children(self.child(node, "value"))]
        return tree.Braces(self.place(node), type_, elements)


def _steady(loop: tree.Loop) -> set[int]:
    """Slots assigned once in a turn: in the update, or in the body itself if no turn skips it."""
    once = {s for s, writes in loop.writes.items() if len(writes) == 1}
    sure = {id(s) for s in loop.update}
    if not _skips(loop.body):
        sure |= {id(s) for s in _top(loop.body)}
    return {s for s in once if id(loop.writes[s][0]) in sure}


def _top(stmt: Stmt) -> Iterable[Stmt]:
    """Statements of a block and of the plain blocks in it."""
    if not isinstance(stmt, tree.Block):
        yield stmt
        return
    for inner in stmt.body:
        yield from _top(inner)


def _skips(stmt: Stmt | None) -> bool:
    """Whether a `continue` stands in it that ends a turn of the loop around it."""
    if isinstance(stmt, tree.Block):
        return any(_skips(s) for s in stmt.body)
    if isinstance(stmt, tree.If):
        return _skips(stmt.yes) or _skips(stmt.no)
    return isinstance(stmt, tree.Leave) and stmt.word == "continue"
