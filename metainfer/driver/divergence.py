"""An engine against R0 over a fixed text: how far its distribution is off at each position.

The text ships with its hash: our own prose and code, and the licence. It is cut into windows of the
engine's context, each evaluated from its beginning, one token a step; R0 is fed the same tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metainfer.driver.agreement import CACHE_BYTES, Agreement, Position, judged, top_two
from metainfer.driver.built import Built
from metainfer.driver.prompts import Prompt
from metainfer.driver.reference import Reference
from metainfer.driver.session import compiler_context
from metainfer.ir.diagnostics import error
from metainfer.reports import quiet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TEXT = "fixed_text.txt"
SHA256 = "c853751d36eed129c5dabdf00e10a60cb47a7f9e1ab5a99f8e4c8f099d9934c0"
POSITIONS = 4096
"""Tokens of the text that are judged."""
WINDOW = 2048
"""Most tokens of a window: attention costs R0 the square of it."""
ELEMENTS = 1 << 24
"""Most logits of R0 that are held at a time."""


@dataclass(frozen=True)
class Divergence:
    """KL(R0 || engine) in nats at every position, and the next tokens under the near-tie rule."""

    kl: tuple[float, ...]
    agreement: Agreement

    @property
    def mean(self) -> float:
        """Mean over all positions."""
        return sum(self.kl) / len(self.kl)

    @property
    def top_1(self) -> float:
        """Share of positions where both have the same likeliest token, near ties included."""
        same = [p.reference == p.engine for p in self.agreement.positions]
        return sum(same) / len(same)

    @property
    def holds(self) -> bool:
        """Whether the next token agrees wherever R0 prefers one."""
        return self.agreement.holds

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "text_sha256": SHA256,
            "positions": len(self.kl),
            "mean_kl": self.mean,
            "max_kl": max(self.kl),
            "top_1": self.top_1,
            "excluded": [asdict(p) for p in self.agreement.excluded],
            "different": [asdict(p) for p in self.agreement.different],
            "holds": self.holds,
        }

    def as_text(self) -> str:
        """The result in lines."""
        worst = max(range(len(self.kl)), key=self.kl.__getitem__)
        at = self.agreement.positions[worst]
        head = f"{len(self.kl)} positions: mean KL {self.mean:.3e}, max {self.kl[worst]:.3e} nats"
        lines = [f"{head} ({at.prompt}[{at.index}]), top-1 agreement {self.top_1:.2%}"]
        for what, found in (
            ("differs", self.agreement.different),
            ("near tie", self.agreement.excluded),
        ):
            lines += [
                f"{what}: {p.prompt}[{p.index}], R0 {p.reference}, engine {p.engine}, "
                f"gap {p.gap:.2e}"
                for p in found
            ]
        return "\n".join(lines)


def fixed_text() -> str:
    """The text; RuntimeError if it is not the one that figures were published of."""
    raw = (files(__package__) / TEXT).read_bytes()
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise RuntimeError(f"{TEXT} is not the text with the digest {SHA256}")
    return raw.decode()


def check_divergence(
    folder: Path, cc: str | None = None, report: Callable[[str], None] = quiet
) -> Divergence:
    """Compare the engine in `folder` with R0, computed now from the model file of its spec."""
    from metainfer.interp.run import Interpreter

    built = Built(folder, compiler_context(cc=cc))
    reference = built.reference
    interpreter = Interpreter(reference.module, reference.weights, cache_bytes=CACHE_BYTES)
    kl: list[float] = []
    positions: list[Position] = []
    with built.engine() as engine:
        windows = list(_windows(reference, engine.context))
        for number, ids in enumerate(windows, 1):
            report(f"KL against R0: window {number} of {len(windows)}, {len(ids)} tokens")
            for start, wanted in _reference_rows(interpreter, ids, engine.vocab):
                got = _engine_rows(engine, ids, start, len(wanted))
                kl += _kl(wanted, got).tolist()
                chosen = got.argmax(axis=1).tolist()
                found = judged(f"window {number}", map(top_two, wanted), chosen)
                positions += [_moved(position, start) for position in found]
    return Divergence(tuple(kl), Agreement(tuple(positions)))


def _windows(reference: Reference, context: int) -> Iterator[list[int]]:
    """The first tokens of the text in windows, each after the begin token if there is one."""
    begin = reference.encode(Prompt("nothing", ""))
    body = reference.encode(Prompt("text", fixed_text()))[len(begin) :]
    size = min(context, WINDOW) - len(begin)
    left = POSITIONS
    for at in range(0, len(body), size):
        window = [*begin, *body[at : at + size]][:left]
        left -= len(window)
        yield window
        if not left:
            return
    raise error(f"the fixed text has {POSITIONS - left} tokens of {POSITIONS} in this vocabulary")


def _reference_rows(
    interpreter: Any, ids: Sequence[int], vocab: int
) -> Iterator[tuple[int, Array]]:
    """R0's logits after each token: where they begin, and (tokens, vocab) of them."""
    from metainfer.interp.r0 import teacher_forced

    start = 0
    for rows in teacher_forced(interpreter, ids, max(1, min(256, ELEMENTS // vocab))):
        yield start, rows
        start += len(rows)


def _engine_rows(engine: Any, ids: Sequence[int], start: int, count: int) -> Array:
    import numpy as np

    places = range(start, start + count)
    return np.array([engine.evaluate(ids[at : at + 1], at) for at in places], np.float64)


def _kl(wanted: Array, got: Array) -> Array:
    """`sum_v p(v) (log p(v) - log q(v))` of each row of logits."""
    import numpy as np

    p, q = _log_softmax(wanted), _log_softmax(got)
    found: Array = (np.exp(p) * (p - q)).sum(axis=1)
    return found


def _log_softmax(logits: Array) -> Array:
    import numpy as np

    shifted = logits - logits.max(axis=1, keepdims=True)
    found: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found


def _moved(position: Position, start: int) -> Position:
    """The same position counted from the beginning of its window."""
    return replace(position, index=position.index + start)
