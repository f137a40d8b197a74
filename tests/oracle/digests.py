"""Short digests of strings and of their token ids, shared by the recorder and the test."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

BLOCK = 100


def ids_digest(ids: Sequence[int]) -> str:
    """Eight hex digits over one string's ids."""
    return hashlib.sha256(json.dumps(list(ids)).encode()).hexdigest()[:8]


def strings_digest(texts: Sequence[str]) -> str:
    """Sixteen hex digits over a block of strings."""
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()[:16]


def block_row(texts: Sequence[str], ids: Sequence[Sequence[int]]) -> dict[str, str]:
    """One block: which strings, and a digest of the ids of each string, separated by spaces."""
    return {"strings": strings_digest(texts), "ids": " ".join(map(ids_digest, ids))}
