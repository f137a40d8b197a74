"""Every format contract against the `gguf` package, and its lowering against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, ModuleOp, VectorType

from metainfer.driver.session import compiler_context
from metainfer.interp.decode import decode_blocks
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import lookup
from metainfer.ir.text import parse_module
from metainfer.ir.verify import verify_module
from metainfer.knowledge.base import Knowledge
from metainfer.passes.fill_kernels import FillKernels
from metainfer.passes.imports import import_format, import_layout, import_path
from metainfer.resources import ckb_dir

FORMATS = [id_.split("/")[1] for id_ in Knowledge(ckb_dir()).ids("quant")]
BLOCKS = 300

KERNELS = """
kernel.func @lin(%x_in: tensor<?x512xf32, #infer.dims<tokens, _>>, %w_in: W) -> \
(y_out: tensor<?x40xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 9>, \
parts = "rows", path = @f32_rows16} {
  %0 = infer.linear %x_in, %w_in : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
kernel.func @emb(%batch: !infer.batch, %w_in: W) -> \
(y_out: tensor<?x512xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 9>, \
parts = "tokens", path = @f32_rows16} {
  %0 = infer.embed %batch, %w_in : tensor<?x512xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""


def _format(name: str) -> infer.FormatOp:
    module = ModuleOp([])
    import_format(module, name, Knowledge(ckb_dir()))
    verify_module(module)
    return lookup(module, name, infer.FormatOp)


def _random_blocks(format_: infer.FormatOp) -> np.ndarray:
    """Any code in integer fields; finite scales in float fields."""
    rng = np.random.default_rng(7)
    raw = rng.integers(0, 256, (BLOCKS, format_.bytes.value.data), dtype=np.uint8)
    at = 0
    for type_ in format_.decode.block.arg_types:
        width = infer.field_bytes(type_)
        element = type_.element_type if isinstance(type_, VectorType) else type_
        part = raw[:, at : at + width]
        if isinstance(element, Float16Type):
            part[:] = rng.standard_normal((BLOCKS, width // 2)).astype("<f2").view(np.uint8)
        if isinstance(element, Float32Type):
            part[:] = rng.standard_normal((BLOCKS, width // 4)).astype("<f4").view(np.uint8)
        if isinstance(element, BFloat16Type):
            bits = rng.standard_normal((BLOCKS, width // 2)).astype("<f4").view("<u4") >> 16
            part[:] = bits.astype("<u2").view(np.uint8)
        at += width
    return raw


@pytest.mark.parametrize("name", FORMATS)
def test_decode_equals_the_gguf_package(name):
    format_ = _format(name)
    raw = _random_blocks(format_)
    ours = decode_blocks(format_, raw.tobytes(), BLOCKS)
    theirs = dequantize(raw, GGMLQuantizationType(format_.type_id.value.data))
    assert np.array_equal(ours.astype(np.float32), theirs.reshape(BLOCKS, -1).astype(np.float32))


@pytest.mark.parametrize("name", FORMATS)
def test_rule_based_kernels_of_the_format_verify(name):
    ctx = compiler_context()
    weight = "f32" if name == "f32" else f'!infer.q<"{name}">'
    text = KERNELS.replace("W)", f"tensor<40x512x{weight}, @rows16>)")
    module = parse_module(text, "kernels.mlir", ctx)
    import_format(module, name, ctx.knowledge)
    import_layout(module, "rows16", ctx.knowledge)
    import_path(module, "f32_rows16", ctx.knowledge)
    FillKernels().apply(ctx, module)
