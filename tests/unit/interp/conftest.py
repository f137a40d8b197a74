"""IR text of formats and of a small Llama, parsed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from metainfer.interp.weights import NamedTensors
from metainfer.ir.dialects.infer import Infer
from metainfer.ir.dialects.kernel import Kernel
from metainfer.ir.text import parse_module

FORMATS = """
infer.format @f32 attributes {block = 1, bytes = 4, contract = "t", fields = ["w"], \
hash = "", type_id = 0} {
^bb0(%w: vector<1xf32>):
  infer.decoded %w
}
infer.format @q4_1 attributes {block = 32, bytes = 20, contract = "t", fields = ["d", "m", "qs"], \
hash = "", type_id = 3} {
^bb0(%d: f16, %m: f16, %qs: vector<16xi8>):
  %mask = arith.constant dense<15> : vector<16xi8>
  %four = arith.constant dense<4> : vector<16xi8>
  %low = arith.andi %qs, %mask : vector<16xi8>
  %high = arith.shrui %qs, %four : vector<16xi8>
  %nibbles = infer.concat %low, %high : vector<32xi8>
  %q = infer.cast %nibbles : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %min = infer.cast %m : vector<32xf32>
  %scaled = arith.mulf %q, %scale : vector<32xf32>
  %w = arith.addf %scaled, %min : vector<32xf32>
  infer.decoded %w
}
infer.format @q8_0 attributes {block = 32, bytes = 34, contract = "t", fields = ["d", "qs"], \
hash = "", type_id = 8} {
^bb0(%d: f16, %qs: vector<32xi8>):
  %q = infer.cast %qs {signed} : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %w = arith.mulf %q, %scale : vector<32xf32>
  infer.decoded %w
}
"""


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    """A verified module of the given ops and the formats f32, q4_1 and q8_0."""
    context = Context()
    for dialect in (Builtin, Arith, Func, Infer, Kernel):
        context.load_dialect(dialect)

    def parsed(text: str) -> ModuleOp:
        module = parse_module(FORMATS + text, "test.mlir", context)
        module.verify()
        return module

    return parsed


# === A Llama with two layers; all widths differ, so that no two can be confused ===

LLAMA = SimpleNamespace(
    hidden=96, q_heads=8, kv_heads=2, head_dim=8, ffn=160, vocab=50, layers=2, eps=1e-5, theta=1e4
)
Q_DIM, KV_DIM = LLAMA.q_heads * LLAMA.head_dim, LLAMA.kv_heads * LLAMA.head_dim
SHAPES = {
    "attn_norm": (LLAMA.hidden,),
    "attn_q": (Q_DIM, LLAMA.hidden),
    "attn_k": (KV_DIM, LLAMA.hidden),
    "attn_v": (KV_DIM, LLAMA.hidden),
    "attn_output": (LLAMA.hidden, Q_DIM),
    "ffn_norm": (LLAMA.hidden,),
    "ffn_gate": (LLAMA.ffn, LLAMA.hidden),
    "ffn_up": (LLAMA.ffn, LLAMA.hidden),
    "ffn_down": (LLAMA.hidden, LLAMA.ffn),
}
GLOBALS = {"token_embd": (LLAMA.vocab, LLAMA.hidden), "output_norm": (LLAMA.hidden,)}
STORED = {"attn_output": "q8_0", "attn_v": "f32", "token_embd": "q8_0"}
QUANTS = {"q4_1": gguf.GGMLQuantizationType.Q4_1, "q8_0": gguf.GGMLQuantizationType.Q8_0}


def _stored_as(name: str, shape: tuple[int, ...]) -> str:
    return "f32" if len(shape) == 1 else STORED.get(name, "q4_1")


def _type(name: str, shape: tuple[int, ...]) -> str:
    stored = _stored_as(name, shape)
    element = "f32" if stored == "f32" else f'!infer.q<"{stored}">'
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _x(width: int, rows: str = "tokens") -> str:
    return f"tensor<?x{width}xf32, #infer.dims<{rows}, _>>"


def _definitions() -> str:
    lines = []
    for name, shape in SHAPES.items():
        lines.append(
            f'infer.weight @{name} {{layers = #infer.layers<0 to 1>, slot = "{name}", '
            f'source = "blk.{{layer}}.{name}", type = {_type(name, shape)}}}'
        )
    for name, shape in GLOBALS.items():
        lines.append(
            f'infer.weight @{name} {{slot = "{name}", source = "{name}", '
            f"type = {_type(name, shape)}}}"
        )
    kv = f"tensor<{LLAMA.kv_heads}x{LLAMA.head_dim}xf32>"
    lines.append(f"infer.state @kv {{k = {kv}, layers = #infer.layers<0 to 1>, v = {kv}}}")
    return "\n".join(lines)


def _refs(names: dict[str, tuple[int, ...]]) -> str:
    return "\n".join(
        f"  %{name} = infer.weight_ref @{name} : {_type(name, shape)}"
        for name, shape in names.items()
    )


X, Q, KV, FFN = (_x(width) for width in (LLAMA.hidden, Q_DIM, KV_DIM, LLAMA.ffn))
S = "!infer.state<@kv>"
ROPE = f'{{head_dim = {LLAMA.head_dim} : i64, pairing = "half", theta = {LLAMA.theta:e} : f64}}'
NORM = f"{{eps = {LLAMA.eps:e} : f64}}"
ATTEND = (
    f"{{head_dim = {LLAMA.head_dim} : i64, kv_heads = {LLAMA.kv_heads} : i64, "
    f'mask = "causal", q_heads = {LLAMA.q_heads} : i64, scale = 3.5e-01 : f64}}'
)
LINEAR_QKV = f"""  %q = infer.linear %h, %attn_q : {Q}
  %k = infer.linear %h, %attn_k : {KV}
  %v = infer.linear %h, %attn_v : {KV}
"""
LAYER = f"""
func.func @layer(%x: {X}, %b: !infer.batch, %s: {S}) -> ({X}, {S}) {{
{_refs(SHAPES)}
  %h = infer.rms_norm %x, %attn_norm {NORM} : {X}
{LINEAR_QKV}  %q1 = infer.rope %q, %b {ROPE} : {Q}
  %k1 = infer.rope %k, %b {ROPE} : {KV}
  %s1 = infer.state_append %s, %k1, %v, %b : {S}
  %a = infer.attend %q1, %s1, %b {ATTEND} : {Q}
  %o = infer.linear %a, %attn_output : {X}
  %x1 = infer.add %x, %o : {X}
  %h2 = infer.rms_norm %x1, %ffn_norm {NORM} : {X}
  %gate = infer.linear %h2, %ffn_gate : {FFN}
  %up = infer.linear %h2, %ffn_up : {FFN}
  %act = infer.gated_act %gate, %up {{act = "silu"}} : {FFN}
  %down = infer.linear %act, %ffn_down : {X}
  %x2 = infer.add %x1, %down : {X}
  func.return %x2, %s1 : {X}, {S}
}}
"""
FORWARD = f"""
func.func @forward(%b: !infer.batch, %s: {S}) -> ({_x(LLAMA.vocab, "seqs")}, {S}) {{
{_refs(GLOBALS)}
  %x = infer.embed %b, %token_embd : {X}
  %y, %s1 = infer.layers %x, %b, %s {{schedule = #infer.schedule<@layer 0 to 1>}} : {X}, {S}
  %last = infer.select_last %y, %b : {_x(LLAMA.hidden, "seqs")}
  %z = infer.rms_norm %last, %output_norm {NORM} : {_x(LLAMA.hidden, "seqs")}
  %logits = infer.linear %z, %token_embd : {_x(LLAMA.vocab, "seqs")}
  func.return %logits, %s1 : {_x(LLAMA.vocab, "seqs")}, {S}
}}
"""
GROUPED = f"""  %q, %k, %v = infer.group attributes {{rule = "t"}} : {Q}, {KV}, {KV} {{
  %q_ = infer.linear %h, %attn_q : {Q}
  %k_ = infer.linear %h, %attn_k : {KV}
  %v_ = infer.linear %h, %attn_v : {KV}
  infer.yield %q_, %k_, %v_
  }}
"""
CALLED = f"""  %q, %k, %v = kernel.call @qkv, %h, %attn_q, %attn_k, %attn_v : {Q}, {KV}, {KV}
"""
QKV_KERNEL = f"""
kernel.func @qkv(%h: {X}, %attn_q: {_type("attn_q", SHAPES["attn_q"])}, \
%attn_k: {_type("attn_k", SHAPES["attn_k"])}, %attn_v: {_type("attn_v", SHAPES["attn_v"])}) \
-> (q: {Q}, k: {KV}, v: {KV}) {{dims = #infer.ranges<tokens = 1 to 4>, parts = "rows", \
path = @p}} {{
{LINEAR_QKV}  kernel.return %q, %k, %v
}}
"""


@dataclass(frozen=True)
class Llama:
    """A parsed model, its stored weights and what the gguf package reads from them."""

    module: ModuleOp
    grouped: ModuleOp
    called: ModuleOp
    source: NamedTensors
    weights: dict[str, NDArray[np.float32]]
    shape: SimpleNamespace


@pytest.fixture(scope="session")
def llama(parse: Callable[[str], ModuleOp]) -> Llama:
    """The model as expanded, with q/k/v grouped, and with q/k/v outlined as a kernel."""
    rng = np.random.default_rng(7)
    raw: dict[str, bytes] = {}
    weights: dict[str, NDArray[np.float32]] = {}
    layers = {f"blk.{i}.{n}": (n, s) for i in range(LLAMA.layers) for n, s in SHAPES.items()}
    for key, (name, shape) in {**layers, **{n: (n, s) for n, s in GLOBALS.items()}}.items():
        values = (rng.normal(0.3 * (len(shape) == 1), 0.4, shape)).astype(np.float32)
        stored = _stored_as(name, shape)
        packed = values if stored == "f32" else gguf.quantize(values, QUANTS[stored])
        raw[key] = packed.tobytes()
        weights[key] = values if stored == "f32" else gguf.dequantize(packed, QUANTS[stored])
    head = _definitions()
    grouped = LAYER.replace(LINEAR_QKV, GROUPED)
    called = LAYER.replace(LINEAR_QKV, CALLED) + QKV_KERNEL
    return Llama(
        parse(head + LAYER + FORWARD),
        parse(head + grouped + FORWARD),
        parse(head + called + FORWARD),
        NamedTensors(raw.__getitem__),
        weights,
        LLAMA,
    )
