"""R0 of the tiny models of `tiny_hf.py`, under the contracts as they are or changed ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tiny_hf import Floats, TinyHf
from tiny_llama import spec_text

from metainfer.driver.reference import Reference, reference_of
from metainfer.driver.session import reading_context
from metainfer.interp.r0 import teacher_forced
from metainfer.interp.run import Interpreter
from metainfer.resources import ckb_dir

FIXTURES = Path(__file__).parents[1] / "fixtures"
WITHIN = 2e-3
"""Most that float32 logits of transformers may be off (shared/design: verification)."""
Logits = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Recording:
    """What transformers says about a tiny model; see `tests/oracle/record_tiny.py`."""

    ids: list[int]
    logits: Floats
    """After every token: (len(ids), vocab)."""
    weights_sha256: str
    norm_f16: npt.NDArray[np.float16]
    """The first norm of the first embeddings, computed in half precision: (rows, hidden)."""


def recording(family: str) -> Recording:
    """The fixture of a family."""
    with np.load(FIXTURES / f"tiny_{family}.npz") as found:
        digest = json.loads(str(found["head"]))["weights_sha256"]
        return Recording(found["ids"].tolist(), found["logits"], digest, found["norm_f16"])


@dataclass(frozen=True)
class Edit:
    """A change of one file of the contracts: `before` becomes `after`, wherever it stands."""

    file: str
    before: str
    after: str

    def apply(self, ckb: Path) -> None:
        """Make the change; ValueError if there is nothing to change."""
        path = ckb / self.file
        text = path.read_text(encoding="utf-8")
        if self.before not in text:
            raise ValueError(f"{self.file} has no '{self.before}'")
        path.write_text(text.replace(self.before, self.after), encoding="utf-8")


def edited_ckb(folder: Path, edits: Iterable[Edit]) -> Path:
    """A copy of the contracts with changes."""
    ckb = folder / "ckb"
    shutil.copytree(ckb_dir(), ckb)
    for edit in edits:
        edit.apply(ckb)
    return ckb


def write_tiny_spec(
    folder: Path, model: TinyHf, *, context: int, edit: Mapping[str, Floats] | None = None
) -> Path:
    """Write `tiny.gguf` and a spec for it."""
    model.write_gguf(folder / "tiny.gguf", edit=edit)
    spec = folder / "tiny.mispec"
    spec.write_text(spec_text("tiny.gguf", context=context), encoding="utf-8")
    return spec


def tiny_reference(
    folder: Path,
    model: TinyHf,
    *,
    edits: Iterable[Edit] = (),
    weights: Mapping[str, Floats] | None = None,
) -> Reference:
    """R0 of a model, with changes of contracts or of the file's tensors."""
    edits = tuple(edits)
    ckb = edited_ckb(folder, edits) if edits else None
    spec = write_tiny_spec(folder, model, context=1024, edit=weights)
    return reference_of(spec, reading_context(ckb))


def r0_logits(reference: Reference, ids: list[int]) -> Logits:
    """Logits after every token: (len(ids), vocab)."""
    interpreter = Interpreter(reference.module, reference.weights)
    return np.concatenate(list(teacher_forced(interpreter, ids, len(ids))))
