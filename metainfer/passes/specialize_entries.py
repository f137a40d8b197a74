"""`specialize-entries`: one copy of the model per box of (tokens, seqs).

before: func @layer, func @forward, tokens = 1 to 512
after:  @decode_layer, @decode_forward (tokens = 1 to 4), @prefill_layer, @prefill_forward
        (tokens = 5 to 512); boxes are disjoint and cover the range
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer
from metainfer.ir.dims import RangesAttr
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import PerfRule
from metainfer.passes.base import Choice, MetaPass, decide, derived
from metainfer.passes.context import knowledge_of

Box = tuple[int, int]


def ranges_of(function: func.FuncOp) -> dict[str, Box]:
    """The declared ranges of a function's dimensions."""
    dims = function.attributes.get("dims")
    return dims.as_dict() if isinstance(dims, RangesAttr) else {}


def boxes_text(boxes: dict[str, Box]) -> str:
    """`decode 1..4, prefill 5..512`."""
    return ", ".join(f"{name} {a}..{b}" for name, (a, b) in boxes.items())


def parse_boxes(text: str, whole: Box) -> dict[str, Box]:
    """The boxes of `boxes_text`; they must be disjoint, ascending and cover `whole`."""
    boxes: dict[str, Box] = {}
    expected = whole[0]
    for part in text.split(","):
        name, _, span = part.strip().partition(" ")
        first, _, last = span.partition("..")
        if not (name.isidentifier() and first.isdigit() and last.isdigit()):
            raise error(f"not a list of entries: {text}", help="write: decode 1..4, prefill 5..512")
        if int(first) != expected or int(last) < expected or name in boxes:
            raise error(f"entry {name} {span} must start at {expected} and end at or after it")
        boxes[name] = (int(first), int(last))
        expected = int(last) + 1
    if expected != whole[1] + 1:
        raise error(f"entries end at {expected - 1} tokens, a step has up to {whole[1]}")
    return boxes


def rule_boxes(whole: Box, rule: PerfRule) -> dict[str, Box]:
    """The contract's entries, cut to the range of the model."""
    boxes: dict[str, Box] = {}
    first = whole[0]
    for name, last in rule.entries.items():
        if first > whole[1]:
            break
        boxes[name] = (first, min(last, whole[1]))
        first = boxes[name][1] + 1
    return boxes


@dataclass(frozen=True)
class SpecializeEntries(MetaPass):
    """Copies every function per entry and renames schedules to match."""

    name = "specialize-entries"
    summary: ClassVar[str] = "copy the model's functions per box of (tokens, seqs)"
    requires: ClassVar[str] = "expand-model"
    entries: str | None = None
    """Boxes that cover all token counts, as `decode 1..4, prefill 5..512`; default: the plan's."""

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        whole = _whole(module)
        if whole is None:
            return []
        rule = knowledge.get("perf_rule/cpu_entries", PerfRule)
        value = boxes_text(rule_boxes(whole, rule))
        single = boxes_text({"step": whole})
        return [Choice("model", "entries", value, (value, single), "chosen", "rule", f"{rule.id}")]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        whole = _whole(op)
        self.need(whole is not None)
        assert whole is not None
        rule = knowledge_of(ctx).get("perf_rule/cpu_entries", PerfRule)
        text = decide(
            op, "model", "entries", lambda: boxes_text(rule_boxes(whole, rule)), self.entries
        )
        functions = all_of(op, func.FuncOp)
        for name, box in parse_boxes(text, whole).items():
            names = {f.sym_name.data: f"{name}_{f.sym_name.data}" for f in functions}
            for function in functions:
                op.body.block.add_op(_copy(function, names, box))
        for function in functions:
            function.detach()
            function.erase()


def _whole(module: ModuleOp) -> Box | None:
    for function in all_of(module, func.FuncOp):
        if function.sym_name.data == "forward":
            return ranges_of(function).get("tokens")
    return None


def _copy(function: func.FuncOp, names: dict[str, str], box: Box) -> func.FuncOp:
    copy = function.clone()
    copy.properties["sym_name"] = StringAttr(names[function.sym_name.data])
    copy.attributes["dims"] = RangesAttr.of(ranges_of(function) | {"tokens": box})
    derived(copy, function, SpecializeEntries.name)
    for op in copy.walk():
        if isinstance(op, infer.LayersOp):
            op.properties["schedule"] = op.schedule.renamed(names)
    return copy
