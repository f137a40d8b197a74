"""Records three verdicts in an evidence store: what `test_crash.py` kills at every call."""

from __future__ import annotations

import sys
from pathlib import Path

from metainfer.verify.evidence import EvidenceStore
from metainfer.verify.verdict import Verdict

KEYS = ("a", "b", "c")
VERIFIED = Verdict("verified", "complete", 0.25, 7, None)

if __name__ == "__main__":
    store = EvidenceStore(Path(sys.argv[1]), warn=print)
    for key in KEYS:
        store.record(key, VERIFIED)
