"""Write an F32 copy of a GGUF file: `python -m tests.oracle.make_f32 MODEL.gguf COPY.gguf`.

Every tensor is decoded by the `gguf` package; names, order, shapes and metadata stay, except
`general.file_type`, which says F32. A tied output head stays tied, as no tensor is added. The same
input gives the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

FILE_TYPE = "general.file_type"
ARCHITECTURE = "general.architecture"


def copy_metadata(source: gguf.GGUFReader, target: gguf.GGUFWriter) -> None:
    """Copy every key with its type. The writer sets the architecture and the counts itself."""
    for key, field in source.fields.items():
        if key.startswith("GGUF.") or key == ARCHITECTURE:
            continue
        value = int(gguf.LlamaFileType.ALL_F32) if key == FILE_TYPE else field.contents()
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        target.add_key_value(key, value, field.types[0], inner)


def decoded(tensor: Any) -> NDArray[np.float32]:
    """The values of a tensor as float32, rows first."""
    values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
    return np.ascontiguousarray(values.reshape(tuple(int(n) for n in reversed(tensor.shape))))


def make_f32(source_path: Path, target_path: Path) -> None:
    """Write the F32 copy of `source_path`, one tensor in memory at a time."""
    source = gguf.GGUFReader(source_path)
    architecture = source.fields[ARCHITECTURE].contents()
    target = gguf.GGUFWriter(target_path, architecture)
    copy_metadata(source, target)
    for tensor in source.tensors:
        shape = tuple(int(n) for n in reversed(tensor.shape))
        size = 4 * int(tensor.n_elements)
        target.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size)
    target.write_header_to_file()
    target.write_kv_data_to_file()
    target.write_ti_data_to_file()
    for tensor in source.tensors:
        target.write_tensor_data(decoded(tensor))
    target.close()


def main() -> None:
    """Read the command line and write the copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("copy", type=Path)
    options = parser.parse_args()
    make_f32(options.model, options.copy)


if __name__ == "__main__":
    main()
