"""How long an editor waits: `python -m tests.lsp.latency --lines 2000 --edits 1000`.

A scripted client opens a generated spec and edits it as a typist does: characters, lines, pasted
and removed blocks, statements left half-written. After each edit it waits for the diagnostics of
that version. Prints the median, the 95th and the 99th percentile; asserts nothing about time.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from tests.lsp.client import Editor

URI = "file:///generated/large.mispec"
Edit = tuple[tuple[int, int], tuple[int, int], str]


def large_spec(lines: int) -> str:
    """A spec of about as many lines, all of it valid."""
    head = [
        "// generated",
        "engine large {",
        '  model "file:a.gguf"',
        "  target cpu { isa auto; threads 2 }",
        "  workload { context <= 2048 tokens; batch <= 1 }",
        "  quantize { weights as_stored; acts f32; kv f16 }",
        "  sampling { greedy; temperature; top_k; top_p; seed }",
    ]
    body: list[str] = []
    facts = ("layers", "hidden", "ffn_dim", "vocab")
    number = 0
    while len(head) + len(body) < lines - 4:
        body.append("  expect {")
        for _ in range(100):
            number += 1
            note = " // seen before" if number % 7 == 0 else ""
            body.append(f"    {facts[number % 4]} != {number + 100000}{note}")
            if number % 25 == 0:
                body += ["", "    // another group"]
        body.append("  }")
        body.append(f"  want {{ itl.p95 <= {number} us @ context {number % 2000 + 1}, batch 1 }}")
    return "\n".join([*head, *body, "}", ""])


class Typist:
    """Keeps the text as the editor has it, and makes one edit after another."""

    def __init__(self, text: str, seed: int) -> None:
        self.lines = text.split("\n")
        self.random = random.Random(seed)

    def edits(self, count: int) -> Iterator[Edit]:
        """Edits, each followed by one that repairs what it broke."""
        made = 0
        while made < count:
            for edit in self._pair():
                self._apply(edit)
                yield edit
                made += 1
                if made == count:
                    return

    def _pair(self) -> Iterator[Edit]:
        row = self.random.randrange(7, len(self.lines) - 3)
        line = self.lines[row]
        col = self.random.randrange(len(line) + 1)
        match self.random.randrange(6):
            case 0:
                yield (row, col), (row, col), self.random.choice('x1 .{;}"<@')
                yield (row, col), (row, col + 1), ""
            case 1 if line:
                col = min(col, len(line) - 1)
                yield (row, col), (row, col + 1), ""
                yield (row, col), (row, col), line[col]
            case 2:
                yield (row, 0), (row, 0), f"    kv_heads != {self.random.randrange(10**6)}\n"
            case 3:
                yield (row, 0), (row, len(line)), line[: len(line) // 2]
                yield (row, 0), (row, len(line) // 2), line
            case 4:
                block = "\n".join(self.lines[row : row + 3]) + "\n"
                yield (row, 0), (row + 3, 0), ""
                yield (row, 0), (row, 0), block
            case _:
                yield (row, len(line)), (row, len(line)), " // typed"

    def _apply(self, edit: Edit) -> None:
        (row, col), (last, end), text = edit
        joined = self.lines[row][:col] + text + self.lines[last][end:]
        self.lines[row : last + 1] = joined.split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def measure(lines: int, edits: int, seed: int) -> tuple[list[float], str, list[str]]:
    """Seconds from each edit to its diagnostics, the final text, and the final messages."""
    typist = Typist(large_spec(lines), seed)
    waits: list[float] = []
    with Editor() as editor:
        found = editor.open(URI, typist.text)
        for start, end, text in typist.edits(edits):
            began = time.perf_counter()
            editor.change(URI, start, end, text)
            found = editor.diagnostics(URI)
            waits.append(time.perf_counter() - began)
    return waits, typist.text, [one["message"].split("\n")[0] for one in found]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    waits, text, _ = measure(options.lines, options.edits, options.seed)
    ordered = sorted(1000 * wait for wait in waits)
    at = {share: ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]
          for share in (50, 95, 99)}  # fmt: skip
    print(f"{text.count(chr(10))} lines, {len(ordered)} edits: " + ", ".join(
        f"p{share} {value:.1f} ms" for share, value in at.items()
    ) + f", longest {ordered[-1]:.1f} ms")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
