"""`use "base.mispec"`: the constraints of other files become those of this one.

A file may say the same as one that it uses, or replace a bound, a typical value, the objectives or
a `degrade`. What is pinned there (a value with `==`, the model, the target, a list of words, an
exception) may be repeated but not changed. Files that are used side by side may not disagree,
unless this file says what holds.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note, Place, error
from metainfer.spec.items import Item, Sheet
from metainfer.spec.reading import read_spec

MAX_DEPTH = 8
"""Files that use each other in a row."""
MAX_FILES = 64
SUFFIX = ".mispec"

ReadFile = Callable[[str, Place | None], str]
"""Text of a file by its path; raises `DiagnosticError`, at the place of the `use`."""


def resolve(sheet: Sheet, file: str, read: ReadFile) -> Sheet:
    """`sheet`, read from `file`, with what it uses in place of its `use` items.

    Places stay those of the files that the items are written in. Raises `DiagnosticError` for all
    that is wrong with the paths, the files and the way their constraints fit.
    """
    return _Resolver(read).sheet(sheet, (_normal(file),))


def used_path(file: str, item: Item) -> str:
    """Path of the file that a `use` in `file` names. Raises `DiagnosticError` for a hostile one."""
    path, reason = item.what, None
    if not path.endswith(SUFFIX):
        reason = f"expected a {SUFFIX} file"
    elif path.startswith(("/", "~")) or path[1:2] == ":":
        reason = "expected a path relative to this file"
    elif "\\" in path or not path.isprintable():
        reason = "expected a path with '/' between plain names"
    if reason:
        raise error(f"cannot use '{path}': {reason}", item.place)
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


def _normal(file: str) -> str:
    return posixpath.normpath(file)


@dataclass
class _Resolver:
    """Reads every file once and fits the sheets together."""

    read: ReadFile
    _known: dict[str, Sheet] = field(default_factory=dict)

    def sheet(self, sheet: Sheet, chain: tuple[str, ...]) -> Sheet:
        """The sheet without `use` items; `chain` are the files on the way to it."""
        uses = [item for item in sheet.items if item.op == "use"]
        own = [item for item in sheet.items if item.op != "use"]
        imported = [(use, _moved(self._file(use, chain), chain[-1], use)) for use in uses]
        return sheet._replace(items=tuple(merge(own, imported)))

    def _file(self, use: Item, chain: tuple[str, ...]) -> Sequence[Item]:
        path = used_path(chain[-1], use)
        if path in chain:
            circle = " uses ".join([*chain[chain.index(path) :], path])
            raise error(f"'{use.what}' uses itself: {circle}", use.place)
        if len(chain) >= MAX_DEPTH or len(self._known) >= MAX_FILES:
            most = f"{MAX_DEPTH} files in a row, {MAX_FILES} in all"
            raise error(f"'{use.what}' is one file too many", use.place, help=f"at most {most}")
        if path not in self._known:
            reading = read_spec(self.read(path, use.place), path)
            if reading.problems or reading.sheet is None:
                raise DiagnosticError(*_blamed(reading.problems, use))
            self._known[path] = self.sheet(reading.sheet, (*chain, path))
        return self._known[path].items


def _moved(items: Sequence[Item], file: str, use: Item) -> list[Item]:
    """Items of a used file as they read in `file`: a local model keeps the path it had there."""
    folder = posixpath.dirname(used_path(file, use))
    here = posixpath.dirname(file)
    moved = [i._replace(what=_moved_source(i.what, folder, here)) for i in items if i.op == "model"]
    return [*(item for item in items if item.op != "model"), *moved]


def _moved_source(uri: str, folder: str, here: str) -> str:
    scheme, _, path = uri.partition(":")
    if scheme != "file" or posixpath.isabs(path) or folder == here:
        return uri
    return f"file:{posixpath.relpath(posixpath.join(folder, path), here or '.')}"


def _blamed(problems: Iterable[Diagnostic], use: Item) -> list[Diagnostic]:
    note = Note("the file is used here", use.place)
    return [Diagnostic(p.message, p.place, (*p.notes, note), p.help) for p in problems]


Group = tuple[Item, ...]
"""The items of one file with one key: the objectives, or a single item."""


def merge(own: Sequence[Item], imported: Sequence[tuple[Item, Sequence[Item]]]) -> list[Item]:
    """The items that hold: those of the files used, in their order, then the file's own.

    Raises `DiagnosticError` with one diagnostic for each contradiction.
    """
    mine = _groups(own)
    kept: dict[tuple[str, ...], Group] = {}
    problems: list[Diagnostic] = []
    for use, items in imported:
        for key, group in _groups(items).items():
            if key in mine:
                if group[0].pinned and not _same(group, mine[key]):
                    problems.append(_overridden(group[0], mine[key][0]))
            elif not _same(group, kept.setdefault(key, group)):
                problems.append(_disagree(kept[key][0], group[0], use))
    if problems:
        raise DiagnosticError(*problems)
    return [*(item for group in kept.values() for item in group), *own]


def _groups(items: Iterable[Item]) -> dict[tuple[str, ...], Group]:
    found: dict[tuple[str, ...], Group] = {}
    for item in items:
        found[item.key] = (*found.get(item.key, ()), item)
    return found


def _same(left: Group, right: Group) -> bool:
    return [item.said for item in left] == [item.said for item in right]


def _overridden(item: Item, over: Item) -> Diagnostic:
    note = Note(f"{_spelled(item)} is pinned here", item.place)
    return Diagnostic(
        f"{_spelled(over)} overrides a value that is pinned in a file it uses",
        over.place,
        (note,),
        "remove one of the two",
    )


def _disagree(before: Item, item: Item, use: Item) -> Diagnostic:
    notes = (
        Note(f"{_spelled(before)} is given here", before.place),
        Note(f"{_spelled(item)} is given here", item.place),
    )
    pinned = before.pinned or item.pinned
    return Diagnostic(
        "the files used here disagree",
        use.place,
        notes,
        "use one of them" if pinned else "say in this file what holds",
    )


def _spelled(item: Item) -> str:
    """The item in short, for a message."""
    if item.op in ("model", "target"):
        return f"{item.op} {item.what}"
    if item.op == "prefer":
        return f"prefer {item.value} {item.what}"
    if isinstance(item.value, tuple):
        return f"{item.what} {', '.join(map(str, item.value))}"
    site = f" except {item.site}" if item.site else ""
    operator = "" if item.operator == "==" else f" {item.operator}"
    value = "" if item.value is None else f" {item.value}"
    return f"{item.what}{site}{operator}{value}{f' {item.unit}' if item.unit else ''}"
