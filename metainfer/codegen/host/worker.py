"""Answers benchmark requests for a built engine: `python worker.py BUILD_DIR [--threads N]`.

Speaks the protocol of interleaved engine comparisons, JSON objects, one a line, over standard input
and output: a `ready` line first, then an answer for each `run`, `greedy` and `quit`. It stands
alone, so that a measured process holds the engine and nothing of the compiler; `command()` gives
the argument vector for it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

DECODE = {"decode_short": (16, 128), "decode_1000": (1000, 64)}
"""Ids in the prompt, which is not timed, and steps."""


class Refusal(Exception):
    """A request that this engine cannot serve."""


def command(build: Path, threads: int = 0) -> list[str]:
    """How to start the worker of a build folder; `threads` 0 lets the engine choose."""
    return [sys.executable, str(Path(__file__)), str(build), "--threads", str(threads)]


def workload_ids(n: int) -> list[int]:
    """The first `n` ids that every engine in a comparison is given."""
    return [(i * 7919 + 13) % 20000 + 100 for i in range(n)]


def load(build: Path, threads: int) -> Any:
    """The engine in a build folder, opened."""
    libraries = sorted(build.glob("*/engine.so"))
    if len(libraries) != 1:
        raise Refusal(f"{build} is no build folder: it holds {len(libraries)} engines")
    sys.path.insert(0, str(build))
    return importlib.import_module(libraries[0].parent.name).Engine(threads=threads)


def generate(engine: Any, ids: list[int], n: int) -> list[int]:
    """`n` greedy tokens, past end tokens too."""
    if len(ids) + n > engine.context:
        raise Refusal(f"{len(ids)} + {n} tokens exceed the context of {engine.context}")
    return list(engine.stream(ids, n, ignore_end=True))


def tokens_per_second(engine: Any, workload: str) -> float:
    """Of one workload, run once."""
    if workload == "prefill512":
        start = time.perf_counter()
        engine.evaluate(workload_ids(512))
        return 512 / (time.perf_counter() - start)
    if workload not in DECODE:
        raise Refusal(f"no workload {workload}: this engine is made for one sequence")
    prompt, steps = DECODE[workload]
    generate(engine, workload_ids(prompt), steps + 1)  # the first token is the prompt's
    return float(steps / engine.decode_s)


def peak_mb() -> float:
    """The largest resident set of this process so far."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def answer(engine: Any, request: dict[str, Any]) -> dict[str, object]:
    """The reply to a request other than `quit`."""
    if request["cmd"] == "run":
        return {"tok_s": tokens_per_second(engine, request["workload"]), "rss_mb": peak_mb()}
    if request["cmd"] == "greedy":
        return {"ids": generate(engine, request["ids"], request["n"])}
    raise Refusal(f"no command {request['cmd']}")


def say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


def serve(engine: Any) -> None:
    """Answers until `quit` or the end of the input; whatever goes wrong is an answer too."""
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["cmd"] == "quit":
                return
            reply = answer(engine, request)
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        say(reply)


def main() -> int:
    """0 when all requests are answered, 1 when there is no engine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        engine = load(options.build, options.threads)
    except Exception as problem:
        say({"error": f"{type(problem).__name__}: {problem}"})
        return 1
    load_s = time.perf_counter() - start
    generate(engine, [i % engine.vocab for i in workload_ids(min(16, engine.context - 1))], 1)
    ready = {"ready": 1, "load_s": load_s, "ttft_s": time.perf_counter() - start}
    say({**ready, "rss_mb": peak_mb(), "info": f"{engine.threads} threads, {engine.report}"})
    serve(engine)
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
