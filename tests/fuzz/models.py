"""Damaged model files: `python -m tests.fuzz.models [--count 10000] [--seed 0] [--keep FOLDER]`.

Every mutant of a GGUF file, a safetensors file, its index or a `config.json` must end in an error
that names the file, or load and hold what an independent reader finds in it; a cut must be an
error. Each takes at most 10 seconds, and in memory at most what the idle process has, twice the
model's size, and 16 MiB.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.checkpoint import Checkpoint, located, open_checkpoint
from metainfer.models.tokenizer import build_tokenizer, encode, tokenizer_facts
from tests.fuzz.mutation import Mutant, mutate, mutate_safetensors
from tests.fuzz.subjects import Subject, bombs, copy_of, describe, subjects
from tests.support.hf_folder import FORMATS, config_maps

SECONDS = 10.0
EXTRA = 16 << 20
_MAPS = config_maps()


class Failure(Exception):
    """A mutant that did not end as it must."""


def load(model: Path) -> Checkpoint:
    """All that a compiler does with a model but its mathematics: every tensor is read once."""
    checkpoint = open_checkpoint(model, FORMATS, lambda: _MAPS)
    with located(checkpoint):
        for tensor in checkpoint.tensors.values():
            if len(checkpoint.data(tensor)) != tensor.nbytes:
                raise Failure(f"tensor {tensor.name} has another size than it says")
        if model.is_dir() or "tokenizer.ggml.model" in checkpoint.metadata:
            tokenizer_facts(checkpoint.metadata)
            encode(build_tokenizer(checkpoint.metadata), "ab  <s>\u2581", parse_special=True)
    return checkpoint


def run(subject: Subject, mutant: Mutant) -> str:
    """`refused` or `loaded`; raises `Failure` for anything else."""
    subject.file.write_bytes(mutant.data)
    size = _size(subject.model)
    gc.collect()
    idle = _reset_peak()
    started = time.perf_counter()
    try:
        checkpoint = load(subject.model)
    except DiagnosticError as problem:
        # The traceback keeps what was read alive.
        text = "\n".join(map(str, problem.diagnostics))
        problem.__traceback__ = None
        checkpoint = None
    seconds, peak = time.perf_counter() - started, _peak()
    if seconds > SECONDS:
        raise Failure(f"took {seconds:.1f} s")
    if peak > idle + 2 * size + EXTRA:
        raise Failure(f"took {(peak - idle) >> 20} MiB for {size:,} bytes")
    if checkpoint is None:
        if str(subject.model) not in text:
            raise Failure(f"an error that names no file: {text}")
        return "refused"
    if mutant.is_cut:
        raise Failure("a cut file loads")
    if (wrong := subject.check(checkpoint, subject.model)) is not None:
        raise Failure(wrong)
    return "loaded"


def _size(model: Path) -> int:
    files = model.iterdir() if model.is_dir() else [model]
    return sum(file.stat().st_size for file in files)


def _reset_peak() -> int:
    """Start a new measurement; the memory that the process has now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as problem:
        raise SystemExit(f"this system cannot measure the peak memory: {problem}") from None
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{key}:"))
    return int(line.split()[1]) << 10


def _hang(_signal: int, _frame: object) -> NoReturn:
    raise Failure("hangs")


def main() -> None:
    """Read the command line, run, and exit with 1 if a mutant failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the mutants that failed")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    with tempfile.TemporaryDirectory() as name:
        os.environ["METAINFER_CACHE"] = f"{name}/cache"
        failures = _all(Path(name), options.count, options.seed, options.keep)
    raise SystemExit(1 if failures else 0)


def _all(folder: Path, count: int, seed: int, keep: Path | None) -> int:
    (folder / "good").mkdir()
    (folder / "bad").mkdir()
    originals = subjects(folder / "good")
    for original in originals:
        copy = copy_of(original, folder / "bad")
        if run(copy, Mutant(original.file.read_bytes())) != "loaded":
            raise SystemExit(f"{describe(original)} does not load undamaged")
    gc.freeze()  # what is there now stays, so that collecting before each mutant is quick
    tally: Counter[str] = Counter()
    failures = 0
    slowest = 0.0
    for number in range(count):
        draw = random.Random(f"{seed}/{number}")
        original = draw.choice(originals)
        data = original.file.read_bytes()
        if original.kind == "safetensors":
            mutant = mutate_safetensors(draw, data)
        else:
            mutant = mutate(draw, data, original.header, is_json=original.kind == "json")
        started = time.perf_counter()
        failures += _one(f"mutant {number}", original, mutant, folder, tally, keep)
        slowest = max(slowest, time.perf_counter() - started)
    for number, (kind, data) in enumerate(bombs()):
        original = next(each for each in originals if each.kind == kind)
        failures += _one(f"bomb {number}", original, Mutant(data), folder, tally, keep)
    for key in sorted(tally):
        print(f"{tally[key]:7,} {key}")
    print(f"slowest {slowest:.2f} s, {failures} failures")
    return failures


def _one(
    name: str,
    original: Subject,
    mutant: Mutant,
    folder: Path,
    tally: Counter[str],
    keep: Path | None,
) -> int:
    subject = copy_of(original, folder / "bad")
    signal.alarm(3 * int(SECONDS))
    try:
        outcome = run(subject, mutant)
    except Exception as problem:
        outcome = "failed"
        print(f"{name} of {describe(original)}: {type(problem).__name__}: {problem}")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name} {original.file.name}").write_bytes(mutant.data)
    finally:
        signal.alarm(0)
    tally[f"{original.kind} {outcome}"] += 1
    return outcome == "failed"


if __name__ == "__main__":
    main()
