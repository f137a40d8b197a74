"""Only a whole, own, verified row is trusted; nothing that is wrong with the store is an error."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metainfer.verify.evidence import Entry, EvidenceStore, Found, Origin, Untrusted, _digest
from metainfer.verify.verdict import Failure, Status, Verdict
from metainfer.verify.version import VERIFIER

VERIFIED = Verdict("verified", "complete", 0.25, 7, None)
FAILURE = Failure("bound", "add", {"tokens": 3}, "x: random", (1, 2), 0.5, 1.0, 2.5, "wrong")
REJECTED = Verdict("rejected", "bound", 2.5, 7, FAILURE)
ORIGIN = Origin("meaning", "cc 1", ("-O3",), "avx2")


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "evidence", {"a": ORIGIN})


@contextmanager
def database(store: EvidenceStore) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(store.path)) as connection, connection:
        yield connection


def rewrite(store: EvidenceStore, change: Callable[[dict[str, Any]], None], **columns: str) -> None:
    """Change what the one row says; its digest is that of the new content unless given."""
    with database(store) as connection:
        content = json.loads(connection.execute("SELECT content FROM evidence").fetchone()[0])
        change(content)
        text = json.dumps(content, sort_keys=True)
        values = {"content": text, "sha256": _digest(text)} | columns
        sets = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE evidence SET {sets}", tuple(values.values()))


def test_round_trip(store: EvidenceStore) -> None:
    assert store.lookup("a") == Found()
    store.record("a", VERIFIED)
    assert store.lookup("a") == Found(verdict=VERIFIED)
    assert store.lookup("b") == Found()
    assert store.entry("a") == Entry("a", VERIFIER, ORIGIN, VERIFIED)


def test_what_failed_is_kept_and_is_no_evidence(store: EvidenceStore) -> None:
    store.record("a", REJECTED)
    store.record("b", VERIFIED)
    assert store.lookup("a") == Found()
    assert store.tried("meaning") == [Entry("a", VERIFIER, ORIGIN, REJECTED)]
    assert store.tried("another meaning") == []


@pytest.mark.parametrize("status", ["marginal", "infra_error"])
def test_neither_is_evidence(store: EvidenceStore, status: Status) -> None:
    store.record("a", Verdict(status, "bound", 1.5, 7, FAILURE))
    assert store.lookup("a") == Found()
    assert (store.entry("a") is None) == (status == "infra_error")


def test_not_a_number_survives(store: EvidenceStore) -> None:
    store.record("a", replace(REJECTED, failure=replace(FAILURE, got=float("nan"))))
    entry = store.entry("a")
    assert entry is not None and entry.verdict.failure is not None
    assert entry.verdict.failure.got != entry.verdict.failure.got


def test_a_later_verdict_takes_the_place_of_an_earlier_one(store: EvidenceStore) -> None:
    store.record("a", REJECTED)
    store.record("a", VERIFIED)
    assert store.lookup("a").verdict == VERIFIED
    assert [entry.verdict for entry in store.tried("meaning")] == [VERIFIED]


def test_a_row_filed_under_another_kernel_is_named_and_replaced(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    with database(store) as connection:
        connection.execute("UPDATE evidence SET kernel = 'b'")
    foreign = Found(ignored="evidence belongs to another kernel")
    assert store.lookup("b") == foreign
    assert store.lookup("a") == Found(verdict=VERIFIED)  # whole, by its digest: only misplaced
    store.record("a", VERIFIED)
    assert store.lookup("b") == Found()


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        *outer, last = path.split(".")
        for name in outer:
            content = content[name]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kernel", "b"),
        ("verifier", "gate-0"),
        ("verdict.status", "fine"),
        ("verdict.stage", "bound"),
        ("verdict.worst_ratio", 1.5),
        ("verdict.worst_ratio", -1.0),
        ("verdict.worst_ratio", float("nan")),
        ("verdict.worst_ratio", True),
        ("verdict.worst_ratio", "0.1"),
        ("verdict.cases", 0),
        ("verdict.cases", True),
        ("verdict.more", 1),
        ("more", 1),
    ],
)
def test_wrong_content_is_ignored(store: EvidenceStore, path: str, value: object) -> None:
    store.record("a", VERIFIED)
    rewrite(store, _set(path, value))
    found = store.lookup("a")
    assert found.verdict is None
    assert found.ignored


def test_changed_content_without_its_digest_is_ignored(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    rewrite(store, _set("verdict.worst_ratio", 0.24), sha256=_digest("another"))
    assert store.lookup("a") == Found(ignored="evidence is damaged: its digest differs")
    with pytest.raises(Untrusted):
        store.entry("a")
    store.record("a", VERIFIED)
    assert store.lookup("a").verdict == VERIFIED


def _flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def _checked(store: EvidenceStore, raw: bytes) -> Found:
    """What the store makes of a damaged database; whatever it is, recording mends it."""
    for file in store.path.parent.iterdir():
        file.unlink()
    store.path.write_bytes(raw)
    told = list[str]()
    again = EvidenceStore(store.path.parent, {"a": ORIGIN}, told.append)
    found = again.lookup("a")
    assert found.verdict in (VERIFIED, None)
    again.record("a", VERIFIED)
    assert again.lookup("a") == Found(verdict=VERIFIED)
    assert all(f"{store.path} is damaged" in line for line in told)
    return found


def test_a_flipped_byte_of_a_row_is_noticed(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    raw = store.path.read_bytes()
    with database(store) as connection:
        row = connection.execute("SELECT kernel || verifier || content || sha256 FROM evidence")
        text = row.fetchone()[0].encode()
    start = raw.index(text)
    for at in range(start, start + len(text), 5):
        found = _checked(store, _flipped(raw, at))
        # Misplaced by its columns but whole by its digest, it still says what was found.
        misplaced = at < start + len(f"a{VERIFIER}")
        assert misplaced or found.ignored is not None, at


def test_a_flipped_byte_anywhere_makes_no_evidence(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    raw = store.path.read_bytes()
    ends = [*range(200), *range(200, len(raw), 97)]
    assert any(_checked(store, _flipped(raw, at)).ignored for at in ends)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"SQLite format 3\0", b"[]" * 9000])
def test_what_is_no_database_is_begun_anew(store: EvidenceStore, raw: bytes) -> None:
    store.record("a", VERIFIED)
    assert _checked(store, raw).verdict is None


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6, 0.9])
def test_a_truncated_database_is_begun_anew(store: EvidenceStore, share: float) -> None:
    store.record("a", VERIFIED)
    raw = store.path.read_bytes()
    assert _checked(store, raw[: int(len(raw) * share)]).verdict is None


def test_another_table_is_no_evidence(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    with database(store) as connection:
        connection.execute("CREATE TABLE more (x)")
    assert store.lookup("a") == Found(ignored="evidence is damaged: its tables are others")


def test_entries_of_earlier_versions_are_not_looked_at(store: EvidenceStore) -> None:
    store.path.parent.mkdir()
    (store.path.parent / f"{'0' * 64}.json").write_text("{")
    assert store.lookup("a") == Found()
    store.record("a", VERIFIED)
    assert store.lookup("a").verdict == VERIFIED


def test_a_place_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = list[str]()
    store = EvidenceStore(tmp_path / "file", warn=told.append)
    assert store.lookup("a") == Found()
    store.record("a", VERIFIED)
    store.record("b", VERIFIED)
    (line,) = told
    assert "cannot be written" in line and line.endswith("verdicts are not kept")


def test_a_directory_in_its_place_is_no_error(store: EvidenceStore) -> None:
    store.path.mkdir(parents=True)
    assert store.lookup("a").ignored
    store.record("a", VERIFIED)
    assert store.lookup("a").ignored


_IN_CHILD = """
import sys
from pathlib import Path
from metainfer.verify.evidence import EvidenceStore
from metainfer.verify.verdict import Verdict
store = EvidenceStore(Path(sys.argv[1]), warn=lambda line: print(line))
for key in sys.argv[2:]:
    store.record(key, Verdict("verified", "complete", 0.25, 7, None))
print(sum(store.lookup(key).verdict is not None for key in sys.argv[2:]))
"""


def _child(store: EvidenceStore, *keys: str, limit: int | None = None) -> subprocess.Popen[str]:
    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-c", _IN_CHILD, str(store.path.parent), *keys]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=prepare)


def test_several_processes_at_once_lose_nothing(store: EvidenceStore) -> None:
    names = [[f"{who}{n}" for n in range(25)] for who in "pqr"]
    children = [_child(store, *keys) for keys in names]
    assert [child.communicate()[0] for child in children] == ["25\n"] * 3
    assert all(store.lookup(key).verdict == VERIFIED for keys in names for key in keys)
    assert os.listdir(store.path.parent) == [store.path.name]


@pytest.mark.parametrize("limit", [0, 20_000])
def test_a_full_disk_keeps_nothing_from_being_read(store: EvidenceStore, limit: int) -> None:
    store.record("a", VERIFIED)
    child = _child(store, "a", limit=limit)
    *warnings, kept = child.communicate()[0].splitlines()
    assert (kept, len(warnings)) == ("1", 1)


@pytest.mark.parametrize("limit", [0, 5000, 30_000])
def test_a_full_disk_costs_only_what_does_not_fit(store: EvidenceStore, limit: int) -> None:
    store.record("a", VERIFIED)
    child = _child(store, *(f"k{n}" * 400 for n in range(60)), limit=limit)
    *warnings, kept = child.communicate()[0].splitlines()
    assert child.returncode == 0
    assert 0 <= int(kept) < 60
    assert len(warnings) == 1 and "cannot be written" in warnings[0]
    assert store.lookup("a") == Found(verdict=VERIFIED)
    store.record("b", VERIFIED)
    assert store.lookup("b") == Found(verdict=VERIFIED)
