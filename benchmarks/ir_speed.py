"""How fast IR is read, verified and printed: ours, xDSL's own, and mlir-opt's, on one module.

    python benchmarks/ir_speed.py [--ops 10000] [--mlir-opt mlir-opt-19] [--json]

The module is a model family's layer written out again and again, about 10,000 `infer` ops. Times
are processor seconds, the least of several rounds, which take turns so that all meet the same
machine. Ours does more: every op gets a location, and verification covers dominance, symbols, dims,
state and schedules. mlir-opt reads the generic form, to which our dialects are foreign.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from tiny_llama import TinyLlama, write_spec  # noqa: E402
from unrolled import unrolled  # noqa: E402
from xdsl.context import Context  # noqa: E402
from xdsl.dialects.builtin import ModuleOp  # noqa: E402
from xdsl.parser import Parser  # noqa: E402
from xdsl.printer import Printer  # noqa: E402

from metainfer.driver.session import reading_context  # noqa: E402
from metainfer.driver.source import read_module  # noqa: E402
from metainfer.ir.text import parse_module, print_module  # noqa: E402
from metainfer.ir.verify import verify_module  # noqa: E402
from metainfer.passes.manager import run_passes  # noqa: E402
from metainfer.passes.pipelines import PASSES, PIPELINES  # noqa: E402

STEPS = ("parse", "verify", "print")
T = TypeVar("T")
Times = dict[str, float]
"""Step → seconds."""


def subject(ops: int) -> ModuleOp:
    """A module with about `ops` ops in one function."""
    with tempfile.TemporaryDirectory() as folder:
        ctx = reading_context()
        module = read_module(write_spec(Path(folder), TinyLlama()), ctx)
        run_passes(ctx, module, [PASSES[name]()() for name in PIPELINES["reference"]])
    return unrolled(module, ops)


def ours(text: str, ctx: Context) -> Times:
    """One round of our parser, verifier and printer."""
    parsing, module = _timed(lambda: parse_module(text, "bench.mlir", ctx))
    verifying, _ = _timed(lambda: verify_module(module))
    printing, _ = _timed(lambda: print_module(module))
    return dict(zip(STEPS, (parsing, verifying, printing), strict=True))


def xdsl(text: str, ctx: Context) -> Times:
    """One round of xDSL's own."""
    parsing, module = _timed(lambda: Parser(ctx, text, "bench.mlir").parse_module())
    verifying, _ = _timed(module.verify)
    printing, _ = _timed(lambda: Printer(StringIO()).print_op(module))
    return dict(zip(STEPS, (parsing, verifying, printing), strict=True))


def _timed(what: Callable[[], T]) -> tuple[float, T]:
    gc.collect()
    start = time.process_time()
    result = what()
    return time.process_time() - start, result


def mlir_opt(command: str, text: str) -> Times:
    """One round of mlir-opt; its parser verifies, so parsing holds both."""
    flags = ["--allow-unregistered-dialect", "--mlir-disable-threading", "--mlir-timing"]
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source:
        source.write(text)
        source.flush()
        done = subprocess.run(
            [command, *flags, "--mlir-timing-display=list", source.name, "-o", "/dev/null"],
            capture_output=True,
            text=True,
            check=True,
        )
    wall = {name: float(s) for s, name in re.findall(r"([\d.]+) \( *[\d.]+%\)  (\w+)", done.stderr)}
    return {"parse": wall["Parser"], "verify": 0.0, "print": wall["Output"]}


def measure(ops: int, rounds: int, command: str | None) -> dict[str, Times]:
    """The least time of each step by tool."""
    module, ctx = subject(ops), reading_context()
    text, generic = print_module(module), print_module(module, generic=True)
    tools: dict[str, Callable[[], Times]] = {
        "metainfer": lambda: ours(text, ctx),
        "xdsl": lambda: xdsl(text, ctx),
    }
    if command is not None:
        tools["mlir-opt"] = lambda: mlir_opt(command, generic)
    taken: dict[str, list[Times]] = {name: [] for name in tools}
    for _ in range(rounds):
        for name, tool in tools.items():
            taken[name].append(tool())
    return {
        name: {step: min(times[step] for times in all_) for step in STEPS}
        for name, all_ in taken.items()
    }


def table(found: dict[str, Times], ops: int) -> str:
    """The times as a table, with each total against xDSL's."""
    lines = [f"{ops} ops      " + "".join(f"{step:>10}" for step in (*STEPS, "all", "ratio"))]
    reference = sum(found["xdsl"].values())
    for name, times in found.items():
        total = sum(times.values())
        cells = [
            *(f"{times[s]:>9.3f}s" for s in STEPS),
            f"{total:>9.3f}s",
            f"{total / reference:>10.2f}",
        ]
        lines.append(f"{name:<14}{''.join(cells)}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--mlir-opt", default=shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.ops, given.rounds, given.mlir_opt)
    print(json.dumps(found) if given.json else table(found, given.ops))


if __name__ == "__main__":
    main()
