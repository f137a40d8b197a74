"""The object policy on what a compiler makes of hidden tricks, and on damaged files."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from metainfer.verify.sandbox.elf import ElfError, read_object
from metainfer.verify.sandbox.objects import object_breaches, refused_objects

Compile = Callable[..., bytes]
TWO = """
float f(float *y, const float *x) { y[0] = sqrtf(x[0]) + sinf(x[1]); return cosf(x[2]); }
void g(float *y) { static const float t[] = {1, 2, 3, 4}; for (int i = 0; i < 4; i++) y[i] = t[i]; }
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    """The object of a C source."""

    def build(source: str, *flags: str) -> bytes:
        path = tmp_path / "test.c"
        path.write_text(f"#include <math.h>\n#include <string.h>\n{source}")
        command = ["gcc", "-O2", "-fPIC", "-w", "-c", *flags, "-o", path.with_suffix(".o"), path]
        subprocess.run(command, check=True)
        return path.with_suffix(".o").read_bytes()

    return build


def test_code_and_constants_pass(compiled: Compile) -> None:
    assert object_breaches(compiled(TWO), ["f", "g"]) == []


BAD = [
    ("int n; int f() { return n++; }", "have writable data", ("f",)),
    ("int f() { static int n; return n++; }", "have writable data", ("f",)),
    ("int f() { static int n = 3; return n++; }", "have writable data", ("f",)),
    ("int f() { static _Thread_local int n; return n++; }", "memory of a thread's own", ("f",)),
    ("int getpid(); int f() { return getpid(); }", "need the symbol 'getpid'", ("f",)),
    ("int f(char *p) { return open(p, 0); }", "need the symbol 'open'", ("f",)),
    ("int f() { return 1; } int h() { return 2; }", "define the symbol 'h'", ()),
    ("void f() {} void g2() __attribute__((weak, alias(\"f\")));", "define the symbol 'g2'", ()),
    ("__attribute__((constructor)) void f() {}", "have a constructor", ()),
    ("__attribute__((destructor)) void f() {}", "have a destructor", ()),
    ("__attribute__((section(\".odd\"))) void f() {}", "have code outside its functions", ()),
    ("__attribute__((section(\".init\"))) void f() {}", "code that runs when it is loaded", ()),
    ("void *f() { static void *p[] = {&f}; return p; }", "have writable data", ("f",)),
    ("static void *pick() { return 0; } void f() __attribute__((ifunc(\"pick\")));", "choose", ()),
    ("static int f() { return 1; } int (*p)() = f;", "lack the function 'f'", ("f",)),
    ("asm(\".globl f\\n.set f, 4096\");", "name an address ('f')", ()),
]  # fmt: skip


@pytest.mark.parametrize(("source", "what", "users"), BAD)
def test_what_is_forbidden_is_found(
    source: str, what: str, users: tuple[str, ...], compiled: Compile
) -> None:
    found = [b for b in object_breaches(compiled(source), ["f"]) if what in b.what]
    assert found
    assert found[0].kernels in ((), users)
    assert not users or found[0].kernels == users


def test_common_symbols_and_executable_stacks_are_found(compiled: Compile) -> None:
    source = "int n; int f() { return n; }"
    common = object_breaches(compiled(source, "-fcommon"), ["f"])
    assert [b.what for b in common] == ["have writable data ('n')"]
    stack = object_breaches(compiled("void f() {}", "-Wa,--execstack"), ["f"])
    assert [b.what for b in stack] == ["ask for an executable stack"]


def test_only_the_kernel_that_breaks_the_policy_is_refused(compiled: Compile) -> None:
    source = f"{TWO}int getpid(); void h(float *y) {{ y[0] = getpid(); }}"
    refused = refused_objects(compiled(source), ["f", "g", "h"])
    assert refused == {"h": "the object of the body may not need the symbol 'getpid'"}


def test_a_breach_of_nobody_is_held_against_all(compiled: Compile) -> None:
    refused = refused_objects(compiled(f"{TWO}int odd() {{ return 1; }}"), ["f", "g"])
    assert set(refused) == {"f", "g"}


@pytest.mark.parametrize("raw", [b"", b"\x7fELF", b"not an object" * 100])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    (breach,) = object_breaches(raw, ["f"])
    assert breach.what.startswith("be other than what a compiler writes")


def test_damaged_objects_never_break_the_reader(compiled: Compile) -> None:
    """Whatever a header says, the answer is an object or `ElfError`."""
    whole, rng = compiled(TWO), random.Random(4)
    refused = 0
    for _ in range(2000):
        raw = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            # Headers are at both ends; half of the damage goes there.
            size = rng.choice([64, len(raw)])
            at = (
                rng.randrange(size - 8)
                if rng.random() < 0.5
                else len(raw) - 8 - rng.randrange(1400)
            )
            struct.pack_into("<Q", raw, at, rng.choice([0, 1, 1 << 16, 1 << 40, (1 << 64) - 1]))
        try:
            read_object(bytes(raw[: rng.choice([len(raw), rng.randrange(len(raw))])]))
        except ElfError:
            refused += 1
    assert refused > 500
