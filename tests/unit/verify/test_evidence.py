"""Only a whole, own, verified entry is trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metainfer.verify.evidence import EvidenceStore, Found, _canonical, _digest
from metainfer.verify.verdict import Failure, Status, Verdict

VERIFIED = Verdict("verified", "complete", 0.25, 7, None)


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "evidence")


def test_round_trip(store: EvidenceStore) -> None:
    assert store.lookup("a") == Found()
    store.record("a", VERIFIED)
    assert store.lookup("a") == Found(verdict=VERIFIED)
    assert store.lookup("b") == Found()


@pytest.mark.parametrize("status", ["marginal", "rejected", "infra_error"])
def test_only_verified_is_kept(store: EvidenceStore, status: Status) -> None:
    failure = Failure("bound", "k", {}, "", None, None, None, None, "")
    store.record("a", Verdict(status, "bound", 1.5, 7, failure))
    assert store.lookup("a") == Found()


def test_entry_of_another_kernel_is_ignored(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    store.path("a").rename(store.path("b"))
    assert store.lookup("b") == Found(ignored="evidence belongs to another kernel")


@pytest.mark.parametrize(
    "change",
    [
        {"verifier": "gate-0"},
        {"status": "rejected"},
        {"stage": "bound"},
        {"worst_ratio": 1.5},
        {"worst_ratio": -1.0},
        {"worst_ratio": float("nan")},
        {"worst_ratio": True},
        {"worst_ratio": "0.1"},
        {"cases": 0},
        {"cases": True},
        {"more": 1},
    ],
)
def test_wrong_content_is_ignored(store: EvidenceStore, change: dict[str, Any]) -> None:
    store.record("a", VERIFIED)
    entry = json.loads(store.path("a").read_text())
    content = entry["content"] | change
    store.path("a").write_text(
        json.dumps({"content": content, "sha256": _digest(_canonical(content))})
    )
    found = store.lookup("a")
    assert found.verdict is None
    assert found.ignored


def test_changed_content_without_its_digest_is_ignored(store: EvidenceStore) -> None:
    store.record("a", VERIFIED)
    store.path("a").write_text(store.path("a").read_text().replace("0.25", "0.24"))
    assert store.lookup("a") == Found(ignored="evidence is damaged: its digest differs")


@pytest.mark.parametrize("length", range(0, 220, 20))
def test_truncated_entry_is_ignored(store: EvidenceStore, length: int) -> None:
    store.record("a", VERIFIED)
    raw = store.path("a").read_bytes()
    assert length < len(raw) - 1
    store.path("a").write_bytes(raw[:length])
    found = store.lookup("a")
    assert found.verdict is None
    assert found.ignored


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"[]", b"null", b"[" * 60_000, b" " * 70_000])
def test_what_is_no_entry_is_ignored(store: EvidenceStore, raw: bytes) -> None:
    store.record("a", VERIFIED)
    store.path("a").write_bytes(raw)
    found = store.lookup("a")
    assert found.verdict is None
    assert found.ignored


def test_directory_in_the_way_is_ignored(store: EvidenceStore) -> None:
    store.path("a").mkdir(parents=True)
    assert store.lookup("a").ignored
