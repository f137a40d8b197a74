"""What the engine finds out about the machine it runs on."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_engine import VOCAB, WEIGHTS_ID, Build, set_weights

from metainfer.codegen.host.emit import weights_header

MIB = 1 << 20


@pytest.fixture
def binding(build: Build) -> Any:
    return importlib.import_module(f"{build.package.__name__}.binding")


def test_a_cpu_without_the_features_is_refused(make_build: Callable[..., Build]) -> None:
    build = make_build([], '-DMI_CPU_FEATURES_CHECK=(__builtin_cpu_supports("avx512pf"))')
    with pytest.raises(build.package.EngineError, match="needs a CPU with sse2"):
        build.package.Engine()


@pytest.mark.parametrize("cpus", [1, 2])
def test_default_threads_follow_the_affinity(build: Build, cpus: int) -> None:
    if len(os.sched_getaffinity(0)) < cpus:
        pytest.skip(f"needs {cpus} CPUs")
    allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))[:cpus]))
    set_weights(build.root, np.zeros(VOCAB, np.float32))
    program = f"import {build.package.__name__} as e; print(e.Engine().threads)"
    command = ["taskset", "-c", allowed, sys.executable, "-c", program]
    done = subprocess.run(command, cwd=build.root, capture_output=True, text=True, check=True)
    assert done.stdout == f"{cpus}\n"


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        ({}, 64),
        ({"": "max 100000"}, 64),
        ({"a/b": "350000 100000"}, 4),
        ({"a/b": "max 100000", "a": "100000 100000"}, 1),
        ({"": "50000 100000", "a/b": "200000 100000"}, 1),
    ],
)
def test_default_threads_follow_the_cgroup(
    binding: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    quotas: dict[str, str],
    expected: int,
) -> None:
    groups = tmp_path / "cgroup"
    (groups / "a/b").mkdir(parents=True)
    for group, quota in quotas.items():
        (groups / group / "cpu.max").write_text(quota + "\n")
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/a/b\n")
    monkeypatch.setattr(binding, "CGROUPS", groups)
    monkeypatch.setattr(binding, "OWN_CGROUP", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert binding.available_cpus() == expected


BYTES = 40 * MIB


@pytest.fixture
def large(make_build: Callable[..., Build]) -> Build:
    """An engine with 40 MiB of weights, which the page cache holds in small pages."""
    build = make_build([], f"-DMI_WEIGHTS_BYTES=({BYTES}-4096)")
    data = weights_header(WEIGHTS_ID) + np.random.default_rng(1).bytes(BYTES - 4096)
    (build.root / "weights.bin").unlink()
    with open(build.root / "weights.bin", "wb", buffering=0) as file:
        for start in [*range(4096, BYTES, 8192), *range(0, BYTES, 8192)]:
            os.pwrite(file.fileno(), data[start : start + 4096], start)
    return build


def test_the_report_says_where_the_weights_lie(large: Build) -> None:
    with large.package.Engine(threads=1) as engine:
        places = "copied to private memory|shared with the page cache"
        said = re.fullmatch(rf"weights ({places}), (\d+) of 40960 KiB on huge pages", engine.report)
        assert said
        mapped = "weights.bin" in Path("/proc/self/maps").read_text()
        assert mapped == said[1].startswith("shared")
        assert int(said[2]) <= BYTES // 1024


def test_a_copy_replaces_the_mapping(large: Build) -> None:
    before = _resident()
    with large.package.Engine(threads=1) as engine:
        assert engine.report.startswith("weights copied")
        assert BYTES <= _resident() - before < BYTES + 8 * MIB
    assert _resident() - before < 4 * MIB  # nothing is left in the end


def _resident() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
