"""The one layout of a `.mispec` file: words and comments stay, spaces and line ends are ours.

A block keeps its line if it stood on one and fits; else each of its statements has a line. At most
one blank line stays between two lines, none after '{' or before '}'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from metainfer.spec.syntax import join_words, parse_statements
from metainfer.spec.words import Piece, lines_of, pieces_of

WIDTH = 100
"""Columns of a line; a block that needs more is broken."""
INDENT = "  "


@dataclass
class _Node:
    """A statement, or a comment on a line of its own, and what belongs to it."""

    text: str
    """The words, or the comment."""
    last: int
    """Line that the node ends on."""
    blank: bool = False
    """Whether a blank line goes before it."""
    block: list[_Node] | None = None
    inline: bool = False
    """Whether the block stood on one line."""
    opening: str = ""
    """Comment after the '{' of the block."""
    trailing: str = ""
    """Comment after the whole."""


def format_text(text: str, filename: str) -> str:
    """`text` in our layout; formatting that again changes nothing.

    Raises `DiagnosticError` where the text is no sequence of statements; what its words mean is
    not looked at.
    """
    parse_statements(text, filename)
    nodes = _Parser(text).nodes()
    return "".join(f"{line}\n" for line in _lines(nodes, ""))


# === Layout ===


def _lines(nodes: list[_Node], indent: str) -> Iterator[str]:
    for number, node in enumerate(nodes):
        if node.blank and number:
            yield ""
        yield from _node_lines(node, indent)


def _node_lines(node: _Node, indent: str) -> Iterator[str]:
    trailing = f" {node.trailing}" if node.trailing else ""
    whole = _on_one_line(node)
    if node.block is None or (whole is not None and len(indent + whole) <= WIDTH):
        yield f"{indent}{whole}{trailing}"
        return
    opening = f" {node.opening}" if node.opening else ""
    yield f"{indent}{node.text} {{{opening}"
    yield from _lines(node.block, indent + INDENT)
    yield f"{indent}}}{trailing}"


def _on_one_line(node: _Node) -> str | None:
    """The statement without its trailing comment; None if its block needs lines of its own."""
    if node.block is None:
        return node.text
    commented = any(child.trailing or _is_comment(child) for child in node.block)
    inner = [_on_one_line(child) for child in node.block]
    if not node.inline or node.opening or commented or None in inner:
        return None
    inside = "; ".join(part for part in inner if part)
    return f"{node.text} {{ {inside} }}" if inside else f"{node.text} {{ }}"


def _is_comment(node: _Node) -> bool:
    return node.text.startswith("//")


# === Structure ===


@dataclass
class _Parser:
    """Reads pieces into nodes; the text is known to be a sequence of statements."""

    text: str
    _stack: list[list[_Node]] = field(default_factory=lambda: [[]])
    _opened: list[int] = field(default_factory=list)
    """Lines of the braces that are open."""

    def nodes(self) -> list[_Node]:
        last = 0
        for line, text in enumerate(lines_of(self.text), 1):
            for piece in pieces_of(text):
                self._piece(piece, line, blank=line - last > 1)
                last = line
        return self._stack[0]

    def _piece(self, piece: Piece, line: int, *, blank: bool) -> None:
        match piece.kind:
            case "words":
                self._stack[-1].append(_Node(join_words(piece.words), line, blank))
            case "{":
                self._open(line)
            case "}":
                self._close(line)
            case "comment":
                self._comment(piece.text.rstrip(), line, blank)

    def _open(self, line: int) -> None:
        """The statement before the brace gets a block; comments between move into it."""
        nodes = self._stack[-1]
        at = max(i for i, node in enumerate(nodes) if not _is_comment(node))
        owner, between = nodes[at], nodes[at + 1 :]
        del nodes[at + 1 :]
        owner.block, owner.opening, owner.trailing = [], owner.trailing, ""
        owner.block += between
        self._opened.append(line)
        self._stack.append(owner.block)

    def _close(self, line: int) -> None:
        self._stack.pop()
        owner = self._stack[-1][-1]
        owner.inline = self._opened.pop() == line
        owner.last = line

    def _comment(self, text: str, line: int, blank: bool) -> None:
        nodes = self._stack[-1]
        if nodes and nodes[-1].last == line and not nodes[-1].trailing:
            nodes[-1].trailing = text
        elif not nodes and line in self._opened[-1:] and not self._stack[-2][-1].opening:
            self._stack[-2][-1].opening = text
        else:
            nodes.append(_Node(text, line, blank))
