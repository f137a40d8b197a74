"""Reading spec files that other spec files name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from metainfer.ir.diagnostics import Place, did_you_mean, error
from metainfer.spec.reading import read_spec
from metainfer.spec.uses import resolve

MAX_BYTES = 1 << 20
"""Far more than any spec needs; what is not trusted must not fill the memory."""


def read_spec_file(path: str, place: Place | None) -> str:
    """The text of a file named by a `use` at `place`: a regular file of bounded size, UTF-8."""
    try:
        # Not blocking: opening a pipe would otherwise wait for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        near = [p.name for p in Path(path).parent.glob("*.mispec")]
        raise error(
            f"cannot use '{path}': no such file",
            place,
            help=did_you_mean(Path(path).name, near),
        ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(f"cannot use '{path}': {reason.lower()}", place) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise error(f"cannot use '{path}': it is not a regular file", place)
    with os.fdopen(handle, "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise error(f"cannot use '{path}': it has more than {MAX_BYTES} bytes", place)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        message = f"cannot use '{path}': byte {problem.start} is not UTF-8 text"
        raise error(message, place) from None


def used_texts(text: str, file: str) -> tuple[str, ...]:
    """The texts of all files that `text`, read from `file`, uses, in the order they are read.

    Raises `DiagnosticError` where they cannot be read or contradict each other; what is wrong with
    `text` itself is left to whoever compiles it.
    """
    if "use" not in text:
        return ()
    sheet = read_spec(text, file).sheet
    if sheet is None:
        return ()
    texts: list[str] = []

    def read(path: str, place: Place | None) -> str:
        texts.append(read_spec_file(path, place))
        return texts[-1]

    resolve(sheet, file, read)
    return tuple(texts)
