"""Hold a built engine to a recording of R0: `python -m tests.oracle.check_engine BUILD R0.json`.

The engine is fed each prompt in one call and the recorded tokens one by one, and must agree under
the near-tie rule. Exits with 1 where it does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from metainfer.driver.agreement import Agreement, Position, forced, judged
from metainfer.driver.built import Built
from metainfer.driver.session import reading_context


def positions(engine: Any, recorded: dict[str, Any], off: list[float]) -> Iterator[Position]:
    """The engine's choice at every recorded position; `off` gets its largest logit errors."""
    ids = recorded["sampled_ids"]
    for row in recorded["prompts"]:
        rows = np.stack(list(forced(engine, row["prompt_ids"], row["tokens"])))
        off.append(float(np.abs(rows[:, ids] - np.array(row["sampled"])).max()))
        yield from judged(row["name"], row["top2"], rows.argmax(axis=1).tolist())


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="an engine folder")
    parser.add_argument("recording", type=Path, help="what record_r0 wrote")
    options = parser.parse_args()
    off: list[float] = []
    with Built(options.build, reading_context()).engine() as engine:
        found = Agreement(tuple(positions(engine, json.loads(options.recording.read_text()), off)))
    print(f"{len(found.positions)} positions: {found.agreed} agree with R0")
    print(f"{len(found.different)} differ: {found.different}")
    print(f"{len(found.excluded)} near ties: {found.excluded}")
    print(f"largest error of a recorded logit: {max(off):.1e}")
    sys.exit(0 if found.holds else 1)


if __name__ == "__main__":
    main()
