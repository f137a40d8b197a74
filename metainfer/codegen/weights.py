"""`weights.bin`: every pack of a program, written once per (model, layouts) for all builds."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr

from metainfer.codegen.host.emit import WEIGHTS_HEADER_BYTES, weights_header
from metainfer.codegen.packing import pack_weight
from metainfer.files import cache_dir
from metainfer.ir.dialects import engine, infer
from metainfer.ir.symbols import all_of, lookup
from metainfer.models.tensors import Checkpoint
from metainfer.passes.sizes import weight_format
from metainfer.reports import Report
from metainfer.sealed import is_whole, seal

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


def weights_id(program: engine.ProgramOp, module: ModuleOp, digest: str) -> str:
    """SHA-256 over the model's digest and everything that decides where its bytes go."""
    texts = [digest, *(str(op) for op in all_of(module, infer.WeightOp))]
    texts += [str(op) for op in module.ops if isinstance(op, infer.FormatOp | infer.LayoutOp)]
    texts += [str(op) for op in program.body.block.ops if isinstance(op, engine.PackOp)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def packed_file(
    program: engine.ProgramOp,
    module: ModuleOp,
    model: Checkpoint,
    identity: str,
    progress: Progress | None = None,
    notice: Report | None = None,
) -> Path:
    """The packed weights in the cache, written now if they are not there whole.

    `notice` is told of a file that is damaged.
    """
    assert program.weights is not None
    size = WEIGHTS_HEADER_BYTES + program.weights.value.data
    path = cache_dir() / "weights" / f"{identity}.bin"
    whole = is_whole(path)
    if whole:
        return path
    if whole is False and notice is not None:
        notice(f"{path} is damaged: it is packed anew")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".packing.")
    try:
        with os.fdopen(handle, "r+b") as out:
            out.truncate(size)
            out.write(weights_header(identity))
            _write_packs(program, module, model, out.fileno(), progress)
            os.fsync(out.fileno())
            out.seek(0)
            seal(path, hashlib.file_digest(out, "sha256").hexdigest())
            # Pages that were written small would stay small: let the engine map it afresh.
            os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path


def _write_packs(
    program: engine.ProgramOp,
    module: ModuleOp,
    model: Checkpoint,
    file: int,
    progress: Progress | None,
) -> None:
    packs = [op for op in program.body.block.ops if isinstance(op, engine.PackOp)]
    assert program.weights is not None
    for pack in packs:
        weight = lookup(module, pack.sym_name.data, infer.WeightOp)
        offset = WEIGHTS_HEADER_BYTES + pack.offset.value.data
        for layer in weight.layers or [None]:
            raw = model.data(model.tensors[weight.tensor_name(layer)])
            for field, data in _streams(weight, module, raw).items():
                start = pack.streams.data[field]
                assert isinstance(start, IntegerAttr)
                os.pwrite(file, data, offset + start.value.data)
            offset += pack.bytes.value.data
            if progress is not None:
                progress(offset - WEIGHTS_HEADER_BYTES, program.weights.value.data)


def _streams(
    weight: infer.WeightOp, module: ModuleOp, raw: memoryview
) -> dict[str, memoryview | bytes]:
    layout = weight.type.encoding
    if not isinstance(layout, SymbolRefAttr):
        return {"w": raw}
    lanes = lookup(module, layout.root_reference.data, infer.LayoutOp).lanes.value.data
    rows, cols = weight.type.get_shape()
    packed = pack_weight(raw, rows, cols, weight_format(weight.type, module), lanes)
    return {field: data.data for field, data in packed.items()}


def place(packed: Path, target: Path) -> None:
    """Put the packed file at `target`: a hard link where the file systems allow, else a copy."""
    try:
        os.link(packed, target)
    except OSError:
        shutil.copyfile(packed, target)
