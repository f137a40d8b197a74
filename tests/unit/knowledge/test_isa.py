"""Instruction sets: the widest that the machine has all of, and what the compiler is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge import isa
from metainfer.knowledge.base import Knowledge
from metainfer.resources import ckb_dir

KNOWLEDGE = Knowledge(ckb_dir())
AVX2 = {"avx2", "fma", "f16c"}
AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"}


@pytest.mark.parametrize(
    ("features", "name"),
    [
        (AVX2 | AVX512 | {"sse2"}, "avx512_vnni"),
        (AVX2 | AVX512 - {"avx512vl"}, "avx2"),
        (AVX2, "avx2"),
        (AVX2 - {"f16c"}, "generic"),
        (set(), "generic"),
    ],
)
def test_the_widest_complete_set_is_taken(
    features: set[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(isa, "host_features", lambda: frozenset(features))
    assert isa.host_isa(KNOWLEDGE) == name


def test_flags_ask_for_what_features_promise() -> None:
    for name, entry in isa.hardware(KNOWLEDGE, "x86_64").isa.items():
        promised = {feature.replace("_", "") for feature in entry.features}
        asked = {flag.removeprefix("-m") for flag in entry.flags}
        assert asked == promised, name


def test_machines_are_known_by_every_name_of_theirs() -> None:
    assert isa.hardware(KNOWLEDGE, "AMD64").id == isa.hardware(KNOWLEDGE, "x86_64").id
    with pytest.raises(DiagnosticError, match="no hardware contract covers 'z80'"):
        isa.hardware(KNOWLEDGE, "Z80")


def test_an_unknown_set_is_named_with_the_known_ones() -> None:
    with pytest.raises(DiagnosticError) as caught:
        isa.isa_of(KNOWLEDGE, "avx3")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "unknown instruction set 'avx3'"
    assert diagnostic.help is not None and "avx2" in diagnostic.help


def test_features_are_read_as_compilers_spell_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(isa, "Path", lambda name: info)
    assert isa.host_features() == frozenset()
    info.write_text("processor\t: 0\nflags\t\t: fpu avx512_vnni avx2\n\nprocessor\t: 1\n")
    assert isa.host_features() == {"fpu", "avx512vnni", "avx2"}
    info.write_text("model name: something else\n")
    assert isa.host_features() == frozenset()
