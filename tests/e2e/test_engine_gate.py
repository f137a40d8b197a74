"""The engine gate on whole engines of tiny models, and that each part of it can fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_families import Edit, edited_ckb, write_tiny_spec
from tiny_hf import MODELS

from metainfer.cli.main import main
from metainfer.codegen.c.debug import CallTracer
from metainfer.codegen.c.sources import isa_name
from metainfer.codegen.engine import program_of
from metainfer.driver import divergence, engine_gate
from metainfer.driver.agreement import Agreement, judged, top_two
from metainfer.driver.build import CompileOptions, compile_spec
from metainfer.driver.built import Built, set_hook
from metainfer.driver.divergence import check_divergence
from metainfer.driver.engine_gate import Part
from metainfer.driver.session import compiler_context
from metainfer.interp.r0 import teacher_forced
from metainfer.interp.run import Interpreter
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.isa import isa_of
from metainfer.verify.engine import poison
from metainfer.verify.engine.threads import Threads, Unavailable, run_threads
from metainfer.verify.engine.trace import HOOK, Judge, Record, Recorder

CHUNK, CONTEXT = 40, 160
FAMILIES = ("llama", "gemma3")
"""Flat states, and rings."""
one_family = pytest.mark.parametrize("family", ["llama"], indirect=True)
"""For what does not depend on it."""


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """A family; the tests of one family share its build."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def built(family: str, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The family's tiny model, compiled with small chunks."""
    folder = tmp_path_factory.mktemp(family)
    spec = write_tiny_spec(folder, MODELS[family], context=CONTEXT)
    chunk = Edit("perf_rule/cpu_entries/contract.yaml", "512", str(CHUNK))
    ckb = edited_ckb(folder, [chunk])
    compile_spec(spec, folder / "out", CompileOptions(ckb=ckb), lambda message: None)
    return Built(folder / "out", compiler_context(ckb))


@pytest.fixture(autouse=True)
def _few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate's own numbers are for real models."""
    monkeypatch.setattr(engine_gate, "PROMPTS", engine_gate.PROMPTS[:2])
    monkeypatch.setattr(engine_gate, "STEPS", 12)


# === Barriers, traced kernels, poison, threads ===


@pytest.mark.parametrize("check", [engine_gate.barriers, engine_gate.traced_kernels])
def test_the_engine_passes(built: Built, check: Any) -> None:
    part = check(built)
    assert part.holds, part.as_text()


def test_what_is_dead_is_not_read(built: Built) -> None:
    part = engine_gate.poisoned(built)
    assert part.holds, part.as_text()
    assert part.data["tokens"] == 24


@one_family
def test_poison_is_seen_where_something_lives(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With everything counted among the dead, at one barrier after another."""
    program = program_of(built.module)
    sound = poison.dead_at_barriers(program)
    for barrier in list(sound)[:3]:
        wrong = sound | {barrier: [(0, program.arena.value.data)]}  # type: ignore[union-attr]
        monkeypatch.setattr(poison, "dead_at_barriers", lambda _, wrong=wrong: wrong)
        assert not engine_gate.poisoned(built).holds


def test_poisoned_state_is_seen_when_it_is_read(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slot before the step's first belongs to somebody."""
    hooks = poison.Poisoner.hooks

    def greedy(self: poison.Poisoner) -> list[str]:
        return [line.replace("s = b->pos[0];", "s = b->pos[0] > 0 ? b->pos[0] - 1 : 0;")
                for line in hooks(self)]  # fmt: skip

    monkeypatch.setattr(poison.Poisoner, "hooks", greedy)
    assert not engine_gate.poisoned(built).holds


@pytest.fixture(scope="module")
def records(built: Built) -> list[Record]:
    """The calls of a step of the prompt."""
    recorder = Recorder(program_of(built.module), built.module)
    with built.debug_engine(CallTracer) as (engine, library):
        callback = HOOK(recorder.hook)
        set_hook(library, callback)
        engine.evaluate(list(range(5, 5 + CHUNK)))
        return recorder.take()


def test_every_call_is_recorded(family: str, built: Built, records: list[Record]) -> None:
    names = {r.callee.sym_name.data for r in records}
    kernels = re.findall(r"^void (prefill_\w+)\(", built.sources["kernels.c"], re.MULTILINE)
    assert names == set(kernels)
    assert all(r.outputs or r.appended for r in records)
    assert {r.layer for r in records} == {None, *range(MODELS[family].layers)}


@one_family
def test_an_output_beyond_its_bound_is_a_fault(built: Built, records: list[Record]) -> None:
    """One element of one output of each kernel, off by a thousandth of the largest."""
    seen: dict[str, Record] = {r.callee.sym_name.data: r for r in records if r.outputs}
    for name, record in seen.items():
        ((out, values), *_) = record.outputs.items()
        wrong = values.copy()
        wrong[-1, -1] += 1e-3 * np.abs(values).max()
        judge = Judge(built.module, built.reference.weights)
        judge.judge(replace(record, outputs=record.outputs | {out: wrong}))
        assert not judge.holds, name
        judge = Judge(built.module, built.reference.weights)
        judge.judge(record)
        assert judge.holds, name


def test_appends_are_judged_and_so_is_what_they_leave_alone(
    built: Built, records: list[Record]
) -> None:
    record = next(r for r in records if r.appended)
    ((name, slots),) = record.appended.items()
    keys = slots.k.copy()
    keys[3, 0, 0] += 1e-3
    for bad in (
        replace(record, appended={name: replace(slots, k=keys)}),
        replace(record, strays=1),
    ):
        judge = Judge(built.module, built.reference.weights)
        judge.judge(bad)
        assert len(judge.faults) == 1


@one_family
def test_nothing_judged_is_nothing_proven(built: Built) -> None:
    assert not Judge(built.module, built.reference.weights).holds


def under_threads(built: Built, sources: dict[str, str]) -> Threads:
    """64 tokens under ThreadSanitizer; skips where there is none."""
    features = set(json.loads((built.folder / "manifest.json").read_text())["features"])
    flags = isa_of(built.ctx.knowledge, isa_name(built.module)).flags
    weights = built.folder / "weights.bin"
    prompt = list(range(5, 5 + CHUNK + 1))
    try:
        return run_threads(sources, features, flags, built.compiler, weights, prompt, 64, 2)
    except Unavailable as problem:
        pytest.skip(f"ThreadSanitizer does not work here: {problem}")


@one_family
def test_no_race_under_threadsanitizer(built: Built) -> None:
    with built.engine() as engine:
        wanted = list(engine.stream(list(range(5, 5 + CHUNK + 1)), 64, ignore_end=True))
    found = under_threads(built, built.sources)
    assert found.race == ""
    assert found.tokens == wanted


@one_family
def test_threadsanitizer_sees_a_missing_barrier(built: Built) -> None:
    model = built.sources["model.c"]
    assert model.count("mi_barrier(m->pool);") > 10
    found = under_threads(built, built.sources | {
        "model.c": model.replace("mi_barrier(m->pool);", "", 2)
    })  # fmt: skip
    assert "data race" in found.race


# === Capacity ===


@pytest.fixture
def engine(built: Built) -> Iterator[Any]:
    """An engine that nothing has filled yet; one thread does not wait where CPUs are few."""
    with built.engine(threads=1) as opened:
        yield opened


def reference_rows(built: Built, ids: list[int]) -> NDArray[np.float64]:
    """R0's logits after every token."""
    interpreter = Interpreter(built.reference.module, built.reference.weights)
    return np.concatenate(list(teacher_forced(interpreter, ids, len(ids))))


@pytest.mark.parametrize(
    ("count", "room"),
    [(CHUNK - 1, 5), (CHUNK, 5), (CHUNK + 1, CONTEXT - CHUNK - 1), (CONTEXT - 1, 1)],
)
def test_prompts_at_the_edges_are_answered_as_r0_would(
    family: str, built: Built, engine: Any, count: int, room: int
) -> None:
    """Of a chunk and of the context; one answer fills the context up."""
    prompt = MODELS[family].ids(count)
    made = list(engine.stream(prompt, room if room == 5 else None, ignore_end=True))
    assert len(made) == room
    assert engine.finish_reason == "length"
    rows = reference_rows(built, [*prompt, *made[:-1]])[count - 1 :]
    found = Agreement(tuple(judged("document", map(top_two, rows), made)))
    assert found.different == []


@pytest.mark.parametrize("count", [CONTEXT, CONTEXT + 1])
def test_a_prompt_without_room_is_refused_and_the_next_one_answered(
    family: str, built: Built, engine: Any, count: int
) -> None:
    ids = (MODELS[family].ids(CONTEXT) * 2)[:count]
    with pytest.raises(
        Exception, match=f"has {count} tokens; this engine takes 1 to {CONTEXT - 1}"
    ):
        next(engine.stream(ids))
    if count > CONTEXT:
        with pytest.raises(
            Exception, match=f"has {count} tokens; this engine takes 1 to {CONTEXT}"
        ):
            engine.evaluate(ids)
    with built.engine(threads=1) as fresh:
        wanted = list(fresh.stream(ids[:9], 20, ignore_end=True))
    assert list(engine.stream(ids[:9], 20, ignore_end=True)) == wanted


def test_a_short_request_after_one_that_filled_the_context(
    family: str, built: Built, engine: Any
) -> None:
    ids = MODELS[family].ids(CHUNK)
    with built.engine(threads=1) as fresh:
        wanted = list(fresh.stream(ids[::-1], 30, ignore_end=True))
    assert len(list(engine.stream(ids, ignore_end=True))) == CONTEXT - CHUNK
    assert list(engine.stream(ids[::-1], 30, ignore_end=True)) == wanted


# === KL ===


@one_family
def test_the_engine_hardly_diverges(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a window of the whole context and the beginning of another."""
    monkeypatch.setattr(divergence, "POSITIONS", CONTEXT + CHUNK)
    found = check_divergence(built.folder)
    assert found.holds, found.as_text()
    assert len(found.kl) == CONTEXT + CHUNK
    assert [p.index for p in found.agreement.positions] == [*range(CONTEXT), *range(CHUNK)]


@one_family
def test_another_engine_diverges(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logits of the position before."""
    monkeypatch.setattr(divergence, "POSITIONS", CHUNK)
    sound = check_divergence(built.folder)
    rows = divergence._engine_rows
    monkeypatch.setattr(divergence, "_engine_rows", lambda *given: np.roll(rows(*given), 1, axis=0))
    found = check_divergence(built.folder)
    assert found.mean > 1e3 * sound.mean
    assert not found.holds


@one_family
def test_a_text_that_is_too_short_is_refused(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "POSITIONS", 1 << 20)
    with pytest.raises(DiagnosticError, match=r"the fixed text has \d+ tokens of 1048576"):
        check_divergence(built.folder)


@one_family
def test_the_command_prints_one_object(
    built: Built, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(divergence, "POSITIONS", CHUNK)
    skipped = Part("threads", None, ("not here",), {"reason": "not here"})
    monkeypatch.setattr(engine_gate, "threads", lambda built: skipped)
    arguments = ["check", str(built.folder), "--kl", "--gate", "--json"]
    monkeypatch.setattr("sys.argv", ["metainfer", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    found = json.loads(capfd.readouterr().out)
    assert found["kl"]["positions"] == CHUNK
    assert found["kl"]["text_sha256"] == divergence.SHA256
    assert found["kl"]["holds"] and found["gate"]["holds"]
    assert {name: part["ok"] for name, part in found["gate"].items() if name != "holds"} == {
        "barriers": True, "kernels": True, "poison": True, "threads": None
    }  # fmt: skip
    assert found["gate"]["kernels"]["faults"] == found["gate"]["barriers"]["races"] == []
