"""Engines of every family against transformers; llama.cpp against R0 on the real models.

The real models are never downloaded: what needs a file is skipped where the cache has none. How to
hold whole engines of them to the recordings is in `tests/oracle/README.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from real_models import cached, write_model_spec
from tiny_families import WITHIN, Edit, Recording, edited_ckb, recording, write_tiny_spec
from tiny_hf import MODELS

from metainfer.driver import agreement
from metainfer.driver.agreement import Agreement, Position, judged
from metainfer.driver.build import CompileOptions, compile_spec
from metainfer.driver.built import Built
from metainfer.driver.prompts import PROMPTS
from metainfer.driver.reference import Reference, reference_of
from metainfer.driver.session import compiler_context, reading_context
from metainfer.interp.numerics import F32
from metainfer.interp.r0 import teacher_forced
from metainfer.interp.run import Interpreter

FIXTURES = Path(__file__).parents[1] / "fixtures"
FAMILIES = tuple(MODELS)
REAL = ("gemma3", "qwen2")
CHUNK, CONTEXT = 40, 256
RING = 64
"""Whole blocks of 16 that Gemma3's window of 24 and a chunk fit into."""
Rows = NDArray[np.floating]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """A family; the tests of one family share its build."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def built(family: str, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The family's tiny model, compiled with small chunks so that little text fills a ring."""
    folder = tmp_path_factory.mktemp(family)
    spec = write_tiny_spec(folder, MODELS[family], context=CONTEXT)
    chunk = Edit("perf_rule/cpu_entries/contract.yaml", "512", str(CHUNK))
    ckb = edited_ckb(folder, [chunk])
    compile_spec(spec, folder / "out", CompileOptions(ckb=ckb), lambda message: None)
    return Built(folder / "out", compiler_context(ckb))


@pytest.fixture(scope="module")
def recorded(family: str) -> Recording:
    """What transformers says."""
    return recording(family)


@pytest.fixture
def engine(built: Built) -> Iterator[Any]:
    """An engine that nothing has filled yet."""
    with built.engine() as opened:
        yield opened


def evaluated(engine: Any, ids: Sequence[int], chunk: int) -> tuple[list[int], Rows]:
    """Positions, and the logits after each of them, when `chunk` tokens are fed a call."""
    starts = range(0, len(ids), chunk)
    rows = [np.array(engine.evaluate(ids[start : start + chunk], start)) for start in starts]
    return [min(start + chunk, len(ids)) - 1 for start in starts], np.stack(rows)


def top_two(logits: Rows) -> list[list[list[float]]]:
    """The best two tokens of each row with their logits."""
    order = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    return [
        [[int(i), float(row[i])] for i in best] for best, row in zip(order, logits, strict=True)
    ]


def test_the_engine_agrees_with_transformers_at_every_position(
    engine: Any, recorded: Recording
) -> None:
    _, rows = evaluated(engine, recorded.ids, 1)
    assert np.abs(rows - recorded.logits).max() <= WITHIN
    chosen = rows.argmax(axis=1).tolist()
    found = Agreement(tuple(judged("ids", top_two(recorded.logits), chosen)))
    assert found.holds, (found.different, found.excluded)


def test_the_engine_serves_the_whole_context(engine: Any, recorded: Recording) -> None:
    """Also where states hold less of it."""
    assert (engine.context, engine.chunk) == (CONTEXT, CHUNK)
    ids = (recorded.ids * 3)[:CONTEXT]
    at, rows = evaluated(engine, ids, CHUNK)
    assert at[-1] == CONTEXT - 1
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_neither_threads_nor_chunks_change_a_bit(
    built: Built, recorded: Recording, threads: int
) -> None:
    with built.engine() as one:
        _, single = evaluated(one, recorded.ids, 1)
    for chunk in (3, 7, CHUNK - 1, CHUNK, CHUNK + 1, len(recorded.ids)):
        with built.engine(threads=threads) as engine:
            assert engine.threads == threads
            at, rows = evaluated(engine, recorded.ids, chunk)
        assert rows.tobytes() == single[at].tobytes(), chunk


@pytest.mark.parametrize("place", [1, 20, 50, 90, 98])
def test_a_sequence_may_be_cut_anywhere(engine: Any, recorded: Recording, place: int) -> None:
    """What a ring has lost by then is evaluated again."""
    ids = recorded.ids
    evaluated(engine, ids, CHUNK)
    row = np.array(engine.evaluate(ids[place : place + 1], place))
    assert np.abs(row - recorded.logits[place]).max() <= WITHIN
    # And on from there, past what was evaluated first.
    rest = np.array(engine.evaluate(ids[place + 1 :], place + 1))
    assert np.abs(rest - recorded.logits[-1]).max() <= WITHIN


@pytest.mark.parametrize("shared", [10, 60, 95])
def test_a_second_request_does_not_show_the_first(
    built: Built, recorded: Recording, shared: int
) -> None:
    """It reuses what both begin with, where a ring still holds what it sees of that."""
    prompt, other = recorded.ids[:shared], recorded.ids
    with built.engine() as fresh:
        wanted = list(fresh.stream(prompt, 30, ignore_end=True))
    with built.engine() as engine:
        list(engine.stream(other, 20, ignore_end=True))
        assert list(engine.stream(prompt, 30, ignore_end=True)) == wanted
        assert engine.reused in (0, shared - 1)


def test_a_ring_forgets_and_the_rest_reuses(family: str, built: Built, recorded: Recording) -> None:
    """A flat state keeps the shared tokens; a ring does until it has gone round."""
    ids = recorded.ids
    ring = re.findall(r"#define MI_RING (\d+)", (built.package / "engine.h").read_text())
    assert ring == ([str(RING)] if MODELS[family].window else [])
    with built.engine() as engine:
        list(engine.stream(ids[:50], 10, ignore_end=True))
        list(engine.stream(ids[:50], 1, ignore_end=True))
        assert engine.reused == 49
        list(engine.stream(ids, 10, ignore_end=True))
        list(engine.stream(ids[:50], 1, ignore_end=True))
        assert engine.reused == (0 if ring else 49)


def fixture(name: str) -> dict[str, Any]:
    """A recording; see tests/oracle/README.md."""
    data: dict[str, Any] = json.loads((FIXTURES / name).read_text())
    return data


@pytest.mark.parametrize(
    ("tag", "count"), [("qwen2", 8 * 64), ("gemma3", 8 * 64), ("gemma3_window", 3 * 1120 - 1542)]
)
def test_llama_cpp_agrees_with_r0(tag: str, count: int) -> None:
    """At every recorded position of the real models, on the same weights in float32."""
    r0, llama = fixture(f"r0_{tag}.json"), fixture(f"llama_logits_{tag}.json")
    assert llama["model"]["sha256"] == r0["model"]["sha256"]
    assert llama["versions"]["gelu"] == "float32"
    found: list[Position] = []
    for ours, theirs in zip(r0["prompts"], llama["prompts"], strict=True):
        assert theirs["prompt_ids"] == ours["prompt_ids"]
        assert theirs["tokens"] == ours["tokens"]
        found += judged(ours["name"], ours["top2"], [top[0][0] for top in theirs["top2"]])
    result = Agreement(tuple(found))
    print(f"{tag}: {result.agreed} of {len(found)} agree; excluded: {result.excluded}")
    assert len(found) == count
    assert result.holds, result.different


def test_the_long_prompts_wrap_the_window() -> None:
    """Prompts about as long as the window, and continuations past a second window."""
    rows = fixture("r0_gemma3_window.json")["prompts"]
    assert [len(row["prompt_ids"]) for row in rows] == [500, 530, 512]
    assert all(len(row["prompt_ids"]) + len(row["tokens"]) == 1120 for row in rows)
    for row in rows:  # continuations that soon repeat themselves would hold little against anybody
        stretches = [tuple(row["tokens"][i : i + 64]) for i in range(len(row["tokens"]) - 63)]
        assert len(set(stretches)) > len(stretches) // 2, row["name"]


def real_reference(name: str, folder: Path) -> Reference:
    """R0 of a real model; skips where its file is not at hand."""
    if cached(name) is None:
        pytest.skip(f"the model file of {name} is not in the cache")
    return reference_of(write_model_spec(folder, name), reading_context())


@pytest.mark.parametrize("name", REAL)
def test_the_recordings_are_of_our_prompts(name: str, tmp_path: Path) -> None:
    reference = real_reference(name, tmp_path)
    rows = fixture(f"llama_greedy_{name}.json")["prompts"]
    assert fixture(f"r0_{name}.json")["model"]["sha256"] in str(reference.module)
    assert [row["prompt_ids"] for row in rows] == [reference.encode(p) for p in PROMPTS]
    assert all(len(row["tokens"]) == agreement.STEPS for row in rows)


def test_r0_still_says_what_was_recorded_of_gemma3(tmp_path: Path) -> None:
    """Equal as far as float32 can tell, at a few positions: all of it is a command."""
    reference, recorded = real_reference("gemma3", tmp_path), fixture("r0_gemma3.json")
    row = next(row for row in recorded["prompts"] if row["name"] == "list")
    prompt, count = row["prompt_ids"], 4
    interpreter = Interpreter(reference.module, reference.weights)
    fed = prompt + row["tokens"][: count - 1]
    (logits,) = teacher_forced(interpreter, fed, len(fed))
    now = logits[len(prompt) - 1 :]
    assert now.argmax(axis=1).tolist() == [top[0][0] for top in row["top2"][:count]]
    allowed = F32.unit * np.abs(now).max(axis=1, keepdims=True)
    off = np.abs(now[:, recorded["sampled_ids"]] - np.array(row["sampled"][:count]))
    assert (off <= allowed).all()
