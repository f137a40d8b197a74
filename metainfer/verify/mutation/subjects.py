"""The kernels that are spoiled, with the rules' bodies."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from xdsl.dialects.builtin import ModuleOp, TensorType

from metainfer.codegen.c.lower import lower
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.knowledge.base import Knowledge
from metainfer.passes.context import CompilerContext
from metainfer.passes.imports import import_format, import_layout, import_path
from metainfer.verify.cases import semantics

SOURCE = "subjects.mlir"


@dataclass(frozen=True)
class Subject:
    """A kernel, its module and the lines of its correct body."""

    func: kernel.FuncOp
    module: ModuleOp
    body: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.func.sym_name.data

    @property
    def op(self) -> str:
        """The op class that reports count it under."""
        return semantics(self.func)[0].name.removeprefix("infer.")


def subjects(knowledge: Knowledge) -> list[Subject]:
    """All subjects, with formats, layouts and path from `knowledge`."""
    text = (files("metainfer.verify.mutation") / SOURCE).read_text(encoding="utf-8")
    module = parse_module(text, SOURCE, CompilerContext())
    kernels = all_of(module, kernel.FuncOp)
    inputs = [t for func in kernels for t in func.function_type.inputs]
    elements = [t.element_type for t in inputs if isinstance(t, TensorType)]
    for name in sorted({e.format.data for e in elements if isinstance(e, infer.QuantType)}):
        import_format(module, name, knowledge)
    for layout in ("rows16", "kv_blocks16"):
        import_layout(module, layout, knowledge)
    import_path(module, "f32_rows16", knowledge)
    return [Subject(func, module, tuple(lower(func, module))) for func in kernels]
