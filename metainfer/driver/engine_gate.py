"""The engine gate on a build folder: barriers, traced kernels, poisoned memory, threads.

Every part works on the engine's own program and objects; see `metainfer check --gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metainfer.codegen.c.debug import CallTracer
from metainfer.codegen.engine import program_of
from metainfer.driver.built import Built, set_hook
from metainfer.driver.prompts import PROMPTS
from metainfer.driver.session import compiler_context
from metainfer.reports import quiet

TRACED_PROMPT, TRACED_STEPS = 24, 2
"""Tokens of the prompt that is traced, and steps after it: both entries take part."""
STEPS = 64
"""Tokens that each debug build generates."""


@dataclass(frozen=True)
class Part:
    """One part of the gate: whether it holds (None: it did not run), and what was found."""

    name: str
    holds: bool | None
    lines: tuple[str, ...]
    data: Any

    def as_text(self) -> str:
        """The part in lines."""
        word = {True: "ok", False: "FAIL", None: "skipped"}[self.holds]
        return "\n".join([f"{word}  {self.name}: {self.lines[0]}", *self.lines[1:]])


@dataclass(frozen=True)
class Gate:
    """All parts."""

    parts: tuple[Part, ...]

    @property
    def holds(self) -> bool:
        """Whether no part failed and some did hold."""
        return any(p.holds for p in self.parts) and all(p.holds is not False for p in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        parts = {p.name: {"ok": p.holds, **p.data} for p in self.parts}
        return {"holds": self.holds, **parts}

    def as_text(self) -> str:
        """The result in lines."""
        return "\n".join(part.as_text() for part in self.parts)


def check_gate(folder: Path, cc: str | None = None, report: Callable[[str], None] = quiet) -> Gate:
    """Put the engine in `folder` through its gate."""
    built = Built(folder, compiler_context(cc=cc))
    parts = []
    for name, check in (
        ("barriers", barriers),
        ("kernels", traced_kernels),
        ("poison", poisoned),
        ("threads", threads),
    ):
        report(f"engine gate: {name}")
        parts.append(check(built))
    return Gate(tuple(parts))


def barriers(built: Built) -> Part:
    """No two parts meet between barriers; how many of these are needed."""
    from metainfer.verify.engine.barriers import barrier_table
    from metainfer.verify.engine.races import Races

    program = program_of(built.module)
    races = [str(race) for race in Races(program, built.module).all()]
    rows = barrier_table(built.module)
    unneeded = [row.where for row in rows if not row.needed]
    lines = [f"{len(rows)} barriers, {len(rows) - len(unneeded)} of them needed", *races]
    data = {"barriers": len(rows), "unneeded": unneeded, "races": races}
    return Part("barriers", not races, tuple(lines), data)


def traced_kernels(built: Built) -> Part:
    """Every kernel's outputs within its bound, on the engine's own inputs."""
    from metainfer.verify.engine.trace import HOOK, Judge, Recorder

    program = program_of(built.module)
    recorder = Recorder(program, built.module)
    judge = Judge(built.module, built.reference.weights)
    with built.debug_engine(CallTracer) as (engine, library):
        callback = HOOK(recorder.hook)
        set_hook(library, callback)
        for _ in _some_steps(engine, _prompt(built)):
            for record in recorder.take():
                judge.judge(record)
    worst = sorted(judge.bounds.items(), key=lambda item: -item[1].worst)
    calls = sum(bound.calls for bound in judge.bounds.values())
    name, bound = worst[0] if worst else ("", None)
    head = f"{calls} calls of {len(worst)} kernels"
    if bound is not None:
        head += f", the worst at {bound.worst:.3f} of its bound (@{name}, layer {bound.layer})"
    data = {
        "calls": calls,
        "worst": {n: {"calls": b.calls, "ratio": b.worst, "layer": b.layer} for n, b in worst},
        "faults": judge.faults,
    }
    return Part("kernels", judge.holds, (head, *judge.faults), data)


def _prompt(built: Built) -> list[int]:
    return built.reference.encode(PROMPTS[0])[:TRACED_PROMPT]


def _some_steps(engine: Any, prompt: Sequence[int]) -> Iterator[None]:
    """The prompt in one step, then greedy tokens one a step."""
    import numpy as np

    prompt = prompt[: min(engine.chunk, engine.context - TRACED_STEPS)]
    logits = np.array(engine.evaluate(prompt))
    yield
    for place in range(len(prompt), len(prompt) + TRACED_STEPS):
        logits = np.array(engine.evaluate([int(logits.argmax())], place))
        yield


def poisoned(built: Built) -> Part:
    """The same tokens when everything that is dead is NaN."""
    from metainfer.verify.engine.poison import Poisoner

    prompts = [built.reference.encode(prompt) for prompt in PROMPTS]
    with built.engine() as engine:
        wanted = [_generate(engine, ids) for ids in prompts]
    try:
        with built.debug_engine(Poisoner) as (engine, _):
            found = [_generate(engine, ids) for ids in prompts]
    except Exception as problem:  # the engine's own error class is loaded with it
        if type(problem).__name__ != "EngineError":
            raise
        return Part("poison", False, (str(problem),), {"error": str(problem)})
    different = [p.name for p, a, b in zip(PROMPTS, found, wanted, strict=True) if a != b]
    count = sum(map(len, wanted))
    head = f"{count} tokens after {len(prompts)} prompts"
    lines = [head + (" are the same" if not different else f" differ: {', '.join(different)}")]
    return Part("poison", not different, tuple(lines), {"tokens": count, "different": different})


def _generate(engine: Any, ids: Sequence[int]) -> list[int]:
    fitting = list(ids)[: engine.context - 1]
    return list(engine.stream(fitting, STEPS, ignore_end=True))


def threads(built: Built) -> Part:
    """No race in a build under ThreadSanitizer, and the same tokens from it."""
    import json

    from metainfer.codegen.c.sources import isa_name
    from metainfer.knowledge.isa import isa_of
    from metainfer.verify.engine.threads import Unavailable, run_threads

    prompt = _prompt(built)
    with built.engine() as engine:
        wanted, count = _generate(engine, prompt), engine.threads
    if count < 2:
        return Part("threads", None, ("the engine has one thread here",), {"tokens": 0})
    features = set(json.loads((built.folder / "manifest.json").read_text())["features"])
    flags = isa_of(built.ctx.knowledge, isa_name(built.module)).flags
    weights = built.folder / "weights.bin"
    try:
        found = run_threads(
            built.sources, features, flags, built.compiler, weights, prompt, STEPS, count
        )
    except Unavailable as problem:
        reason = f"ThreadSanitizer does not work here: {problem}"
        return Part("threads", None, (reason,), {"tokens": 0, "reason": reason})
    same = found.tokens == wanted
    head = f"{len(found.tokens)} tokens under ThreadSanitizer, {count} threads"
    head += "" if same else ", but not the engine's tokens"
    lines = [head, *found.race.splitlines()]
    data = {"tokens": len(found.tokens), "same": same, "race": found.race}
    return Part("threads", same and not found.race, tuple(lines), data)
