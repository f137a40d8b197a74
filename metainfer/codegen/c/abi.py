"""The C signature of a kernel, derived from its `kernel.func`.

Order: each named leading dimension as `int32_t`; the arguments, a packed matrix as one pointer per
field of its format and a state as its two slabs; the tensor results; `part` and `parts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup
from metainfer.passes.sizes import weight_format

Role = Literal[
    "dim", "tensor", "vector", "packed", "batch", "state_k", "state_v", "out", "part", "parts"
]


@dataclass(frozen=True)
class CArg:
    """One C parameter; `source` is the kernel's argument or result that it stands for."""

    name: str
    ctype: str
    role: Role
    source: str
    field: str | None = None
    """The format field that a `packed` pointer streams."""
    writable: bool = False

    def declaration(self) -> str:
        star = "" if self.ctype.endswith("*") else " "
        return f"{self.ctype}{star}{self.name}"


def dim_args(func: kernel.FuncOp) -> list[str]:
    """Named dimensions that some tensor of the signature has as its first, in order of `dims`."""
    types = (*func.function_type.inputs, *func.function_type.outputs)
    used = {sizes(t)[0] for t in types if isinstance(t, TensorType)}
    return [name for name in func.dims.as_dict() if name in used]


def is_packed(type_: Attribute) -> bool:
    """Whether a tensor type is a weight in a packed layout."""
    return isinstance(type_, TensorType) and isinstance(type_.encoding, SymbolRefAttr)


def written_states(func: kernel.FuncOp) -> set[str]:
    """Arguments whose state the kernel updates in place."""
    block = func.semantics.block
    written = {op.operands[0] for op in block.walk() if isinstance(op, infer.StateAppendOp)}
    return {
        name.data
        for name, value in zip(func.arguments, block.args, strict=True)
        if value in written
    }


def element_ctype(type_: Attribute) -> str:
    """C type that stores an element of a field or a state."""
    if isinstance(type_, VectorType):
        type_ = type_.element_type
    if isinstance(type_, Float32Type):
        return "float"
    if isinstance(type_, Float16Type):
        return "_Float16"
    if isinstance(type_, BFloat16Type):
        return "uint16_t"
    return "uint8_t"


def signature(func: kernel.FuncOp, module: ModuleOp) -> list[CArg]:
    """The parameters of the kernel's C function."""
    args = [CArg(name, "int32_t", "dim", name) for name in dim_args(func)]
    written = written_states(func)
    for name, type_ in zip(func.arguments, func.function_type.inputs, strict=True):
        args += _argument(name.data, type_, module, name.data in written)
    for name, type_ in zip(func.outputs, func.function_type.outputs, strict=True):
        if isinstance(type_, TensorType):
            args.append(CArg(name.data, "float *", "out", name.data, writable=True))
    args.append(CArg("part", "int32_t", "part", "part"))
    args.append(CArg("parts", "int32_t", "parts", "parts"))
    return args


def _argument(name: str, type_: Attribute, module: ModuleOp, writable: bool) -> list[CArg]:
    if isinstance(type_, infer.BatchType):
        return [CArg(name, "const struct mi_batch *", "batch", name)]
    if isinstance(type_, infer.StateType):
        state = lookup(module, type_.state.root_reference.data, infer.StateOp)
        const = "" if writable else "const "
        return [
            CArg(
                f"{name}_k",
                f"{const}{element_ctype(state.k.element_type)} *",
                "state_k",
                name,
                writable=writable,
            ),
            CArg(
                f"{name}_v",
                f"{const}{element_ctype(state.v.element_type)} *",
                "state_v",
                name,
                writable=writable,
            ),
        ]
    if is_packed(type_):
        assert isinstance(type_, TensorType)
        format_ = weight_format(type_, module)
        return [
            CArg(
                f"{name}_{field.data}",
                f"const {element_ctype(block.type)} *",
                "packed",
                name,
                field.data,
            )
            for field, block in zip(format_.fields, format_.decode.block.args, strict=True)
        ]
    role: Role = "vector" if len(sizes(type_)) == 1 else "tensor"
    return [CArg(name, "const float *", role, name)]


def prototype(func: kernel.FuncOp, module: ModuleOp) -> str:
    """`void name(...)` without a trailing semicolon, wrapped at 96 columns."""
    head = f"void {func.sym_name.data}("
    lines, line = [], head
    declarations = [a.declaration() for a in signature(func, module)]
    for number, declaration in enumerate(declarations):
        text = declaration + ("," if number < len(declarations) - 1 else ")")
        if len(line) + len(text) > 95 and line != head:
            lines.append(line.rstrip())
            line = "    "
        line += text + " "
    lines.append(line.rstrip())
    return "\n".join(lines)
