"""A model on disk, whatever its form: a GGUF file or a Hugging Face folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import DiagnosticError, Note
from metainfer.models.gguf import read_gguf
from metainfer.models.tensors import Checkpoint, TensorFormat

if TYPE_CHECKING:
    from metainfer.models.config_map import ConfigMap

__all__ = ["Checkpoint", "located", "open_checkpoint"]


def open_checkpoint(
    path: Path,
    formats: Mapping[int, TensorFormat],
    maps: Callable[[], Sequence[ConfigMap]],
) -> Checkpoint:
    """Read the header of a GGUF file, or the config and headers of a folder.

    `formats` are the tensor formats by GGUF's numbers; `maps` gives what is known about folders
    and is called for a folder only. Raises `DiagnosticError` naming the file and the place in it.
    """
    if path.is_dir():
        from metainfer.models.folder import open_folder

        return open_folder(path, formats, maps())
    return read_gguf(path, formats)


@contextmanager
def located(checkpoint: Checkpoint) -> Iterator[None]:
    """Adds the checkpoint's path to errors about its metadata that have no place."""
    try:
        yield
    except DiagnosticError as problem:
        note = Note(f"in {checkpoint.path}")
        raise DiagnosticError(
            *(
                each if each.place else replace(each, notes=(*each.notes, note))
                for each in problem.diagnostics
            )
        ) from None
