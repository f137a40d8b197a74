"""Verdicts on disk, reused while kernel and verifier are the same.

One SQLite database for all processes of a user. Every row carries a digest over what it says: a row
that is damaged, or belongs to another kernel or verifier, is never trusted. Looking it up gives the
reason, and the kernel is verified again. A store that cannot be read or written costs time only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from metainfer.reports import Report, quiet
from metainfer.verify.verdict import Verdict
from metainfer.verify.version import VERIFIER

if TYPE_CHECKING:
    import pydantic

FILE = "evidence.sqlite"
_BUSY_SECONDS = 30.0
"""How long to wait while another process writes; a row takes it milliseconds."""
_SCHEMA = (
    "CREATE TABLE evidence (kernel TEXT NOT NULL, verifier TEXT NOT NULL, content TEXT NOT NULL, "
    "sha256 TEXT NOT NULL, PRIMARY KEY (kernel, verifier)) WITHOUT ROWID"
)
_DAMAGED = "evidence is damaged"
Row: TypeAlias = tuple[object, object]
"""Content and digest."""


@dataclass(frozen=True)
class Origin:
    """Of a body: the meaning that it was tried for, and what its object was built with."""

    meaning: str
    """SHA-256 of what the kernel must do, whoever writes its body."""
    toolchain: str
    flags: tuple[str, ...]
    isa: str


@dataclass(frozen=True)
class Entry:
    """What a row says."""

    kernel: str
    verifier: str
    origin: Origin | None
    verdict: Verdict


@dataclass(frozen=True)
class Found:
    """A lookup's answer: a verdict to reuse, or why an existing entry is not used, or neither."""

    verdict: Verdict | None = None
    ignored: str | None = None


class EvidenceStore:
    """The rows of `directory`, one for each kernel key and verifier version.

    `origins` says how the bodies of the keys to be recorded were built. `warn` is told, once, that
    nothing can be kept, and of a database that had to be begun anew.
    """

    def __init__(
        self,
        directory: Path,
        origins: Mapping[str, Origin] | None = None,
        warn: Report = quiet,
    ) -> None:
        self.path = directory / FILE
        self._origins, self._warn = origins or {}, warn
        self._checked = self._complained = False

    def lookup(self, key: str) -> Found:
        """The `verified` verdict for `key`, if there is one that can be trusted."""
        try:
            entry = self.entry(key)
        except Untrusted as problem:
            return Found(ignored=str(problem))
        if entry is None or entry.verdict.status != "verified":
            return Found()
        if entry.verifier != VERIFIER:
            return Found(ignored=f"evidence is by verifier {entry.verifier!r}, not {VERIFIER!r}")
        if reason := _impossible(entry.verdict):
            return Found(ignored=reason)
        return Found(verdict=entry.verdict)

    def entry(self, key: str) -> Entry | None:
        """What is recorded of `key` by this verifier; raises `Untrusted` if it cannot be relied on.

        A row that mentions the key but is not filed under it has been damaged too.
        """
        if not self.path.exists():
            return None
        try:
            rows = self._read(lambda database: self._of_key(database, key))
        except sqlite3.Error as problem:
            raise Untrusted(self._troubled(problem)) from None
        if not rows:
            return None
        entry = _decoded(*rows[0])
        if entry.kernel != key:
            raise Untrusted("evidence belongs to another kernel")
        return entry

    def tried(self, meaning: str) -> list[Entry]:
        """All whole entries of bodies for a meaning, also the rejected ones, by key."""
        if not self.path.exists():
            return []
        try:
            rows = self._read(lambda database: database.execute(_OF_MEANING, (meaning,)).fetchall())
        except sqlite3.Error as problem:
            self._troubled(problem)
            return []
        found = []
        for row in rows:
            with suppress(Untrusted):
                found.append(_decoded(*row))
        return [entry for entry in found if entry.origin and entry.origin.meaning == meaning]

    def record(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict; that our own machinery failed says nothing about a kernel."""
        if verdict.status == "infra_error":
            return
        content = _encoded(Entry(key, VERIFIER, self._origins.get(key), verdict))
        for _ in range(2):  # once more after a damaged database was set aside
            try:
                self._create()
                with self._open() as database:
                    database.execute("BEGIN IMMEDIATE")
                    database.execute(_UNFILED, (*_mention(key), key, VERIFIER))
                    database.execute(_INSERT, (key, VERIFIER, content, _digest(content)))
                    database.execute("COMMIT")
                return
            except OSError as problem:
                self._complain(problem.strerror or str(problem))
                return
            except sqlite3.Error as problem:
                if not _is_damage(problem):
                    self._complain(str(problem))
                    return
                self._troubled(problem)

    def _read(self, ask: Callable[[sqlite3.Connection], list[Row]]) -> list[Row]:
        """An answer; without the files that a reader shares with writers if there is no room."""
        try:
            with self._open() as database:
                return ask(database)
        except sqlite3.OperationalError as problem:
            try:
                with self._open(alone=True) as database:
                    return ask(database)
            except sqlite3.DatabaseError:
                raise problem from None  # someone may be writing: that it looks damaged is no proof

    def _of_key(self, database: sqlite3.Connection, key: str) -> list[Row]:
        if rows := database.execute(_BY_KEY, (key, VERIFIER)).fetchall():
            return rows
        self._check_all(database)
        return database.execute(_MENTIONING, _mention(key)).fetchall()

    @contextmanager
    def _open(self, alone: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection; `alone`, or to a place that cannot be written, one that takes no locks."""
        name = f"file:{quote(str(self.path.absolute()))}"
        writable = os.access(self.path.parent, os.W_OK) and os.access(self.path, os.W_OK)
        if alone or not writable:
            name += "?mode=ro&immutable=1"
        connection = sqlite3.connect(name, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        with closing(connection) as database:
            database.execute("PRAGMA synchronous = NORMAL")
            tables = database.execute("SELECT sql FROM sqlite_schema").fetchall()
            if tables != [(_SCHEMA,)]:
                raise sqlite3.DatabaseError("its tables are others")
            yield database

    def _create(self) -> None:
        """The empty database, made elsewhere and put in its place whole."""
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".evidence.") as folder:
            fresh = Path(folder) / FILE
            with closing(sqlite3.connect(fresh, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute(_SCHEMA)
            with suppress(FileExistsError):
                os.link(fresh, self.path)

    def _check_all(self, database: sqlite3.Connection) -> None:
        """Notice damage that makes a row unfindable; once, since it reads everything."""
        if self._checked:
            return
        self._checked = True
        said = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if said != "ok":
            raise sqlite3.DatabaseError(said)

    def _troubled(self, problem: sqlite3.Error) -> str:
        """What is wrong; a damaged database is set aside, so that a new one can be begun."""
        if not _is_damage(problem):
            return f"evidence cannot be read: {problem}"
        aside = self.path.with_name(f"{FILE}.damaged")
        for suffix in ("-wal", "-shm", ""):
            with suppress(OSError):
                os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
        self._warn(f"{self.path} is damaged ({problem}): set aside as {aside.name}")
        return f"{_DAMAGED}: {problem}"

    def _complain(self, reason: str) -> None:
        if not self._complained:
            self._complained = True
            self._warn(f"{self.path} cannot be written ({reason}): verdicts are not kept")


_BY_KEY = "SELECT content, sha256 FROM evidence WHERE kernel = ? AND verifier = ?"
_MENTIONING = (
    "SELECT content, sha256 FROM evidence WHERE instr(content, ?) AND instr(content, ?) LIMIT 1"
)
_OF_MEANING = "SELECT content, sha256 FROM evidence WHERE instr(content, ?)"
_UNFILED = (
    "DELETE FROM evidence WHERE instr(content, ?) AND instr(content, ?) "
    "AND NOT (kernel = ? AND verifier = ?)"
)
_INSERT = "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?)"


def _mention(key: str) -> tuple[str, str]:
    """What the content of a key's row holds."""
    return json.dumps({"kernel": key})[1:-1], json.dumps({"verifier": VERIFIER})[1:-1]


class Untrusted(Exception):
    """Why an entry is ignored."""


def _is_damage(problem: sqlite3.Error) -> bool:
    """Whether the database itself is broken, not the way to it: busy, full, read-only."""
    return isinstance(problem, sqlite3.DatabaseError) and not isinstance(
        problem, sqlite3.OperationalError
    )


def _impossible(verdict: Verdict) -> str | None:
    """Why a verdict that claims to be `verified` cannot be."""
    if verdict.stage != "complete" or verdict.failure is not None:
        return "evidence does not say verified"
    if not math.isfinite(verdict.worst_ratio) or not 0.0 <= verdict.worst_ratio <= 1.0:
        return "evidence has an impossible error ratio"
    return None if verdict.cases >= 1 else "evidence counts no case"


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _encoded(entry: Entry) -> str:
    return json.dumps(asdict(entry), sort_keys=True)


def _decoded(content: object, sha256: object) -> Entry:
    """The entry of a row; raises `Untrusted` unless it is whole and says nothing else."""
    import pydantic

    if not isinstance(content, str) or sha256 != _digest(content):
        raise Untrusted(f"{_DAMAGED}: its digest differs")
    try:
        entry = _reader().validate_json(content, strict=True)
    except pydantic.ValidationError:
        raise Untrusted(f"{_DAMAGED}: not a verdict") from None
    if _encoded(entry) != content:
        raise Untrusted(f"{_DAMAGED}: not a verdict")
    return entry


@cache
def _reader() -> pydantic.TypeAdapter[Entry]:
    import pydantic

    return pydantic.TypeAdapter(Entry)
