"""The gate as the passes see it: compile the kernels' one object, verify it, report refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.sources import isa_name, kernel_keys, kernel_object
from metainfer.codegen.c.toolchain import Compiler
from metainfer.files import cache_dir
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import host_features, isa_of

Report = Callable[[str], None]


class Linker:
    """Recomputes keys and asks for evidence; what has none is verified now, by running it."""

    def __init__(
        self, knowledge: Knowledge, compiler: Callable[[], Compiler], report: Report
    ) -> None:
        self.knowledge, self._compiler, self.report = knowledge, compiler, report

    @property
    def compiler(self) -> Compiler:
        """The C compiler; DiagnosticError where there is none."""
        return self._compiler()

    def keys(self, module: ModuleOp) -> Mapping[str, str]:
        """The key of every kernel of the module by name."""
        return kernel_keys(module, self.compiler, self.knowledge)

    def admit(self, module: ModuleOp) -> Mapping[str, str]:
        """Kernels that may not run, with the reason; all others have valid evidence here."""
        from metainfer.verify.evidence import EvidenceStore
        from metainfer.verify.gate import KernelGate

        self._check_host(module)
        library = self.compiler.link([kernel_object(module, self.compiler, self.knowledge)])
        kernels = all_of(module, kernel.FuncOp)
        gate = KernelGate(EvidenceStore(cache_dir() / "evidence"), report=self.report)
        self.report(f"verifying {len(kernels)} kernels")
        verdicts = gate.verify(kernels, module, library, self.keys(module))
        broken = [n for n, v in verdicts.items() if v.status == "infra_error"]
        if broken:
            raise error(f"the kernel gate could not run for @{broken[0]}: {verdicts[broken[0]]}")
        return {n: str(v.failure) for n, v in verdicts.items() if v.status != "verified"}

    def _check_host(self, module: ModuleOp) -> None:
        isa = isa_name(module)
        missing = set(isa_of(self.knowledge, isa).features) - host_features()
        if missing:
            raise error(
                f"this machine lacks {', '.join(sorted(missing))}, so kernels for {isa} cannot be "
                "verified here",
                help="target cpu { isa auto }",
            )
