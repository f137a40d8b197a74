"""Parts and views of a module as text: one function, no kernel bodies, the users of each value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer

from metainfer.ir.symbols import symbol_name


@dataclass(frozen=True)
class View:
    """What of a module is shown, and how."""

    generic: bool = False
    locations: bool = False
    only: tuple[str, ...] = ()
    """Symbols to show; all of the module if empty."""
    elide_bodies: bool = False
    """Show one line instead of the text of a kernel's body."""
    users: bool = False
    """Say after each op who uses its results."""

    def text(self, module: ModuleOp) -> str:
        """The view of `module`, ending in a newline unless there is nothing to show."""
        if self.elide_bodies:
            module = module.clone()
            _elide(module)
        printer = self._printer(module)
        shown = list(_named(module, self.only)) if self.only else [module]
        for op in shown:
            printer.print_op(op)
            printer.print_string("\n")
        stream = printer.stream
        assert isinstance(stream, StringIO)
        return stream.getvalue()

    def _printer(self, module: ModuleOp) -> Printer:
        if not self.users:
            return _ViewPrinter(self)
        names = _Names(self)
        for op in _named(module, self.only) if self.only else [module]:
            names.print_op(op)
        return _WithUsers(self, names.names)


def symbol_names(module: ModuleOp) -> list[str]:
    """Every symbol that `View.only` can name, in order."""
    return [name for op in _symbol_ops(module) if (name := symbol_name(op)) is not None]


def _symbol_ops(module: ModuleOp) -> Iterator[Operation]:
    """Symbols of the module, and those of the programs in it."""
    for op in module.ops:
        if symbol_name(op) is not None:
            yield op
        for region in op.regions:
            for block in region.blocks:
                yield from (inner for inner in block.ops if symbol_name(inner) is not None)


def _named(module: ModuleOp, names: tuple[str, ...]) -> Iterator[Operation]:
    return (op for op in _symbol_ops(module) if symbol_name(op) in names)


def _elide(module: ModuleOp) -> None:
    for op in module.walk():
        body = op.properties.get("body")
        if isinstance(body, ArrayAttr):
            op.properties["body"] = ArrayAttr([StringAttr(f"/* {len(body)} lines */")])


class _ViewPrinter(Printer):
    """xDSL's printer, into a string, in the form that a view asks for."""

    def __init__(self, view: View) -> None:
        super().__init__(
            StringIO(), print_generic_format=view.generic, print_debuginfo=view.locations
        )


class _Names(_ViewPrinter):
    """Only collects the name that each value is printed with."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.names: dict[SSAValue, str] = {}

    def print_ssa_value(self, value: SSAValue) -> str:
        name = super().print_ssa_value(value)
        self.names[value] = name
        return name


class _WithUsers(_ViewPrinter):
    """Ends an op that has results with a comment: MLIR's `// users: %y, "func.return"`."""

    def __init__(self, view: View, names: dict[SSAValue, str]) -> None:
        super().__init__(view)
        self._names = names

    def print_op(self, op: Operation) -> None:
        super().print_op(op)
        if not op.results:
            return
        # xDSL keeps the newest use first.
        uses = [use for result in op.results for use in reversed(list(result.uses))]
        users = dict.fromkeys(use.operation for use in uses)
        self.print_string(f"  // users: {', '.join(map(self._user, users)) or 'none'}")

    def _user(self, op: Operation) -> str:
        if not op.results:
            return f'"{op.name}"'
        return ", ".join(f"%{self._names[result]}" for result in op.results)
