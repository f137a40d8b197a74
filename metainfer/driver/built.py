"""A build folder taken apart again: its IR, its engine in this process, and a traced copy of it."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.debug import LayerTracer
from metainfer.codegen.c.program import ModelPrinter, model_source
from metainfer.codegen.c.toolchain import Compiler
from metainfer.codegen.engine import engine_library, program_of
from metainfer.driver.engine import package_of
from metainfer.driver.linker import Linker
from metainfer.driver.reference import STAGE, Reference, reference_of
from metainfer.driver.source import read_module
from metainfer.ir.diagnostics import error
from metainfer.passes.context import CompilerContext
from metainfer.passes.pipelines import DEFAULT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    LayerObserver = Callable[[int, Rows], None]
    """Called with a layer and what it leaves to the next: (tokens, width), valid for this call."""

_TRACE = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_float),
    ctypes.c_int,
    ctypes.c_int,
)


@dataclass(frozen=True)
class Built:
    """An engine folder, with the context to read its IR and to compile its files again."""

    folder: Path
    ctx: CompilerContext

    @cached_property
    def package(self) -> Path:
        """The folder of the engine's own files."""
        return self.folder / package_of(self.folder)

    @cached_property
    def reference(self) -> Reference:
        """R0 of this build: of its dump, or of its spec where it resumed from a later one."""
        dumps = sorted((self.folder / "ir").glob(f"*-{STAGE}.mlir"))
        return reference_of(dumps[0] if dumps else self.folder / "spec.mispec", self.ctx)

    @cached_property
    def module(self) -> ModuleOp:
        """The planned program. DiagnosticError where it is not what the engine was printed from."""
        dumps = sorted((self.folder / "ir").glob(f"*-{DEFAULT[-1]}.mlir"))
        if not dumps:
            raise error(f"{self.folder}/ir has no dump of {DEFAULT[-1]}", help="compile the spec")
        module = read_module(dumps[0], self.ctx)
        if model_source(program_of(module), module) != self.sources["model.c"]:
            raise error(f"{self.package / 'model.c'} is not what {dumps[0]} says", help=_AGAIN)
        return module

    @cached_property
    def sources(self) -> dict[str, str]:
        """The engine's C files by name."""
        files = sorted(p for p in self.package.iterdir() if p.suffix in (".c", ".h"))
        return {path.name: path.read_text(encoding="utf-8") for path in files}

    @contextmanager
    def engine(self, threads: int = 0) -> Iterator[Any]:
        """The shipped engine: an `Engine` of its `binding.py`, which knows what 0 threads are."""
        with _opened(self.package, self.folder / "weights.bin", threads) as engine:
            yield engine

    @contextmanager
    def traced_engine(self, observe: LayerObserver) -> Iterator[Any]:
        """The same engine with a `model.c` that shows `observe` the output of every layer."""
        with self.debug_engine(LayerTracer) as (engine, library):
            callback = _callback(observe)
            set_hook(library, callback)
            yield engine

    @contextmanager
    def debug_engine(
        self, printer: type[ModelPrinter], threads: int = 0
    ) -> Iterator[tuple[Any, ctypes.CDLL]]:
        """The same engine with another print of `model.c`, and its library.

        All other objects are the shipped ones: linked with the shipped `model.c` they must give
        the shipped `engine.so`, byte for byte.
        """
        if self._link(self.sources).read_bytes() != (self.package / "engine.so").read_bytes():
            raise error(
                f"{self.package / 'engine.so'} is not what this compiler makes of its files",
                help=_AGAIN,
            )
        text = model_source(program_of(self.module), self.module, printer)
        library = self._link({**self.sources, "model.c": text})
        with tempfile.TemporaryDirectory(prefix="metainfer-debug-") as name:
            shutil.copy(self.package / "binding.py", name)
            shutil.copy(library, Path(name) / "engine.so")
            with _opened(Path(name), self.folder / "weights.bin", threads) as engine:
                # The same file opened again is the same library in this process.
                yield engine, ctypes.CDLL(str(Path(name) / "engine.so"))

    @property
    def compiler(self) -> Compiler:
        """The C compiler of the context."""
        return cast(Linker, self.ctx.gate).compiler

    def _link(self, sources: dict[str, str]) -> Path:
        return engine_library(sources, self.module, self.compiler, self.ctx.knowledge)


_AGAIN = "compile the spec again"


@contextmanager
def _opened(package: Path, weights: Path, threads: int = 0) -> Iterator[Any]:
    """An engine by its folder; its package stays out of `sys.modules`."""
    spec = importlib.util.spec_from_file_location("_metainfer_engine", package / "binding.py")
    assert spec is not None and spec.loader is not None
    binding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(binding)
    with binding.Engine(weights, threads) as engine:
        yield engine


def set_hook(library: ctypes.CDLL, callback: Any) -> None:
    """Let a traced engine call `callback`, which the caller keeps alive."""
    hook = ctypes.c_void_p.in_dll(library, "mi_trace")
    hook.value = ctypes.cast(callback, ctypes.c_void_p).value


def _callback(observe: LayerObserver) -> Any:
    import numpy as np

    def show(_block: bytes, layer: int, values: Any, rows: int, cols: int) -> None:
        observe(layer, np.ctypeslib.as_array(values, (rows, cols)))

    return _TRACE(show)
