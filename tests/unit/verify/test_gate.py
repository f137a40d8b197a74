"""Correct bodies are verified; each spoiled one is stopped by the stage that must stop it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects.kernel import FuncOp
from metainfer.ir.symbols import all_of
from metainfer.verify.evidence import EvidenceStore
from metainfer.verify.gate import KernelGate
from metainfer.verify.verdict import Verdict

KERNELS = ("add", "norm", "linear", "embed", "last", "act", "rope", "append", "attend")

MUTANTS = [
    # Sums
    ("linear", "k < 32; k++", "k < 31; k++", "exact bound"),
    ("linear", "float sum = 0.0f", "float sum = x[t * 64]", "exact bound"),
    ("linear", "byte & 15 : byte >> 4", "byte >> 4 : byte & 15", "bound"),
    ("linear", "d * q + m", "m * q + d", "bound"),
    ("linear", "r / 16 * 2", "0", "bound"),
    ("linear", "sum += x[", "sum += (float)(_Float16)x[", "bound"),
    ("norm", "sum / 40", "sum / 39", "bound"),
    ("norm", "+ 1e-5f", "", "class bound"),
    ("norm", "scale * w[c]", "scale", "bound"),
    ("act", "g[i] / (1.0f + expf(-g[i]))", "g[i] * expf(g[i]) / (1.0f + expf(g[i]))", "class"),
    ("act", "g[i] / (1.0f + expf(-g[i])) * u[i]", "u[i] / (1.0f + expf(-u[i])) * g[i]", "bound"),
    ("rope", "double angle", "float angle", "bound"),
    ("rope", "b->pos[t] * pow", "b->pos[t] * (float)pow", "bound"),
    ("rope", "b->pos[t] * pow", "fmin(b->pos[t], 40) * pow", "bound"),
    ("rope", "p[0] * c - p[4] * s", "p[0] * c + p[4] * s", "bound"),
    # Tokens, sequences, tails
    ("add", "t < tokens", "t < tokens - 1", "unwritten"),
    ("add", "t < tokens", "t < (tokens & ~3)", "unwritten"),
    ("last", "b->q_start[s + 1] - 1", "b->q_start[s]", "bound"),
    ("last", "s < seqs", "s < 1", "unwritten"),
    ("embed", "b->ids[t] % 16", "b->ids[t] % 8", "bound"),
    # Memory
    ("add", "t < tokens", "t < tokens + 1", "guard"),
    ("add", "a[t * 24 + c] +", "a[t * 24 + c - 24] +", "guard"),
    ("add", "a[t * 24 + c] +", "(a[t * 24 + c] + 0 * a[t * 24 + c + 1]) +", "guard"),
    ("add", "for (int32_t c", "((float *)a)[0] = 1.0f;\n    for (int32_t c", "guard"),
    ("add", "y[t * 24 + c] =", "y[t * 24 + c] = y[t * 24 + c] * 0 +", "class stale"),
    (
        "add",
        "y[t * 24 + c] =",
        "if (y[t * 24 + c] < 0) y[t * 24 + c] = 0; else y[t * 24 + c] =",
        "stale",
    ),
    ("linear", "w_qs[(at + k % 16) * 16", "w_qs[2 * 16 * 16 + (at + k % 16) * 16", "guard"),
    # Parts
    ("add", "24 * (part + 1) / parts", "(24 * (part + 1) + parts - 1) / parts", "overlap guard"),
    ("add", "c < 24 * (part + 1) / parts", "c < 24", "overlap"),
    ("add", "int32_t c = 24 * part / parts", "int32_t c = 24 / parts * part", "overlap"),
    ("add", "c < 24 * (part + 1) / parts", "c < 24 / parts * (part + 1)", "unwritten"),
    ("norm", "1.0f / sqrtf(", "(1 + 1e-7f * part) / sqrtf(", "parts"),
    ("act", "if (part)\n        return;", "", "overlap"),
    # Never, and nothing
    ("add", "t < tokens; t++", "t < tokens; t += 0", "timeout"),
    ("add", "a[t * 24 + c] +", "0.0f / 0.0f +", "class"),
    ("add", "a[t * 24 + c] +", "INFINITY +", "class"),
    ("add", "for (int32_t c", "abort();\n    for (int32_t c", "crash"),
    (
        "add",
        "for (int32_t c",
        "static int n;\n    if (n++)\n        return;\n    for (int32_t c",
        "stale",
    ),
    ("add", "for (int32_t c", "exit(0);\n    for (int32_t c", "crash"),
    # State
    ("append", "slot % 16", "slot % 8", "class bound"),
    ("append", "t < tokens", "t < tokens - 1", "bound"),
    ("append", "slot = b->slot[t]", "slot = t", "bound"),
    ("append", "s_v[(h", "s_v[0] = 0; s_v[(h", "overlap"),
    ("attend", "b->pos[t] + 1", "b->kv_len[0]", "bound"),
    ("attend", "b->pos[t] + 1", "b->pos[t] + 2", "stale"),
    ("attend", "b->pos[t] + 1", "(b->pos[t] + 16) & ~15", "stale"),
    ("attend", "g = h / 2", "g = h % 2", "bound"),
    ("attend", "expf(score[j] - top)", "expf(score[j])", "class"),
    ("attend", "sum[d] / total", "sum[d] / seen", "bound"),
]


@pytest.mark.parametrize("name", KERNELS)
def test_correct_body_is_verified(
    name: str, bodies: ModuleType, verify: Callable[..., Verdict]
) -> None:
    verdict = verify(*bodies.CORRECT[name])
    assert verdict.failure is None
    assert (verdict.status, verdict.stage) == ("verified", "complete")
    assert 0.0 <= verdict.worst_ratio <= 1.0
    assert verdict.cases >= 4


@pytest.mark.parametrize(("name", "old", "new", "stages"), MUTANTS)
def test_spoiled_body_is_rejected(
    name: str,
    old: str,
    new: str,
    stages: str,
    bodies: ModuleType,
    verify: Callable[..., Verdict],
) -> None:
    kernel, body = bodies.CORRECT[name]
    assert old in body
    verdict = verify(kernel, body.replace(old, new), timeout=1.0)
    assert verdict.status == "rejected", verdict
    assert verdict.failure is not None
    assert verdict.failure.stage == verdict.stage
    assert verdict.stage in stages.split(), verdict.failure
    assert verdict.failure.kernel == name
    assert verdict.failure.detail


def test_error_between_one_and_two_bounds_is_marginal(
    bodies: ModuleType, verify: Callable[..., Verdict]
) -> None:
    """Eight units: beyond the bound of a one-hot row (5.5), inside that of a dense one (25)."""
    body = bodies.RMS_NORM_BODY.replace("scale * w[c]", "scale * w[c] * 1.00000047683716f")
    verdict = verify(bodies.RMS_NORM, body)
    assert (verdict.status, verdict.stage) == ("marginal", "bound")
    assert 1.0 < verdict.worst_ratio <= 2.0
    assert verdict.failure is not None
    assert verdict.failure.ratio == verdict.worst_ratio


@pytest.mark.parametrize("first", ["", "return;"])
def test_forged_answer_is_rejected(
    first: str, bodies: ModuleType, verify: Callable[..., Verdict]
) -> None:
    forge = f'write(1, "done\\n", 5); {first} for (int32_t c'
    verdict = verify(bodies.ADD, bodies.ADD_BODY.replace("for (int32_t c", forge))
    assert (verdict.status, verdict.stage) == ("rejected", "crash")


@pytest.mark.parametrize("missing", ["library", "symbol"])
def test_what_cannot_be_loaded_is_our_error(
    missing: str,
    tmp_path: Path,
    bodies: ModuleType,
    parse: Callable[[str], ModuleOp],
    build: Callable[[str], Path],
) -> None:
    module = parse(bodies.ADD)
    library = tmp_path / "none.so" if missing == "library" else build("int other;")
    gate = KernelGate(EvidenceStore(tmp_path / "evidence"))
    verdict = gate.verify(all_of(module, FuncOp), module, library, {"add": "k"})["add"]
    assert (verdict.status, verdict.stage, verdict.cases) == ("infra_error", "setup", 0)
    assert verdict.failure is not None


def test_evidence_spares_the_run_until_key_or_entry_changes(
    tmp_path: Path,
    bodies: ModuleType,
    parse: Callable[[str], ModuleOp],
    build: Callable[[str], Path],
) -> None:
    module, store = parse(bodies.ADD), EvidenceStore(tmp_path / "evidence")
    kernels, told = all_of(module, FuncOp), list[str]()
    gate = KernelGate(store, report=told.append)
    first = gate.verify(kernels, module, build(bodies.ADD_BODY), {"add": "one"})["add"]
    assert first.status == "verified"

    nothing = tmp_path / "none.so"
    assert gate.verify(kernels, module, nothing, {"add": "one"})["add"] == first
    assert gate.verify(kernels, module, nothing, {"add": "two"})["add"].status == "infra_error"

    store.path.write_bytes(store.path.read_bytes().replace(b'"one"', b'"onf"'))
    assert gate.verify(kernels, module, nothing, {"add": "one"})["add"].status == "infra_error"
    assert told == ["add: evidence is damaged: its digest differs; verifying again"]


def test_rejection_leaves_no_evidence(
    tmp_path: Path,
    bodies: ModuleType,
    parse: Callable[[str], ModuleOp],
    build: Callable[[str], Path],
) -> None:
    module, store = parse(bodies.ADD), EvidenceStore(tmp_path / "evidence")
    library = build(bodies.ADD_BODY.replace("+ b[", "- b["))
    gate = KernelGate(store)
    assert gate.verify(all_of(module, FuncOp), module, library, {"add": "k"})["add"].status == (
        "rejected"
    )
    assert store.lookup("k").verdict is None


def test_failure_names_the_counter_example(
    bodies: ModuleType, verify: Callable[..., Verdict]
) -> None:
    body = bodies.ADD_BODY.replace("t * 24 + c] = a", "t * 24 + c] = t == 3 && c == 17 ? 0 : a")
    failure = verify(bodies.ADD, body).failure
    assert failure is not None
    assert failure.first_bad_index == (3, 17)
    assert failure.got == 0.0
    assert failure.want not in (None, 0.0)
    assert failure.shape == {"tokens": 5, "start": 0}
    assert failure.family == "a: alternating; b: zeros"
