"""How much a model keeps of the tokens it has seen: keys and values of every layer, in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import FloatAttr, IntegerAttr

from metainfer.ir.diagnostics import error
from metainfer.ir.units import UNITS
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Family, PerfRule
from metainfer.passes import expressions
from metainfer.spec.view import SpecView, place_of

DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "int8": 1, "fp8": 1}
DEFAULT_KV = "f32"
_DTYPES = ", ".join(DTYPE_BYTES)


@dataclass(frozen=True)
class Facts:
    """What is known of a model: its whole numbers, and the layers that keep a ring of tokens."""

    numbers: dict[str, int]
    rings: dict[int, int] = field(default_factory=dict)
    """Tokens of a ring → number of layers; all other layers keep the whole context."""

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]


def facts_of(view: SpecView, knowledge: Knowledge | None) -> Facts:
    """The facts of a resolved model; without `knowledge` no layer keeps a ring.

    Raises `DiagnosticError` where `resolve-model` has not run.
    """
    model = view.model
    if model.hparams is None or model.arch is None:
        raise error("needs: run resolve-model first", place_of(model))
    values = {
        name: value.value.data
        for name, value in model.hparams.data.items()
        if isinstance(value, IntegerAttr | FloatAttr)
    }
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    if knowledge is None:
        return Facts(numbers)
    return Facts(numbers, _rings(model.arch.data, values, knowledge))


def _rings(arch: str, values: dict[str, int | float], knowledge: Knowledge) -> dict[int, int]:
    """A ring holds what the first token of a step sees, and the step."""
    families = knowledge.all("family", Family)
    family = next((family for family in families if arch in family.arch), None)
    if family is None:
        return {}
    step = max(rule.chunk for rule in knowledge.all("perf_rule", PerfRule))
    found: dict[int, int] = {}
    for layer in range(int(values["layers"])):
        window = family.kinds[family.pattern[layer % len(family.pattern)]].window
        if window is not None:
            ring = int(expressions.evaluate(window, values)) + step
            found[ring] = found.get(ring, 0) + 1
    return found


@dataclass(frozen=True)
class Kept:
    """The keys and values of all sequences that a spec demands."""

    view: SpecView
    facts: Facts

    @property
    def dtype(self) -> str:
        """The pinned one, else the default."""
        pin = self.view.pin("kv")
        if pin and pin.value not in DTYPE_BYTES:
            raise error(f"unknown dtype '{pin.value}'", place_of(pin), help=f"one of {_DTYPES}")
        return pin.value if pin else DEFAULT_KV

    def bytes(self, context: int | None = None, dtype: str | None = None) -> int:
        """Bytes at a context and in a dtype; default: the spec's."""
        tokens = self.view.max_context if context is None else context
        places = sum(min(tokens, ring) * layers for ring, layers in self.facts.rings.items())
        places += tokens * self._whole_layers()
        return self.view.max_batch * places * self._layer_bytes(dtype or self.dtype)

    def largest_context(self, budget: int | float) -> int:
        """The most tokens whose keys and values fit into `budget` bytes."""
        low, high = 0, self.view.max_context
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.bytes(middle) <= budget else (low, middle - 1)
        return low

    def arithmetic(self) -> str:
        """How `bytes` comes about, as a formula."""
        facts, dtype, tokens = self.facts, self.dtype, self.view.max_context
        batch = f"batch {self.view.max_batch} × " if self.view.max_batch > 1 else ""
        heads = f"{facts['kv_heads']} KV heads × {facts['head_dim']}"
        whole, size = self._whole_layers(), self._layer_bytes(dtype)
        rings = {ring: layers for ring, layers in facts.rings.items() if ring < tokens}
        if not rings:
            token = facts["layers"] * size
            total = f"{tokens} × {batch}{token:,} B/token"
            heads = f"{facts['layers']} layers, {heads}"
        else:
            parts = [f"{tokens} × {whole} layers", *(f"{r} × {n} layers" for r, n in rings.items())]
            total = f"({' + '.join(parts)}) × {batch}{size:,} B/token"
        return f"context {total} (kv {dtype}, {heads}) = {size_text(self.bytes())}"

    def _whole_layers(self) -> int:
        return self.facts["layers"] - sum(self.facts.rings.values())

    def _layer_bytes(self, dtype: str) -> int:
        """Keys and values of one token in one layer."""
        return 2 * self.facts["kv_heads"] * self.facts["head_dim"] * DTYPE_BYTES[dtype]


def value_bytes(dtype: str) -> str:
    """`2 bytes a value`."""
    count = DTYPE_BYTES[dtype]
    return f"{count} bytes a value" if count > 1 else "1 byte a value"


def size_text(count: int | float) -> str:
    """`45.0 MiB`."""
    for unit in ("GiB", "MiB", "KiB"):
        if count >= UNITS[unit][1]:
            return f"{count / UNITS[unit][1]:.1f} {unit}"
    return f"{count:.0f} B"
