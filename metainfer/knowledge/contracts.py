"""Typed contracts: a common header, and per kind exactly the fields that a pass reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Contract(BaseModel):
    """Header of every contract; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    layer: Literal["generic", "family", "model", "deployment", "hardware"]
    version: int = Field(ge=1)
    why: str
    """Why this cannot be inferred and has to be written down."""
    sources: tuple[str, ...] = ()


class Quant(Contract):
    """A storage format; `decode.mlir` beside it turns a block's fields into values."""

    kind: Literal["quant"]
    type_id: int = Field(ge=0)
    """Number of the format in GGUF files."""
    block: int = Field(ge=1)
    bytes: int = Field(ge=1)
    fields: tuple[str, ...]


class HyperParameter(BaseModel):
    """Where a model's number comes from: a metadata key, else an expression over earlier ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str | None = None
    default: str | int | float | None = None


class LayerKind(BaseModel):
    """One kind of layer of a family: the template's parameters that differ, and its state."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: str = "kv"
    window: str | None = None
    """Expression for the tokens that its state must keep; None: all."""
    numbers: dict[str, str] = {}
    """Template parameters of this kind, as expressions over hparams."""


class Family(Contract):
    """A model family; `layer.mlir` and `forward.mlir` beside it are its block templates."""

    kind: Literal["family"]
    arch: tuple[str, ...]
    """Values of `general.architecture` that this contract covers."""
    hparams: dict[str, HyperParameter]
    """In order; a default may use the names before it."""
    equal: tuple[tuple[str, str], ...] = ()
    """Pairs of expressions over hparams that must agree for the templates to hold."""
    kinds: dict[str, LayerKind] = {"layer": LayerKind()}
    pattern: tuple[str, ...] = ("layer",)
    """Kinds of consecutive layers, repeated over the depth."""
    refuse: dict[str, str] = {}
    """Metadata keys whose presence means that the templates do not hold, with the reason."""
    weight_map: str


class Slot(BaseModel):
    """A weight of the family: its tensor in the checkpoint and its shape over hparams."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    shape: tuple[str, ...]
    tied: str | None = None
    """The slot whose tensor serves when this one is absent."""


class WeightMap(Contract):
    """Checkpoint tensors to slots, total both ways: each tensor used, each slot found."""

    kind: Literal["weight_map"]
    rope_pairing: Literal["interleaved", "half"]
    """How the rows of q and k are ordered in this checkpoint format."""
    model: dict[str, Slot]
    layers: dict[str, Slot]


class Fusion(Contract):
    """Ops that may share a kernel; `pattern.mlir` beside it is what they look like."""

    kind: Literal["fusion"]
    benefit: str


class Layout(Contract):
    """How a weight or a state lies in memory."""

    kind: Literal["layout"]
    lanes: int = Field(ge=1)
    align: int = Field(ge=1)
    holds: Literal["weights", "state"]


class NumericPath(Contract):
    """Where a kernel rounds and in which order it sums."""

    kind: Literal["numeric_path"]
    accumulate: Literal["f32"]
    fma: bool
    order: str
    bound: str
    """The error bound of a reduction and where it comes from."""


class Isa(BaseModel):
    """An instruction set: what the compiler is told, and what the CPU must have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    flags: tuple[str, ...]
    features: tuple[str, ...]
    """Names for `__builtin_cpu_supports`."""


class Hardware(Contract):
    """A class of CPUs and its instruction sets, widest first."""

    kind: Literal["hardware"]
    machine: tuple[str, ...]
    isa: dict[str, Isa]


class PerfRule(Contract):
    """Numbers that a policy uses, with the evidence for them."""

    kind: Literal["perf_rule"]
    entries: dict[str, int]
    """Name of an entry → most tokens of a step that it serves; ascending."""
    chunk: int = Field(ge=1)
    """Most tokens of one step."""


AnyContract = Annotated[
    Quant | Family | WeightMap | Fusion | Layout | NumericPath | Hardware | PerfRule,
    Field(discriminator="kind"),
]
