"""An engine against R0: the same next token at every position, and how far its layers are off.

The engine continues eight prompts greedily and R0 is fed what it chose, so both judge the same
positions. *Near-tie rule*: the argmax must agree wherever R0's top two logits are at least
`NEAR_TIE` apart; at most `MOST_EXCLUDED` of the positions may be closer, and they are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from metainfer.driver.built import Built
from metainfer.driver.prompts import PROMPTS, Prompt
from metainfer.driver.reference import Reference
from metainfer.driver.session import compiler_context
from metainfer.ir.diagnostics import error
from metainfer.reports import quiet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metainfer.interp.meaning import Value

    Array = NDArray[np.float64]
    Logits = NDArray[np.float32]

NEAR_TIE = 1e-3
MOST_EXCLUDED = 0.02
STEPS = 64
CACHE_BYTES = 2 << 30
"""Most decoded weights that R0 keeps from one prompt to the next."""


@dataclass(frozen=True)
class Position:
    """One position of a prompt's continuation; `gap` is between R0's top two logits."""

    prompt: str
    index: int
    gap: float
    reference: int
    engine: int


@dataclass(frozen=True)
class Agreement:
    """All positions judged under the near-tie rule."""

    positions: tuple[Position, ...]

    @property
    def excluded(self) -> list[Position]:
        """Where R0 itself hardly prefers one token."""
        return [p for p in self.positions if p.gap < NEAR_TIE]

    @property
    def different(self) -> list[Position]:
        """Where R0 prefers one token, and the engine another."""
        return [p for p in self.positions if p.gap >= NEAR_TIE and p.reference != p.engine]

    @property
    def agreed(self) -> int:
        """Positions that are neither excluded nor different."""
        return len(self.positions) - len(self.excluded) - len(self.different)

    @property
    def holds(self) -> bool:
        """Whether there is something to judge, nothing differs and few are excluded."""
        few = len(self.excluded) <= MOST_EXCLUDED * len(self.positions)
        return self.agreed > 0 and few and not self.different


@dataclass
class LayerError:
    """How far the engine's output of a layer is from R0's, over all tokens of all prompts."""

    squares: float = 0.0
    of: float = 0.0
    worst_token: float = 0.0
    """Largest error of one token's row relative to that row: a few rows dominate the whole norm."""

    @property
    def relative_rms(self) -> float:
        """`|x_engine - x_R0| / |x_R0|` in the 2-norm over all values."""
        return float((self.squares / self.of) ** 0.5)

    def add(self, found: Logits, reference: Array) -> None:
        """Count rows: (tokens, width) each."""
        squares = ((found - reference) ** 2).sum(axis=1)
        of = (reference**2).sum(axis=1)
        self.squares += float(squares.sum())
        self.of += float(of.sum())
        self.worst_token = max(self.worst_token, float((squares / of).max() ** 0.5))


@dataclass(frozen=True)
class Result:
    """What `metainfer check --reference` found."""

    agreement: Agreement
    layers: Mapping[int, LayerError]

    @property
    def holds(self) -> bool:
        """Whether the tokens agree."""
        return self.agreement.holds

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "positions": len(self.agreement.positions),
            "agreed": self.agreement.agreed,
            "excluded": [asdict(p) for p in self.agreement.excluded],
            "different": [asdict(p) for p in self.agreement.different],
            "holds": self.holds,
            "layers": [
                {"layer": n, "relative_rms": e.relative_rms, "worst_token": e.worst_token}
                for n, e in sorted(self.layers.items())
            ],
        }

    def as_text(self) -> str:
        """The result in lines; of the layers the first, the middle and the last one."""
        found = self.agreement
        head = f"{len(found.positions)} positions: {found.agreed} agree with R0"
        few = f"{len(found.excluded)} excluded as near ties (at most {MOST_EXCLUDED:.0%})"
        lines = [f"{head}, {len(found.different)} differ, {few}"]
        for what, positions in (("differs", found.different), ("near tie", found.excluded)):
            lines += [
                f"{what}: {p.prompt}[{p.index}], R0 {p.reference}, engine {p.engine}, "
                f"gap {p.gap:.2e}"
                for p in positions
            ]
        layers = sorted(self.layers)
        for layer in dict.fromkeys((layers[0], layers[(len(layers) - 1) // 2], layers[-1])):
            off = self.layers[layer]
            lines.append(
                f"layer {layer}: relative RMS error {off.relative_rms:.2e}, "
                f"worst token {off.worst_token:.2e}"
            )
        return "\n".join(lines)


def judged(
    prompt: str, top_two: Iterable[Sequence[Sequence[float]]], chosen: Iterable[int]
) -> Iterator[Position]:
    """Positions from R0's `[[token, logit], [token, logit]]` and another's argmax at each."""
    for index, ((best, second), token) in enumerate(zip(top_two, chosen, strict=True)):
        yield Position(prompt, index, best[1] - second[1], int(best[0]), int(token))


def greedy(engine: Any, prompt: Sequence[int], steps: int) -> Iterator[Logits]:
    """The engine's logits, (vocab,), along its own `steps` likeliest tokens; see `forced`."""
    logits = _evaluate(engine, prompt, 0)
    yield logits
    for place in range(len(prompt), len(prompt) + steps - 1):
        logits = _evaluate(engine, [int(logits.argmax())], place)
        yield logits


def forced(engine: Any, prompt: Sequence[int], tokens: Sequence[int]) -> Iterator[Logits]:
    """The engine's logits, (vocab,), after the prompt and after each of `tokens` but the last.

    The prompt is fed in one call, then one token a call: both entries of the engine take part.
    """
    yield _evaluate(engine, prompt, 0)
    for place, token in enumerate(tokens[:-1], len(prompt)):
        yield _evaluate(engine, [token], place)


def _evaluate(engine: Any, ids: Sequence[int], place: int) -> Logits:
    import numpy as np

    return np.array(engine.evaluate(ids, place))


def check_against_reference(
    folder: Path, cc: str | None = None, report: Callable[[str], None] = quiet
) -> Result:
    """Compare the engine in `folder` with R0, computed now from the model file of its spec."""
    built = Built(folder, compiler_context(cc=cc))
    check = _Check(built.reference)
    positions: list[Position] = []
    with built.engine() as engine, built.traced_engine(check.keep_engine_s) as traced:
        for prompt in PROMPTS:
            report(f"comparing with R0: {prompt.name}")
            positions += check.prompt(prompt, engine, traced)
    return Result(Agreement(tuple(positions)), check.errors)


class _Check:
    def __init__(self, reference: Reference) -> None:
        from metainfer.interp.run import Interpreter

        self.reference = reference
        self.errors: dict[int, LayerError] = {}
        # What the layers left to the next along the prompt in hand, all tokens one below another.
        self.layers: dict[int, Array] = {}
        self.engine_layers: dict[int, list[Logits]] = {}
        self.interpreter = Interpreter(
            reference.module, reference.weights, observe=self._keep, cache_bytes=CACHE_BYTES
        )

    def keep_engine_s(self, layer: int, rows: Logits) -> None:
        """Called by the traced engine."""
        self.engine_layers.setdefault(layer, []).append(rows.copy())

    def _keep(self, name: str, layer: int | None, value: Value) -> None:
        if name.startswith("@") and layer is not None:
            self.layers[layer] = cast("Array", value)

    def prompt(self, prompt: Prompt, engine: Any, traced: Any) -> list[Position]:
        """Judge one prompt, and count its layers."""
        from metainfer.interp.r0 import teacher_forced

        ids = self.reference.encode(prompt)
        tokens = self._continue(prompt, ids, engine, traced)
        fed = [*ids, *tokens[:-1]]
        (logits,) = teacher_forced(self.interpreter, fed, len(fed))
        self._compare_layers()
        return list(judged(prompt.name, map(top_two, logits[len(ids) - 1 :]), tokens))

    def _continue(self, prompt: Prompt, ids: Sequence[int], engine: Any, traced: Any) -> list[int]:
        """The engine's greedy tokens; its traced build goes the same way."""
        steps = min(STEPS, engine.context - len(ids))
        if steps < 1:
            raise error(
                f"prompt '{prompt.name}' has {len(ids)} tokens, which leave no room in the "
                f"engine's context of {engine.context}"
            )
        logits = list(greedy(engine, ids, steps))
        tokens = [int(row.argmax()) for row in logits]
        self.engine_layers.clear()
        for shown, row in zip(forced(traced, ids, tokens), logits, strict=True):
            if shown.tobytes() != row.tobytes():
                raise RuntimeError("the traced engine's logits are not the shipped engine's")
        return tokens

    def _compare_layers(self) -> None:
        import numpy as np

        for layer, rows in self.layers.items():
            found = np.concatenate(self.engine_layers[layer])
            self.errors.setdefault(layer, LayerError()).add(found, rows)


def top_two(logits: Array) -> list[tuple[int, float]]:
    """The two likeliest tokens of (vocab,) logits."""
    best = logits.argmax()
    rest = logits.copy()
    rest[best] = -math.inf
    second = rest.argmax()
    return [(int(best), float(logits[best])), (int(second), float(logits[second]))]
