"""Record llama.cpp's tokens of 10,000 random strings:
`python -m tests.oracle.record_tokenizer MODEL.gguf [--name qwen2|gemma3]`.

Ids of all strings would be megabytes, so a fixture keeps a short digest of every string's ids, a
digest of the strings of each block of 100 (to tell a changed generator from a changed tokenizer),
and the whole ids of every 50th string.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from real_models import SOURCES

from tests.oracle.digests import BLOCK, block_row
from tests.oracle.llama import Llama, versions
from tests.oracle.recording import FIXTURES, sha256, write_json
from tests.oracle.strings import COUNT, SEED, random_strings

SAMPLE_EVERY = 50
RECIPE = (
    "tests.oracle.strings.random_strings() by llama_tokenize, add_special and parse_special false"
)


def record(model: Path, source: str, fixture: Path) -> None:
    """Write the fixture."""
    llama = Llama(model, vocab_only=True)
    texts = random_strings()
    ids = [llama.tokenize(text) for text in texts]
    starts = range(0, COUNT, BLOCK)
    sample = range(0, COUNT, SAMPLE_EVERY)
    head = {
        "recipe": RECIPE,
        "versions": versions(),
        "model": {"source": source, "sha256": sha256(model)},
        "seed": SEED,
        "count": COUNT,
        "block": BLOCK,
        "sample": [{"index": i, "text": texts[i], "ids": ids[i]} for i in sample],
    }
    rows = [block_row(texts[i : i + BLOCK], ids[i : i + BLOCK]) for i in starts]
    write_json(fixture, head, "blocks", rows)


def main() -> None:
    """Read the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--name", choices=SOURCES, default="smollm2")
    options = parser.parse_args()
    fixture = FIXTURES / f"tokenizer_{options.name}.json"
    record(options.model, SOURCES[options.name], fixture)


if __name__ == "__main__":
    main()
