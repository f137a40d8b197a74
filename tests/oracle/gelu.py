"""How llama.cpp's CPU backend computes GELU: in float32, or through a table of float16.

The table is the default of its build and costs Gemma about 1e-2 in a logit, which is far more than
the rest of its float32 arithmetic. `tests/oracle/README.md` says how to build it without.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp
import numpy as np

LIBRARIES = Path(llama_cpp.__file__).parent / "lib"
PROBE = 1.2345678
"""No float16, and neither is its GELU."""
FLOAT32, TABLE = "float32", "float16 table"


class _Parameters(ctypes.Structure):
    """`ggml_init_params`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("buffer", ctypes.c_void_p),
        ("no_alloc", ctypes.c_bool),
    ]


def gelu_of_this_build() -> str:
    """`FLOAT32` or `TABLE`, found by computing one GELU with ggml."""
    base = ctypes.CDLL(str(LIBRARIES / "libggml-base.so"))
    cpu = ctypes.CDLL(str(LIBRARIES / "libggml-cpu.so"))
    for function in (base.ggml_init, base.ggml_new_tensor_1d, base.ggml_gelu, base.ggml_new_graph):
        function.restype = ctypes.c_void_p
    base.ggml_get_data_f32.restype = ctypes.POINTER(ctypes.c_float)
    base.ggml_init.argtypes = [_Parameters]
    context = ctypes.c_void_p(base.ggml_init(_Parameters(1 << 20, None, False)))
    x = ctypes.c_void_p(base.ggml_new_tensor_1d(context, 0, ctypes.c_int64(1)))
    y = ctypes.c_void_p(base.ggml_gelu(context, x))
    graph = ctypes.c_void_p(base.ggml_new_graph(context))
    base.ggml_build_forward_expand(graph, y)
    base.ggml_get_data_f32(x)[0] = PROBE
    cpu.ggml_graph_compute_with_ctx(context, graph, 1)
    found = float(base.ggml_get_data_f32(y)[0])
    base.ggml_free(context)
    return FLOAT32 if abs(found - _gelu(PROBE)) < np.finfo(np.float32).eps else TABLE


def _gelu(x: float) -> float:
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return float(0.5 * x * (1 + np.tanh(inner)))
