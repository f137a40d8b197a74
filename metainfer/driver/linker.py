"""The gate as the passes see it: compile the kernels' one object, verify it, report refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.codegen.c.sources import isa_name, kernel_keys, kernel_object, sanitized_library
from metainfer.codegen.c.toolchain import FLAGS, Compiler
from metainfer.driver.ckb.detectors import known_failures
from metainfer.driver.imported import check_imports
from metainfer.driver.providers import RuleProvider
from metainfer.files import cache_dir
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import host_features, isa_of
from metainfer.passes.fill_kernels import write_keys
from metainfer.passes.outline_kernels import meaning_text
from metainfer.reports import Report, quiet
from metainfer.verify.evidence import EvidenceStore, Origin
from metainfer.verify.gate import KernelGate
from metainfer.verify.sandbox.objects import refused_objects
from metainfer.verify.sandbox.policy import refused_bodies
from metainfer.verify.verdict import Verdict

EVIDENCE = "evidence"
"""Folder of the cache that holds the store."""


@dataclass
class Linker:
    """Recomputes keys and asks for evidence; what has none is verified now, by running it.

    `warn` is told of everything that does not hold and is replaced; if `strict`, that is an error.
    """

    knowledge: Knowledge
    _compiler: Callable[[], Compiler]
    report: Report
    warn: Report = field(default=quiet)
    strict: bool = False

    @property
    def compiler(self) -> Compiler:
        """The C compiler; DiagnosticError where there is none."""
        return self._compiler()

    def keys(self, module: ModuleOp) -> Mapping[str, str]:
        """The key of every kernel of the module by name."""
        return kernel_keys(module, self.compiler, self.knowledge)

    def admit(self, module: ModuleOp) -> Mapping[str, str]:
        """Kernels that may not run, with the reason; all others have valid evidence here."""
        self._check_host(module)
        refused = self._against_policy(module) or self._unverified(module)
        for name, reason in refused.items():
            self._doubt(f"kernel @{name} is not verified: {reason}")
        return refused

    def _against_policy(self, module: ModuleOp) -> dict[str, str]:
        """Kernels whose text or object has what no body may have, with the reason.

        They are not run, and of a text that breaks the policy no compiler is told.
        """
        if refused := refused_bodies(module):
            return refused
        names = [f.sym_name.data for f in all_of(module, kernel.FuncOp)]
        built = kernel_object(module, self.compiler, self.knowledge)
        return refused_objects(built.read_bytes(), names)

    def _unverified(self, module: ModuleOp) -> dict[str, str]:
        """Kernels that have no evidence here and get none, with the reason."""
        library = self.compiler.link([kernel_object(module, self.compiler, self.knowledge)])
        kernels, keys = all_of(module, kernel.FuncOp), self.keys(module)
        origins = {keys[f.sym_name.data]: self._origin(f, module) for f in kernels}
        store = EvidenceStore(cache_dir() / EVIDENCE, origins, self.warn)
        gate = KernelGate(store, report=self.warn)
        self.report(f"verifying {len(kernels)} kernels")
        verdicts = gate.verify(
            kernels,
            module,
            library,
            keys,
            lambda: sanitized_library(module, self.compiler, self.knowledge),
        )
        broken = [n for n, v in verdicts.items() if v.status == "infra_error"]
        if broken:
            raise error(f"the kernel gate could not run for @{broken[0]}: {verdicts[broken[0]]}")
        return {
            f.sym_name.data: self._reason(f, verdict)
            for f in kernels
            if (verdict := verdicts[f.sym_name.data]).status != "verified"
        }

    def link(self, module: ModuleOp) -> None:
        """Leave only bodies with evidence in a planned module, each under its own key.

        What a dump says of a body is a claim: the key is computed from the text, the evidence is
        this machine's. A body for which either does not hold gives way to the rule-based one.
        Raises `DiagnosticError` if that is refused too, and if `strict` in any case.
        """
        check_imports(module, self.knowledge, self._doubt)
        self._replace_misnamed(module)
        while refused := self.admit(module):
            self._replace_refused(module, refused)
        write_keys(module, self)

    def _replace_refused(self, module: ModuleOp, refused: Mapping[str, str]) -> None:
        """Rule-based bodies for kernels that have another; DiagnosticError where one has it."""
        for func in all_of(module, kernel.FuncOp):
            reason = refused.get(func.sym_name.data)
            if reason is not None and not self._by_rule(func, module):
                message = f"kernel @{func.sym_name.data} is not verified: {reason}"
                raise error(message, place_of(func))

    def _replace_misnamed(self, module: ModuleOp) -> None:
        """Rule-based bodies for kernels that have none, or a key that is not their text's."""
        kernels = all_of(module, kernel.FuncOp)
        for func in [f for f in kernels if f.body is None or f.target is None]:
            self._doubt(f"kernel @{func.sym_name.data} has no body: it gets the rule-based one")
            self._by_rule(func, module)
        keys = self.keys(module)
        for func in kernels:
            key = keys[func.sym_name.data]
            if func.key is None or func.key.data != key:
                self._doubt(
                    f"kernel @{func.sym_name.data} does not have the key of what it says: the "
                    "rule-based body takes its place"
                )
                self._by_rule(func, module)

    def _by_rule(self, func: kernel.FuncOp, module: ModuleOp) -> bool:
        """Give a kernel the rule-based body; whether that is another than it has."""
        ours = RuleProvider(self.knowledge).propose(func, module)
        lines = ArrayAttr([StringAttr(line) for line in ours.lines])
        changed = func.body != lines
        func.properties["body"] = lines
        func.properties["target"] = StringAttr(ours.target)
        func.properties["provider"] = StringAttr(ours.provider)
        return changed

    def _doubt(self, message: str) -> None:
        if self.strict:
            raise error(message, help="without --strict this is a warning")
        self.warn(message)

    def _reason(self, func: kernel.FuncOp, verdict: Verdict) -> str:
        """The counter-example in a line, and the known failures that look like it."""
        failure = verdict.failure
        if failure is None:
            return verdict.status
        shape = ", ".join(f"{name} = {size}" for name, size in failure.shape.items())
        text = f"{failure.stage}: {failure.detail} ({shape}; {failure.family})"
        for known in known_failures(func, failure, self.knowledge):
            text += f"; as in {known.id}: {known.cause}"
        return text

    def _origin(self, func: kernel.FuncOp, module: ModuleOp) -> Origin:
        isa = isa_name(module)
        flags = (*FLAGS, *isa_of(self.knowledge, isa).flags)
        return Origin(meaning_digest(func), self.compiler.identity, flags, isa)

    def _check_host(self, module: ModuleOp) -> None:
        isa = isa_name(module)
        missing = set(isa_of(self.knowledge, isa).features) - host_features()
        if missing:
            raise error(
                f"this machine lacks {', '.join(sorted(missing))}, so kernels for {isa} cannot be "
                "verified here",
                help="target cpu { isa auto }",
            )


def meaning_digest(func: kernel.FuncOp) -> str:
    """SHA-256 of what a kernel must do, whoever writes its body and whatever compiles it."""
    texts = [meaning_text(func), str(func.function_type), str(func.dims), str(func.path)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
