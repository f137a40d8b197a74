"""`use`: what files may say beside each other, and what is said when they may not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError, render
from metainfer.ir.dialects import spec
from metainfer.ir.text import print_module
from metainfer.passes.resolve_uses import ResolveUses, resolve_uses
from metainfer.spec.files import MAX_BYTES, used_texts
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.lower import lift_engine
from metainfer.spec.printer import canonical
from metainfer.spec.view import place_of

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files into an empty folder, which is the current one, and gives the first."""
    monkeypatch.chdir(tmp_path)

    def written(**files: str) -> Path:
        for name, text in files.items():
            (tmp_path / f"{name}.mispec").write_text(text, encoding="utf-8")
        return Path(f"{next(iter(files))}.mispec")

    return written


def _resolved(path: Path) -> ModuleOp:
    module = parse_mispec(path.read_text(encoding="utf-8"), str(path))
    resolve_uses(module)
    module.verify()
    return module


def _spec(path: Path) -> str:
    """The canonical text of a resolved file."""
    (engine,) = (op for op in _resolved(path).ops if isinstance(op, spec.EngineOp))
    return canonical(lift_engine(engine))


def _complaint(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        _resolved(path)
    return "\n".join(render(problem, lambda place: None) for problem in caught.value.diagnostics)


BASE = """
engine base {
  model "file:a.gguf"
  target cpu { isa avx2 }
  workload { context <= 2048 tokens; batch <= 1 }
  require { kv <= 64 MiB }
  quantize { weights as_stored; kv f16 }
  sampling { greedy; seed }
  prefer { min itl; then min memory }
}
"""


def test_the_constraints_of_a_used_file_hold(write: Write) -> None:
    path = write(top='use "base.mispec"\nengine top { sampling { top_k } }', base=BASE)
    module = _resolved(path)
    assert not [op for op in module.walk() if isinstance(op, spec.UseOp)]
    assert _spec(path) == _spec(write(all=BASE.replace("seed", "seed; top_k"))).replace(
        "engine base", "engine top"
    )


def test_places_stay_those_of_the_file_that_says_it(write: Write) -> None:
    module = _resolved(
        write(top='use "base.mispec"\nengine top { sampling { n <= 2 } }', base=BASE)
    )
    places = {op.name: str(place_of(op)) for op in module.walk()}
    assert places["spec.require"] == "base.mispec:6:13"
    assert places["spec.limit"] == "top.mispec:2:25"


def test_bounds_objectives_and_degrades_may_be_replaced_and_pins_repeated(write: Write) -> None:
    top = """use "base.mispec"
    engine top {
      target cpu { isa avx2 }
      workload { context <= 64 tokens }
      require { kv <= 1 MiB }
      quantize { kv f16 }
      prefer { min kv }
    }"""
    text = _spec(write(top=top, base=BASE))
    assert "context <= 64 tokens; batch <= 1" in text
    assert "require { kv <= 1 MiB }" in text
    assert "prefer { min kv }" in text
    assert "target cpu { isa avx2 }" in text


@pytest.mark.parametrize(
    ("own", "said", "pinned", "where"),
    [
        ("quantize { kv f32 }", "kv f32", "kv f16", "7:33"),
        ("target cuda", "target cuda", "target cpu", "4:3"),
        ("target cpu { isa auto }", "isa auto", "isa avx2", "4:16"),
        ('model "file:b.gguf"', "model file:b.gguf", "model file:a.gguf", "3:3"),
    ],
)
def test_overriding_a_pinned_value_shows_both_places(
    write: Write, own: str, said: str, pinned: str, where: str
) -> None:
    text = _complaint(write(top=f'use "base.mispec"\nengine top {{\n{own}\n}}', base=BASE))
    assert text.startswith("top.mispec:3:")
    assert f"error: {said} overrides a value that is pinned in a file it uses" in text
    assert f"note: base.mispec:{where}: {pinned} is pinned here" in text


def test_every_contradiction_is_reported(write: Write) -> None:
    own = "quantize { kv f32; weights q8_0 }"
    text = _complaint(write(top=f'use "base.mispec"\nengine top {{ {own} }}', base=BASE))
    assert text.count("overrides a value") == 2


def test_files_side_by_side_may_not_disagree(write: Write) -> None:
    one = "engine a { workload { context <= 64 tokens } }"
    path = write(
        top='use "a.mispec"\nuse "b.mispec"\nengine top { }', a=one, b=one.replace("64", "32")
    )
    text = _complaint(path)
    assert text.startswith("top.mispec:2:1: error: the files used here disagree")
    assert "note: a.mispec:1:23: context <= 64 tokens is given here" in text
    assert "note: b.mispec:1:23: context <= 32 tokens is given here" in text
    assert text.endswith("help: say in this file what holds")
    path.write_text(path.read_text().replace("{ }", "{ workload { context <= 8 tokens } }"))
    assert "context <= 8 tokens" in _spec(path)


def test_the_same_file_may_come_by_two_ways(write: Write) -> None:
    through = 'use "base.mispec"\nengine x { }'
    path = write(
        top='use "a.mispec"\nuse "b.mispec"\nengine base { }', a=through, b=through, base=BASE
    )
    assert _spec(path) == _spec(Path("base.mispec"))


def test_equal_objectives_of_two_files_are_one_list(write: Write) -> None:
    path = write(top='use "a.mispec"\nuse "b.mispec"\nengine base { }', a=BASE, b=BASE)
    assert _spec(path) == _spec(Path("a.mispec"))


def test_a_local_model_keeps_the_path_that_its_file_gives_it(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "base.mispec").write_text('engine b { model "file:models/a.gguf" }')
    assert 'model "file:shared/models/a.gguf"' in _spec(
        write(top='use "shared/base.mispec"\nengine top { }')
    )
    (folder / "in.mispec").write_text('use "../base.mispec"\nengine top { }')
    write(base='engine b { model "file:/abs/a.gguf" }')
    assert 'model "file:/abs/a.gguf"' in _spec(Path("shared/in.mispec"))


def test_circles_are_refused(write: Write) -> None:
    path = write(
        a='use "b.mispec"\nengine a { }', b='use "./c.mispec"\nengine b { }',
        c='use "a.mispec"\nengine c { }',
    )  # fmt: skip
    text = _complaint(path)
    assert text.startswith("c.mispec:1:1: error: 'a.mispec' uses itself")
    assert "a.mispec uses b.mispec uses c.mispec uses a.mispec" in text
    assert "uses itself" in _complaint(write(own='use "own.mispec"\nengine own { }'))


def test_long_chains_are_refused(write: Write) -> None:
    files = {f"f{n}": f'use "f{n + 1}.mispec"\nengine f {{ }}' for n in range(40)}
    text = _complaint(write(**files))
    assert "error: 'f8.mispec' is one file too many" in text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.mispec", "no such file"),
        ("other.txt", "expected a .mispec file"),
        ("/etc/passwd.mispec", "expected a path relative to this file"),
        ("~/a.mispec", "expected a path relative to this file"),
        ("C:a.mispec", "expected a path relative to this file"),
        ("..\\\\a.mispec", "expected a path with '/' between plain names"),
        ("folder.mispec", "it is not a regular file"),
        ("pipe.mispec", "it is not a regular file"),
        ("device.mispec", "it is not a regular file"),
        ("large.mispec", f"it has more than {MAX_BYTES} bytes"),
        ("binary.mispec", "byte 1 is not UTF-8 text"),
        (f"{'a' * 300}.mispec", "file name too long"),
        ("top.mispec/a.mispec", "not a directory"),
    ],
)
def test_hostile_paths_are_refused_at_their_place(
    write: Write, tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "folder.mispec").mkdir()
    os.mkfifo(tmp_path / "pipe.mispec")
    (tmp_path / "device.mispec").symlink_to("/dev/zero")
    (tmp_path / "large.mispec").write_bytes(b" " * (MAX_BYTES + 1))
    (tmp_path / "binary.mispec").write_bytes(b"a\xff")
    text = _complaint(write(top=f'use "{path}"\nengine top {{ }}'))
    assert text.startswith("top.mispec:1:1: error: cannot use '")
    assert reason in text


def test_a_near_name_is_offered(write: Write) -> None:
    path = write(top='use "bsae.mispec"\nengine top { }', base=BASE)
    assert "help: did you mean 'base.mispec'?" in _complaint(path)


def test_errors_of_a_used_file_say_where_it_is_used(write: Write) -> None:
    text = _complaint(write(top='use "a.mispec"\nengine t { }', a="engine a { quantise { } }"))
    assert text.startswith("a.mispec:1:12: error: unknown section: 'quantise'")
    assert "note: top.mispec:1:1: the file is used here" in text


def test_the_pass_leaves_a_file_without_uses_alone(write: Write) -> None:
    from xdsl.context import Context

    module = parse_mispec(BASE, "x.mispec")
    before = print_module(module, locations=True)
    ResolveUses().apply(Context(), module)
    assert print_module(module, locations=True) == before


def test_texts_of_used_files_for_those_who_ask_what_has_changed(write: Write) -> None:
    path = write(top='use "a.mispec"\nengine t { }', a='use "base.mispec"\nengine a { }', base=BASE)
    assert used_texts(path.read_text(), str(path)) == (Path("a.mispec").read_text(), BASE)
    assert used_texts("engine x { }", "x.mispec") == ()
    assert used_texts("use engine {", "x.mispec") == ()
