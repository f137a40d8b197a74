"""The kernel gate: a body is linked only if this says `verified`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import kernel
from metainfer.reports import Report
from metainfer.verify.binding import bind
from metainfer.verify.cases import FULL_SIZE, Case, Facts, plan_cases
from metainfer.verify.driver import Child
from metainfer.verify.evidence import EvidenceStore
from metainfer.verify.execution import POISONS, execute
from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.inputs import InputMaker, Inputs
from metainfer.verify.reference import compare_case
from metainfer.verify.static.check import check_kernels
from metainfer.verify.static.values import Finding
from metainfer.verify.verdict import Failure, Verdict

SHARED = 3
"""Parts of a run of the sanitized build."""


class KernelGate:
    """Verifies kernels against the interpreter, or reuses earlier evidence.

    `timeout` is the wall time of one run of a candidate in seconds; `workers` kernels are
    verified at once. `report` is told why an entry of `evidence` is ignored.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        *,
        timeout: float = 30.0,
        workers: int = 2,
        report: Report | None = None,
    ) -> None:
        self._evidence = evidence
        self._timeout, self._workers, self._report = timeout, workers, report

    def verify(
        self,
        kernels: Sequence[kernel.FuncOp],
        module: ModuleOp,
        library: Path,
        keys: Mapping[str, str],
        sanitized: Callable[[], Path] | None = None,
    ) -> dict[str, Verdict]:
        """A verdict per kernel name.

        `library` is a shared object of the very object that the engine links; `module` defines
        the formats, layouts, paths and states that the kernels mention. A kernel whose key has
        valid evidence is not run. `sanitized` builds the library in which undefined behaviour
        traps; it is asked only if a kernel is run.
        """
        verdicts: dict[str, Verdict] = {}
        pending: list[kernel.FuncOp] = []
        for func in kernels:
            name = func.sym_name.data
            if known := self._known(name, keys[name]):
                verdicts[name] = known
            else:
                pending.append(func)
        checked = sanitized() if sanitized is not None and pending else None
        unproven = _unproven(pending, module)
        named = {f.sym_name.data: f for f in pending}
        jobs = [
            _Job(f, module, library, keys[n], self._timeout, unproven[n], checked)
            for n, f in named.items()
        ]
        pool = ThreadPoolExecutor(self._workers)
        try:
            for job, verdict in zip(jobs, pool.map(_Job.verdict, jobs), strict=True):
                verdicts[job.name] = verdict
                self._evidence.record(job.key, verdict)
        finally:
            pool.shutdown(cancel_futures=True)
        return {f.sym_name.data: verdicts[f.sym_name.data] for f in kernels}

    def _known(self, name: str, key: str) -> Verdict | None:
        found = self._evidence.lookup(key)
        if found.ignored and self._report:
            self._report(f"{name}: {found.ignored}; verifying again")
        return found.verdict


def verify_kernel(
    func: kernel.FuncOp,
    module: ModuleOp,
    library: Path,
    key: str,
    timeout: float,
    sanitized: Path | None = None,
    cases: Sequence[Case] | None = None,
) -> Verdict:
    """The verdict on one kernel of `library`, by running it; inputs are drawn from `key`.

    `cases` replace those that the kernel's own ranges and ops ask for.
    """
    unproven = _unproven([func], module)[func.sym_name.data]
    return _Job(func, module, library, key, timeout, unproven, sanitized, cases).verdict()


def _unproven(kernels: Sequence[kernel.FuncOp], module: ModuleOp) -> dict[str, Sequence[Finding]]:
    """The cheapest stage: what is not proven of the text of each kernel that has one."""
    nothing: dict[str, Sequence[Finding]] = {f.sym_name.data: () for f in kernels}
    return nothing | check_kernels([f for f in kernels if f.body is not None], module)


@dataclass(frozen=True)
class _Job:
    """One kernel to verify."""

    func: kernel.FuncOp
    module: ModuleOp
    library: Path
    key: str
    timeout: float
    unproven: Sequence[Finding]
    sanitized: Path | None
    cases: Sequence[Case] | None = None

    @property
    def name(self) -> str:
        return self.func.sym_name.data

    def verdict(self) -> Verdict:
        """Run all cases; the first fault ends it."""
        trial = _Trial(self)
        try:
            if self.unproven:
                raise KernelFault("static", str(self.unproven[0]))
            cases = self.cases or plan_cases(Facts.of(self.func, self.module))
            with Child(self.library, self.name, self.timeout) as child:
                for case in cases:
                    trial.run(child, case)
            if self.sanitized is not None:
                with Child(self.sanitized, self.name, self.timeout) as child:
                    for case in cases:
                        trial.run_sanitized(child, case)
        except KernelFault as fault:
            failure = trial.failure(fault)
            return Verdict("rejected", fault.stage, trial.worst, trial.done, failure)
        except (InfraError, DiagnosticError, OSError, MemoryError) as problem:
            failure = trial.failure(KernelFault("setup", str(problem) or type(problem).__name__))
            return Verdict("infra_error", "setup", trial.worst, trial.done, failure)
        if trial.marginal is not None:
            return Verdict("marginal", "bound", trial.worst, trial.done, trial.marginal)
        return Verdict("verified", "complete", trial.worst, trial.done, None)


class _Trial:
    """The cases of one kernel so far."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self.maker = InputMaker(job.func, job.module, job.key)
        self.worst, self.done = 0.0, 0
        self.marginal: Failure | None = None
        self._case: Case | None = None
        self._inputs: Inputs | None = None

    def run(self, child: Child, case: Case) -> None:
        """One case; raises `KernelFault` when the kernel fails it."""
        func, module = self.job.func, self.job.module
        self._case, self._inputs = case, None
        self._inputs = inputs = self.maker.make(case)
        written = execute(child, bind(func, module, case, inputs), full=case.full)
        ratio = compare_case(func, module, case, inputs, written, self.job.key)
        if ratio > max(1.0, self.worst):
            detail = f"error is {ratio:.3g} times its bound; above 1 it takes more than this gate"
            self.marginal = self.failure(KernelFault("bound", detail, ratio=ratio))
        self.worst = max(self.worst, ratio)
        self.done += 1

    def run_sanitized(self, child: Child, case: Case) -> None:
        """A small case where undefined behaviour traps; raises `KernelFault` if it does."""
        if max(case.dims.values(), default=1) > FULL_SIZE:
            return
        self._case = case
        self._inputs = self.maker.make(case)
        call = bind(self.job.func, self.job.module, case, self._inputs)
        calls = [(part, SHARED) for part in range(SHARED)]
        try:
            child.run(call.buffers(0), call.arguments, calls, "end", POISONS[0])
        except KernelFault as fault:
            detail = f"relies on what C leaves undefined: {fault}"
            raise KernelFault("sanitizer", detail) from None

    def failure(self, fault: KernelFault) -> Failure:
        """The record of a fault in the case that ran last."""
        case, inputs, index = self._case, self._inputs, fault.index
        shape = {} if case is None else {**case.dims, "start": case.start}
        row = index[0] if index is not None and len(index) == 2 else None
        return Failure(
            stage=fault.stage,
            kernel=self.job.name,
            shape=shape,
            family="" if inputs is None else inputs.describe(row),
            first_bad_index=index,
            got=fault.got,
            want=fault.want,
            ratio=fault.ratio,
            detail=str(fault),
        )
