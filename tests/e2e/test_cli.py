"""The commands on a tiny model: what they print, when they build, how they end."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from command_line import Done, Shell, snapshot
from tiny_build import BUILD, CONTEXT, MODEL, SPEC, built_shell, warm_shell
from tiny_llama import CHAT, TinyLlama, spec_text

RUN = ("metainfer", "run", SPEC, "-o", BUILD, "--raw", "--json")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return warm_shell(folder)


@pytest.fixture
def built(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return built_shell(folder)


def _answer(done: Done) -> dict[str, object]:
    assert (done.code, done.err) == (0, ""), done
    answer = json.loads(done.out)
    assert isinstance(answer, dict)
    return answer


# === Running ===


def test_the_longest_prompt_yields_one_token(built: Shell) -> None:
    answer = _answer(built.run(*RUN, "--prompt", "z" * (CONTEXT - 1)))
    assert answer["prompt_tokens"] == CONTEXT - 1
    assert isinstance(answer["tokens"], list)
    assert len(answer["tokens"]) == 1
    assert answer["finish_reason"] == "length"


def test_one_object_of_json(built: Shell) -> None:
    options = ("--max-tokens", "5", "--temperature", "0")
    answer = _answer(built.run(*RUN, *options, "--prompt", "in the"))
    assert list(answer) == ["prompt_tokens", "tokens", "text", "finish_reason", "timings"]
    streamed = built.run(*RUN[:-1], *options, "--prompt", "in the")
    assert streamed.out == f"{answer['text']}\n"


def test_what_the_model_or_the_spec_lacks(shell: Shell) -> None:
    """Without a template every prompt is raw, and without `temperature` every answer is greedy."""
    text = spec_text(MODEL, context=CONTEXT)
    shell.write(SPEC, text.replace("greedy; temperature; top_k; top_p; seed", "greedy"))
    run = ("metainfer", "run", SPEC, "-o", "greedy", "--max-tokens", "2", "--prompt", "a")
    answers = [shell.run(*run, *o).out for o in ((), ("--raw",), ("--temperature", "0"))]
    assert answers[0] != "" and answers == answers[:1] * 3
    assert shell.refused(*run, "--top-k", "3") == (
        "error: the engine was built without --top-k\n"
        "help: add it to the spec: sampling { top_k }\n"
    )
    assert shell.refused(*run, "--system", "be brief") == (
        "error: --system has no place: the model has no chat template\n"
    )


def test_a_chat_template_is_used_unless_raw(shell: Shell) -> None:
    TinyLlama(context=CONTEXT, chat_template=CHAT).write(shell.folder / MODEL)
    run = ("metainfer", "run", SPEC, "-o", "chat", "--json", "--max-tokens", "1", "--prompt", "a")
    chat, raw = _answer(shell.run(*run)), _answer(shell.run(*run, "--raw"))
    assert raw["prompt_tokens"] == 1
    assert isinstance(chat["prompt_tokens"], int)
    assert chat["prompt_tokens"] > 10


# === When an engine is built ===


def _reason(shell: Shell) -> str | None:
    """Why a run built the engine, or None if it did not."""
    before = snapshot(shell.folder / BUILD)
    done = shell.run(*RUN, "--prompt", "a", "--max-tokens", "1", "-v")
    assert done.code == 0, done
    found = re.search(rf"^\[ *[\d.]+ s\] building {BUILD}: (.*)$", done.err, re.MULTILINE)
    if found is None:
        assert done.err == ""
        assert snapshot(shell.folder / BUILD) == before
    return found[1] if found else None


def test_what_is_up_to_date_is_not_built(built: Shell) -> None:
    assert _reason(built) is None
    # A file's time is no reason.
    os.utime(built.folder / SPEC)
    os.utime(built.folder / MODEL)
    assert _reason(built) is None


def test_a_warm_run_does_not_load_the_compiler(built: Shell) -> None:
    profile = {"PYTHONPROFILEIMPORTTIME": "1"}
    done = built.run(*RUN, "--prompt", "a", "--max-tokens", "1", env=profile, fresh=True)
    assert done.code == 0
    # The engine's own process says the same of itself, and loads none of these either.
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.err.splitlines()}
    assert "metainfer" in loaded
    assert loaded & {"xdsl", "numpy", "lark", "rich"} == set()


def test_a_change_is_a_reason(built: Shell) -> None:
    (built.folder / BUILD / "tiny/binding.py").write_text("raise SystemExit(9)\n")
    assert _reason(built) == "tiny/binding.py was edited"
    TinyLlama(context=CONTEXT, seed=1).write(built.folder / MODEL)
    assert _reason(built) == "the model has changed"
    assert _reason(built) is None


def test_compile_always_builds(built: Shell) -> None:
    before = (built.folder / BUILD).stat().st_ino
    done = built.run("metainfer", "compile", SPEC, "-o", BUILD)
    assert (done.code, done.out, done.err) == (0, f"{BUILD}\n", "")
    assert (built.folder / BUILD).stat().st_ino != before
    assert built.run("metainfer", "check", BUILD).code == 0


def test_equal_inputs_give_equal_bytes(built: Shell) -> None:
    assert built.run("metainfer", "compile", SPEC, "-o", "again").code == 0

    def contents(name: str) -> dict[str, bytes]:
        top = built.folder / name
        return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}

    assert contents("again") == contents(BUILD)


# === The other commands ===


def test_check_names_what_was_edited(built: Shell) -> None:
    assert built.run("metainfer", "check", BUILD).code == 0
    (built.folder / BUILD / "tiny/engine.h").write_text("")
    done = built.run("metainfer", "check", BUILD)
    assert done.code == 1
    assert re.search(r"^FAIL  tiny/engine\.h: ", done.out, re.MULTILINE)
    assert built.refused("metainfer", "check", ".") == (
        "error: . is no engine folder\nhelp: make one: metainfer compile SPEC -o DIR\n"
    )


def test_explain_needs_no_compiler(shell: Shell) -> None:
    done = shell.run("metainfer", "explain", SPEC, "--json", env={"PATH": "/nowhere"})
    assert (done.code, done.err) == (0, "")
    decisions = json.loads(done.out)
    kv = next(d for d in decisions if d["what"] == "kv")
    assert (kv["value"], kv["right"], kv["by"]) == ("f32", "pinned", "user")
    assert "f16" in kv["alternatives"]
    assert kv["because"] == "5:43: kv f32"


def test_pull_takes_a_source_or_a_spec(shell: Shell) -> None:
    for model in (SPEC, f"file:{MODEL}"):
        done = shell.run("metainfer", "pull", model)
        assert (done.code, done.out, done.err) == (0, f"{MODEL}\n", "")
    assert shell.refused("metainfer", "pull", SPEC, "--sha256", "0" * 64) == (
        "error: --sha256 goes with a model source, not with a spec\n"
        'help: write it into the spec, after the source: sha256 "…"\n'
    )
    assert shell.refused("metainfer", "pull", "pip:x/y").startswith(
        "error: 'pip:x/y' is not a model source\nhelp: use `pypi:NAME/FILE`, "
    )


@pytest.mark.parametrize(
    "command",
    [
        ("metainfer",),
        ("metainfer", "fly"),
        ("metainfer", "compile", SPEC),
        ("metainfer", "compile", SPEC, "-o", "new", "--fast"),
        ("metainfer", "run", SPEC, "--prompt", "a", "--seed", "x"),
        ("metainfer-opt", "--fast"),
    ],
    ids=lambda command: " ".join(command),
)
def test_wrong_usage(shell: Shell, command: tuple[str, ...]) -> None:
    before = snapshot(shell.folder)
    assert shell.run(*command).code == 2
    assert snapshot(shell.folder) == before


def test_help_tells_of_progress_and_exit_codes(shell: Shell) -> None:
    words = " ".join(re.sub("[│╭╰─]", " ", shell.run("metainfer", "--help").out).split())
    assert "3 a bug in metainfer; 130 interrupted; 143 terminated" in words
    done = shell.run("metainfer", "compile", "--help", env={"COLUMNS": "200"})
    assert "Report each stage on a line of standard error" in done.out


CRASHING = """
import sys
import metainfer.driver.build
import metainfer.driver.explain

def crash(*arguments):
    raise IndexError("oops")

metainfer.driver.build.emit_engine = metainfer.driver.explain.explain = crash
from metainfer.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("command", "again"),
    [
        (("compile", SPEC, "-o", "new"), "metainfer compile {path} -o DIR"),
        (("explain", SPEC), "metainfer explain {path}"),
    ],
    ids=["compile", "explain"],
)
def test_an_internal_error_leaves_a_reproducer(
    shell: Shell, command: tuple[str, ...], again: str
) -> None:
    before = snapshot(shell.folder)
    started = shell.start(sys.executable, "-c", CRASHING, *command)
    _, err = started.process.communicate()
    assert started.process.returncode == 3
    (path,) = shell.temporary.iterdir()
    assert err == (
        "internal error: IndexError: oops\n"
        f"This is a bug in metainfer. To report it, attach {path}\n"
        f"To meet it again: {again.format(path=path)}\n"
    )
    report = path.read_text()
    assert report.endswith((shell.folder / SPEC).read_text())
    assert "// IndexError: oops\n" in report
    assert snapshot(shell.folder) == before
