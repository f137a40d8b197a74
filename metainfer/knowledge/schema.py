"""JSON Schemas of the contracts, for editors: `ckb/schema/KIND.json`."""

from __future__ import annotations

import json
from typing import Any, get_args

from metainfer.knowledge.contracts import AnyContract, Contract

FOLDER = "schema"


def schemas() -> dict[str, str]:
    """The text of every schema file by its name."""
    return {f"{_kind(model)}.json": _text(model) for model in models().values()}


def models() -> dict[str, type[Contract]]:
    """The model of every kind, by kind."""
    union = get_args(AnyContract)[0]
    return {_kind(model): model for model in get_args(union)}


def _kind(model: type[Contract]) -> str:
    (kind,) = get_args(model.model_fields["kind"].annotation)
    return str(kind)


def _text(model: type[Contract]) -> str:
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(schema | model.model_json_schema(), indent=1, sort_keys=True) + "\n"
