"""Children that are forked one per task from a process that has everything loaded."""

from __future__ import annotations

import gc
import json
import os
import resource
import selectors
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

TaskT = TypeVar("TaskT")
SECONDS = 60
"""Processor time that a child may take; an endless loop is the only thing that takes longer."""
LOST: dict[str, str] = {}
"""What a child answers that died without an answer."""


def forked(
    tasks: Sequence[TaskT], run: Callable[[TaskT], dict[str, str]], workers: int
) -> Iterator[tuple[TaskT, dict[str, str]]]:
    """Every task with its answer, as children finish; `workers` of them run at a time.

    A child that is killed, by its own time limit or otherwise, answers nothing: LOST.
    """
    gc.freeze()
    waiting, ready = list(reversed(tasks)), selectors.DefaultSelector()
    try:
        while waiting or ready.get_map():
            while waiting and len(ready.get_map()) < workers:
                task = waiting.pop()
                child, out = _fork(task, run)
                ready.register(out, selectors.EVENT_READ, (task, child, bytearray()))
            for key, _ in ready.select():
                task, child, heard = key.data
                if part := os.read(key.fd, 1 << 16):
                    heard += part
                    continue
                ready.unregister(key.fd)
                os.close(key.fd)
                os.waitpid(child, 0)
                yield task, json.loads(heard) if heard else LOST
    finally:
        gc.unfreeze()
        _end(ready)


def _end(ready: selectors.BaseSelector) -> None:
    for key in list(ready.get_map().values()):
        _, child, _ = key.data
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(key.fd)


def _fork(task: TaskT, run: Callable[[TaskT], dict[str, str]]) -> tuple[int, int]:
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os.write(into, json.dumps(run(task)).encode())
    finally:
        os._exit(0)
