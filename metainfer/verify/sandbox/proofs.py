"""Proof of every layer on this machine: a forbidden action that fails because of this layer.

Each action is tried twice: with the layer as the only one, where it must be stopped, and without
any, where it must go through; else its failure would say nothing about the layer.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import get_args

import numpy as np

from metainfer.codegen.c.abi import CArg
from metainfer.codegen.c.toolchain import Compiler
from metainfer.verify.driver import Child
from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.memory import Buffer
from metainfer.verify.sandbox.allowed import allowed_in
from metainfer.verify.sandbox.layers import Layer, Sandbox
from metainfer.verify.sandbox.objects import object_breaches
from metainfer.verify.sandbox.policy import body_breaches

ACTIONS: dict[Layer, tuple[str, ...]] = {
    "read_only": ("write_an_input",),
    "guard_pages": ("read_behind",),
    "margins": ("write_before",),
    "seccomp": ("ask_the_system",),
    "rlimits": ("take_memory", "open_a_file"),
    "namespaces": ("read_a_file", "signal_the_parent", "connect_to_the_parent"),
    "wall_clock": ("take_long",),
}
"""Functions of `probes.c` by the layer that must stop them."""
OPTIONAL = frozenset({"namespaces"})
"""Layers that some machines do not offer; the others suffice without them."""
_TEXTS = {
    "use the preprocessor": '#include "/etc/passwd"',
    "write assembly": '__asm__("syscall");',
    "call a function of the system": "system(y);",
    "keep memory between calls": "static float kept;",
    "make an address of a number": "float *p = (float *)4096;",
    "leave its function": "} void other(void) {",
}
_SOURCES = {
    "run when it is loaded": '__attribute__((constructor)) static void c(void) { __asm__(""); }'
    " void f(void) {}",
    "keep memory between calls": "static int n; int f(void) { return n++; }",
    "keep memory of a thread": "static _Thread_local int n; int f(void) { return n++; }",
    "call a function of the system": "int getpid(void); int f(void) { return getpid(); }",
}
_HARMLESS = "float f(const float *x) { return x[0] * 2.0f; }"


@dataclass(frozen=True)
class Proof:
    """Whether a layer holds; `why` says what went wrong where it does not."""

    layer: str
    required: bool
    why: str | None = None

    @property
    def ok(self) -> bool:
        return self.why is None


def prove_layers(compiler: Compiler) -> list[Proof]:
    """A proof per layer, from the text of a body to the clock on the wall."""
    proofs = [Proof("text", True, _text_fails()), Proof("object", True, _object_fails(compiler))]
    library = _probes(compiler)
    with _listening() as port:
        for layer, actions in ACTIONS.items():
            reasons = (_action_fails(library, layer, a, port) for a in actions)
            why = next((r for r in reasons if r), None)
            proofs.append(Proof(layer, layer not in OPTIONAL, why))
    return proofs


def _text_fails() -> str | None:
    parameters = [CArg("x", "const float *", "tensor", "x"), CArg("y", "float *", "out", "y")]
    allowed = allowed_in("generic")
    if body_breaches(["y[0] = x[0];"], parameters, allowed, "proof"):
        return "a harmless body is refused"
    passed = [w for w, t in _TEXTS.items() if not body_breaches([t], parameters, allowed, "proof")]
    return f"a body may {passed[0]}" if passed else None


def _object_fails(compiler: Compiler) -> str | None:
    def breaches(source: str) -> int:
        built = compiler.object(source, {}, "proof.c", ())
        return len(object_breaches(built.read_bytes(), ["f"]))

    if breaches(_HARMLESS):
        return "a harmless object is refused"
    passed = [what for what, source in _SOURCES.items() if not breaches(source)]
    return f"an object may {passed[0]}" if passed else None


def _probes(compiler: Compiler) -> Path:
    source = (files(__package__) / "probes.c").read_text(encoding="utf-8")
    return compiler.link([compiler.object(source, {}, "probes.c", ())])


@contextmanager
def _listening() -> Iterator[int]:
    """A port of this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _action_fails(library: Path, layer: Layer, action: str, port: int) -> str | None:
    """Why an action proves nothing of a layer; None if it proves it."""
    every = frozenset(get_args(Layer))
    others = every - {layer, "wall_clock"}
    what = action.replace("_", " ")
    if _done(library, action, port, Sandbox(others)):
        return f"a kernel can {what}"
    # Without any layer but the clock, which only its own control leaves out.
    free = every if layer == "wall_clock" else every - {"wall_clock"}
    if not _done(library, action, port, Sandbox(free)):
        return f"whether a kernel can {what} is unknown: it fails here in any case"
    return None


def _done(library: Path, action: str, port: int, sandbox: Sandbox) -> bool:
    """Whether a function of `probes.c` does what it tries."""
    x = np.array([port, os.getpid()], "<f4").view(np.uint8)
    buffers = [Buffer("y", np.zeros(4, np.uint8), 4, True), Buffer("x", x)]
    timeout = 0.2 if sandbox.has("wall_clock") and action == "take_long" else 20.0
    try:
        with Child(library, action, timeout, sandbox) as child:
            arguments = [("buffer", 0), ("buffer", 1)]
            written = child.run(buffers, arguments, [(0, 1)], "end", b"\xa5")
    except (KernelFault, InfraError):
        return False
    return bool(written["y"].view("<f4")[0] == 1.0)
