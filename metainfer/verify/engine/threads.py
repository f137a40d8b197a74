"""The whole engine under ThreadSanitizer: its own sources, built again, generating tokens.

Barriers, semaphores and threads are the engine's; a C program of a few lines takes the host's
place. Every access of every part is seen, so a race shows even where it did no harm.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from metainfer.codegen.c.toolchain import FLAGS, Compiler
from metainfer.ir.diagnostics import DiagnosticError

SANITIZE = ("-fsanitize=thread", "-O1", "-g")
"""Every access costs a call, so that more optimisation is hardly worth its time."""
RACE = 66
"""Status of a program in which ThreadSanitizer saw a race."""
SECONDS = 900
"""Far more than the slowest machine needs; beyond it something hangs."""
SHOWN = 2000
"""Characters of the first report that are kept."""

_MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct mi_engine;
struct mi_engine *mi_open(const char *weights, int threads, char *message, size_t size);
%(declaration)s
int mi_next(struct mi_engine *engine, int32_t *token);
void mi_finish(struct mi_engine *engine);
void mi_close(struct mi_engine *engine);

/* WEIGHTS THREADS LIMIT ID... */
int main(int argc, char **argv)
{
    static char message[4096];
    int32_t ids[4096], token;
    int n = argc - 4;
    struct mi_engine *engine = mi_open(argv[1], atoi(argv[2]), message, sizeof message);
    if (!engine || n < 1 || n > 4096) {
        fprintf(stderr, "%%s\\n", message);
        return 2;
    }
    for (int i = 0; i < n; i++)
        ids[i] = atoi(argv[4 + i]);
%(start)s
    while ((status = mi_next(engine, &token)) == 1)
        printf("%%d\\n", (int)token);
    mi_finish(engine);
    mi_close(engine);
    return status < 0 ? 3 : 0;
}
"""
_PLAIN = {
    "declaration": "int mi_start(struct mi_engine *e, const int32_t *ids, int32_t n, int32_t limit,"
    " int ignore_end);",
    "start": "    int status = mi_start(engine, ids, n, atoi(argv[3]), 1);",
}
_SAMPLING = {
    "declaration": "int mi_start(struct mi_engine *e, const int32_t *ids, int32_t n, int32_t limit,"
    " int ignore_end,\n             const void *sampling);",
    # All zeros take the likeliest token, whatever else the engine can do.
    "start": "    static const double greedy[8];\n"
    "    int status = mi_start(engine, ids, n, atoi(argv[3]), 1, greedy);",
}


class Unavailable(Exception):
    """ThreadSanitizer does not work here, and why."""


@dataclass(frozen=True)
class Threads:
    """What came of a run: the tokens, and the first race that was seen."""

    tokens: list[int]
    race: str


def run_threads(
    sources: Mapping[str, str],
    features: Set[str],
    flags: Sequence[str],
    compiler: Compiler,
    weights: Path,
    prompt: Sequence[int],
    tokens: int,
    threads: int,
) -> Threads:
    """Generate `tokens` greedily after `prompt` in a build of `sources` under ThreadSanitizer.

    `flags` are those of the instruction set. Raises Unavailable where such a build does not run.
    """
    _try(compiler)
    headers = {n: t for n, t in sources.items() if n.endswith(".h")}
    objects = [
        compiler.object(sources[name], headers, name, [*flags, *SANITIZE])
        for name in sorted(sources)
        if name.endswith(".c")
    ]
    main = _MAIN % (_SAMPLING if "temperature" in features else _PLAIN)
    link = [*map(str, objects), *SANITIZE, "-pthread", "-lm"]
    program = compiler.program(main, "main.c", [*FLAGS, *SANITIZE], link)
    arguments = [weights, threads, tokens, *prompt]
    done = _run([str(program), *map(str, arguments)])
    if done.returncode not in (0, RACE):
        raise RuntimeError(f"the engine ended with status {done.returncode}: {done.stderr[-500:]}")
    race = done.stderr[:SHOWN] if done.returncode == RACE else ""
    return Threads([int(line) for line in done.stdout.split()], race)


def _try(compiler: Compiler) -> None:
    """A race that must be seen, in a program that only needs what such builds need."""
    try:
        program = compiler.program(_RACE, "race.c", [*FLAGS, *SANITIZE], [*SANITIZE, "-pthread"])
    except DiagnosticError as problem:
        raise Unavailable(problem.diagnostics[0].message) from problem
    done = _run([str(program)])
    if done.returncode != RACE:
        said = done.stderr.strip().splitlines()
        raise Unavailable(said[0] if said else f"status {done.returncode}, and no report of a race")


_RACE = """
#include <pthread.h>

static int shared;

static void *work(void *argument) { shared++; return argument; }

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&two, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return shared == 2 ? 0 : 1;
}
"""


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    options = f"exitcode={RACE} halt_on_error=0 report_signal_unsafe=0"
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "TSAN_OPTIONS": options},
        timeout=SECONDS,
        preexec_fn=_fixed_addresses,
    )


def _fixed_addresses() -> None:
    """Older runtimes refuse to start where addresses are drawn from too wide a range."""
    ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE; what remains is not ours to judge
