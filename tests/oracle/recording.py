"""What all recordings share: how logits become rows, and how rows become files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.strings import Draw

FIXTURES = Path(__file__).parents[1] / "fixtures"
STEPS = 64
SAMPLED_IDS = 32
SAMPLED_SEED = 32064

Logits = NDArray[np.float32] | NDArray[np.float64]


def shortest(value: np.floating) -> float:
    """The shortest decimal that reads back as the same float of the same width."""
    return float(str(value))


def top_two(logits: Logits) -> list[list[float]]:
    """`[[id, logit], [id, logit]]`, best first; at equal logits the lower id first."""
    best = int(logits.argmax())
    rest = logits.copy()
    rest[best] = -np.inf
    return [[i, shortest(logits[i])] for i in (best, int(rest.argmax()))]


def sampled_ids(vocab_size: int, count: int = SAMPLED_IDS) -> list[int]:
    """Fixed vocabulary ids whose logits are recorded at every position, ascending."""
    draw = Draw(SAMPLED_SEED)
    chosen: set[int] = set()
    while len(chosen) < count:
        chosen.add(draw.below(vocab_size))
    return sorted(chosen)


def logits_columns(rows: Iterable[Logits], ids: Sequence[int]) -> dict[str, Any]:
    """What is kept of the logits, (vocab,), of each position: the top two, and those of `ids`."""
    columns: dict[str, Any] = {"top2": [], "sampled": []}
    for row in rows:
        columns["top2"].append(top_two(row))
        columns["sampled"].append([shortest(row[i]) for i in ids])
    return columns


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def write_json(path: Path, head: dict[str, Any], rows_key: str, rows: Sequence[Any]) -> None:
    """Write `head` one key a line and `rows` one row a line, so that a change reads as a diff."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(row, ensure_ascii=True)}" for row in rows)
    path.write_text("\n".join(["{", *lines, f" {json.dumps(rows_key)}: [", body, " ]", "}", ""]))
