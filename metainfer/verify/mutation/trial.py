"""Puts one body of a subject through the kernel gate, and through the field's usual check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.rewriter import Rewriter

from metainfer.codegen.c.sources import kernel_object, sanitized_library
from metainfer.codegen.c.toolchain import Compiler
from metainfer.interp.kernel import evaluate
from metainfer.interp.numerics import Bounded
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.knowledge.base import Knowledge
from metainfer.verify.binding import bind, output_shape
from metainfer.verify.cases import HISTORIES, Case, Facts, plan_cases
from metainfer.verify.driver import Child
from metainfer.verify.execution import POISONS
from metainfer.verify.families import GENERAL
from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.gate import verify_kernel
from metainfer.verify.inputs import InputMaker, seeded
from metainfer.verify.memory import Bytes
from metainfer.verify.mutation.subjects import Subject
from metainfer.verify.reference import given
from metainfer.verify.verdict import Verdict

SECONDS = 5.0
"""Wall time of one run of these small kernels, which take microseconds."""
REGULAR = 16
"""Tokens of the one shape that a usual test runs."""
CLOSE = 1e-2
"""The tolerance of `allclose` that most kernel-writing systems accept (kernels.md §0)."""


@dataclass(frozen=True)
class Bench:
    """A subject alone in a module, and how its bodies are compiled."""

    subject: Subject
    compiler: Compiler
    knowledge: Knowledge
    target: str

    def module(self, body: str) -> tuple[kernel.FuncOp, ModuleOp]:
        """The subject with `body`, beside the symbols that it mentions."""
        module = self.subject.module.clone()
        found = lookup(module, self.subject.name, kernel.FuncOp)
        for func in all_of(module, kernel.FuncOp):
            if func is not found:
                Rewriter.erase_op(func)
        found.properties["body"] = ArrayAttr([StringAttr(line) for line in body.split("\n")])
        found.properties["target"] = StringAttr(self.target)
        return found, module

    def build(self, body: str) -> Built | None:
        """The compiled body; None if it does not compile."""
        func, module = self.module(body)
        try:
            code = kernel_object(module, self.compiler, self.knowledge)
            library = self.compiler.link([code])
            return Built(func, module, code, library, self)
        except DiagnosticError:
            return None


@dataclass(frozen=True)
class Built:
    """A body as the gate gets it."""

    func: kernel.FuncOp
    module: ModuleOp
    code: Path
    linked: Path
    """The shared object with the one kernel."""
    bench: Bench

    def verdict(self, key: str) -> Verdict:
        """What the kernel gate says; the sanitized build is made for what passes the rest."""
        verdict = verify_kernel(self.func, self.module, self.linked, key, SECONDS)
        if verdict.status != "verified":
            return verdict
        bench = self.bench
        checked = sanitized_library(self.module, bench.compiler, bench.knowledge)
        return verify_kernel(self.func, self.module, self.linked, key, SECONDS, checked)

    def alarms(self, key: str, seeds: int) -> Verdict:
        """What the gate says of that many drawn cases."""
        cases = list(islice(drawn_cases(Facts.of(self.func, self.module), key), seeds))
        return verify_kernel(self.func, self.module, self.linked, key, SECONDS, None, cases)

    def is_close(self) -> bool:
        """Whether the usual check accepts it: one regular shape, normal inputs, one part."""
        facts = Facts.of(self.func, self.module)
        dims = {
            n: min(REGULAR if n == "tokens" else 1, top) for n, (_, top) in facts.ranges.items()
        }
        case = Case(0, dims, 0, ("normal",), "random", HISTORIES[0], False)
        maker = InputMaker(self.func, self.module, "usual check")
        inputs = maker.make(case)
        try:
            with Child(self.linked, self.func.sym_name.data, SECONDS) as child:
                written = self._run(child, case, maker, [(0, 1)])
        except (KernelFault, InfraError):
            return False
        wanted = evaluate(self.func, self.module, given(self.func, inputs)).outputs
        return all(
            np.allclose(
                written[f"out:{name}"].view("<f4").reshape(output_shape(self.func, name, case)),
                result.value,
                rtol=CLOSE,
                atol=CLOSE,
            )
            for name, result in wanted.items()
            if isinstance(result, Bounded)
        )

    def _run(
        self, child: Child, case: Case, maker: InputMaker, calls: list[tuple[int, int]]
    ) -> dict[str, Bytes]:
        call = bind(self.func, self.module, case, maker.make(case))
        return child.run(call.buffers(0), call.arguments, calls, "end", POISONS[0])

    def same_bits(self, other: Built, rows: int) -> bool:
        """Whether both write the same bits for that many input rows of all kinds and parts."""
        key = "equivalence"
        maker = InputMaker(self.func, self.module, key)
        name, done = self.func.sym_name.data, 0
        try:
            with (
                Child(self.linked, name, SECONDS) as mine,
                Child(other.linked, name, SECONDS) as theirs,
            ):
                for case, calls in _endless(Facts.of(self.func, self.module), key):
                    first = self._run(mine, case, maker, calls)
                    second = other._run(theirs, case, maker, calls)
                    if any((first[n] != second[n]).any() for n in first):
                        return False
                    done += max(case.dims.values(), default=1)
                    if done >= rows:
                        return True
        except (KernelFault, InfraError):
            return False
        raise AssertionError("cases never end")


def _endless(facts: Facts, key: str) -> Iterator[tuple[Case, list[tuple[int, int]]]]:
    """Drawn cases without end, and parts to run each in."""
    for case in drawn_cases(facts, key):
        parts = int(seeded(key, case.number, "parts").choice([1, 2, 3, 7]))
        yield case, [(part, parts) for part in range(parts)]


def drawn_cases(facts: Facts, key: str) -> Iterator[Case]:
    """Cases without end: sizes, positions, families and weights drawn from `key`."""
    planned = plan_cases(facts)
    for number in count(1):
        rng = seeded(key, number)
        case = planned[int(rng.integers(len(planned)))]
        turn = int(rng.integers(len(GENERAL)))
        families = case.families if case.exact else GENERAL[turn:] + GENERAL[:turn]
        history = HISTORIES[number % len(HISTORIES)]
        yield replace(case, number=1000 + number, families=families, history=history, full=False)
