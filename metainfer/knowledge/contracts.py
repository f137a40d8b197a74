"""Typed contracts: a common header, and per kind exactly the fields that a pass reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from metainfer.knowledge.scope import Box, Names, parse_scope


class Contract(BaseModel):
    """Header of every contract; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*/[a-z0-9][a-z0-9_]*$")
    """`KIND/NAME`, which is also its folder."""
    layer: Literal["generic", "family", "model", "deployment", "hardware"]
    version: int = Field(ge=1)
    why: str
    """Why this cannot be inferred and has to be written down."""
    sources: tuple[str, ...] = ()
    applies: dict[str, tuple[str, ...] | str] = {}
    """Where it holds: for each field a list of names, or a range as `1..4 tokens`. All must hold;
    a field that is not named does not matter."""
    overrides: tuple[str, ...] = ()
    """Ids of contracts that give way to this one where both apply."""
    guards: tuple[str, ...] = ()
    """What would fail if it were wrong: tests, as `FILE::FUNCTION`."""

    @field_validator("applies")
    @classmethod
    def _check_scope(
        cls, applies: dict[str, tuple[str, ...] | str]
    ) -> dict[str, tuple[str, ...] | str]:
        parse_scope(applies)
        return applies

    def box(self) -> Box:
        """Where it holds, with the fields of its kind that say so too."""
        return parse_scope(self.applies)

    @property
    def exclusive(self) -> bool:
        """Whether where it holds no other contract of its kind may say something else."""
        return False


class Quant(Contract):
    """A storage format; `decode.mlir` beside it turns a block's fields into values."""

    kind: Literal["quant"]
    type_id: int = Field(ge=0)
    """Number of the format in GGUF files."""
    block: int = Field(ge=1)
    bytes: int = Field(ge=1)
    fields: tuple[str, ...]

    def box(self) -> Box:
        return super().box() | {"type_id": Names(frozenset([str(self.type_id)]))}

    @property
    def exclusive(self) -> bool:
        return True


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

    def box(self) -> Box:
        return super().box() | {"arch": Names(frozenset(self.arch))}

    @property
    def exclusive(self) -> bool:
        return True


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

    def box(self) -> Box:
        return super().box() | {"machine": Names(frozenset(self.machine))}

    @property
    def exclusive(self) -> bool:
        return True


class PerfRule(Contract):
    """Numbers that a policy uses, with the evidence for them."""

    kind: Literal["perf_rule"]
    entries: dict[str, int]
    """Name of an entry → most tokens of a step that it serves; ascending."""
    chunk: int = Field(ge=1)
    """Most tokens of one step."""

    @property
    def exclusive(self) -> bool:
        return True


class Failure(Contract):
    """A fault that engines have had, made executable: a detector knows it when it is there."""

    kind: Literal["failure"]
    symptom: str
    """What one sees."""
    cause: str
    fix: str
    detector: str
    """Name in `metainfer.driver.ckb.detectors`; it looks only at what `applies` names."""
    arguments: dict[str, tuple[str, ...] | str] = {}
    mutant: str | None = None
    """The change that has this fault and that a gate must kill: `kernel: OPERATOR` of the mutation
    engine, or `family: NAME` of the mutants of the family contracts."""


AnyContract = Annotated[
    Quant | Family | WeightMap | Fusion | Layout | NumericPath | Hardware | PerfRule | Failure,
    Field(discriminator="kind"),
]
