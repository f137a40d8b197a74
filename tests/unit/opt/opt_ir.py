"""IR and passes that several tests use."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from metainfer.driver.session import reading_context
from metainfer.ir.diagnostics import error
from metainfer.ir.text import parse_module, place_of

X = "tensor<?x8xf32, #infer.dims<tokens, _>>"
ADD = f"""\
func.func @f(%a: {X}, %b: {X}) -> {X} attributes {{dims = #infer.ranges<tokens = 1 to 9>}} {{
  %c = infer.add %a, %b : {X}
  %d = infer.add %c, %b : {X}
  func.return %d : {X}
}}
"""


def module_of(text: str, name: str = "in.mlir") -> ModuleOp:
    """The module that a text spells."""
    return parse_module(text, name, reading_context())


@dataclass(frozen=True)
class Tag(ModulePass):
    """Writes an attribute; with `text=` of one that is there already it changes nothing."""

    name = "tag"
    text: str = "t"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes[self.text] = StringAttr("seen")


@dataclass(frozen=True)
class Refuse(ModulePass):
    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["half"] = StringAttr("done")
        raise error("not this", place_of(next(iter(op.ops))))


@dataclass(frozen=True)
class Break(ModulePass):
    """Leaves an op in the wrong order."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(iter(next(iter(op.ops)).regions[0].block.ops))
        last = first.next_op
        assert last is not None
        first.detach()
        last.parent_block().insert_op_after(first, last)  # type: ignore[union-attr]
