"""`python -m NAME` and `check.py` as a user or a benchmark runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_engine import (
    CONTEXT,
    VOCAB,
    Build,
    byte_ids,
    expected_greedy,
    import_build,
    set_weights,
    write_build,
    write_check,
)

from metainfer.codegen.host import worker


@pytest.fixture
def plain(make_build: Callable[..., Build]) -> Build:
    """Without a chat template, so that a prompt begins with what the user wrote."""
    made = make_build(["temperature", "top_k", "top_p", "seed"])
    set_weights(made.root, np.zeros(VOCAB, np.float32))
    return made


def prompt_for(written: str) -> str:
    """Text after which the fake model repeats `written`: <m3>, then the period as an id."""
    return "<m3>" + chr(len(written) - 8) + written


def result(build: Build, *arguments: str) -> dict[str, object]:
    done = build.run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_text_is_streamed(plain: Build) -> None:
    done = plain.run("--prompt", prompt_for("hello world "), "--max-tokens", "16")
    assert (done.stdout, done.stderr, done.returncode) == ("hello world hell\n", "", 0)


def test_json_prints_one_object(plain: Build) -> None:
    found = result(plain, "--prompt", prompt_for("hello world "), "--max-tokens", "3")
    timings = found.pop("timings")
    assert found == {
        "prompt_tokens": 14,
        "tokens": byte_ids(b"hel"),
        "text": "hel",
        "finish_reason": "length",
    }
    assert isinstance(timings, dict)
    assert list(timings) == [
        "load_s",
        "prefill_s",
        "decode_s",
        "prefill_tok_s",
        "decode_tok_s",
        "first_token_s",
    ]
    assert all(value > 0 for value in timings.values())


def test_stop_strings(plain: Build) -> None:
    stops = ["--stop", "zzz", "--stop", "wor"]
    found = result(plain, "--prompt", prompt_for("hello world "), *stops)
    assert (found["text"], found["finish_reason"]) == ("hello ", "stop")


def test_sampling_options(plain: Build) -> None:
    how = ["--temperature", "1.5", "--top-k", "50", "--top-p", "0.9"]
    runs = [
        result(plain, "--prompt", "abc", "--max-tokens", "9", *how, "--seed", seed)["tokens"]
        for seed in ("1", "1", "2")
    ]
    assert runs[0] == runs[1] != runs[2]
    greedy = result(plain, "--prompt", "zzz", "--max-tokens", "9", "--temperature", "0")
    assert greedy["tokens"] == expected_greedy(byte_ids(b"zzz"), 9)


def test_chat_uses_the_template(build: Build) -> None:
    set_weights(build.root, np.zeros(VOCAB, np.float32))
    told = result(build, "--prompt", "hi", "--system", "be", "--max-tokens", "4")
    rendered = "<b>system:be\n<b>user:hi\nbot:"  # the tiny engine's bos token is the text <b>
    raw = result(build, "--raw", "--prompt", rendered, "--max-tokens", "4")
    assert told["tokens"] == raw["tokens"] == expected_greedy([1, *byte_ids(rendered.encode())], 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompt", ""], "the prompt is empty"),
        (["--prompt", "a" * CONTEXT], f"{CONTEXT} tokens; this engine takes 1 to {CONTEXT - 1}"),
        (["--prompt", "a", "--max-tokens", "0"], "max_tokens is 1 or more, not 0"),
        (["--prompt", "a", "--temperature", "-1"], "temperature"),
        (["--prompt", "a", "--threads", "8"], "threads is a number from 1 to 7, not 8"),
        (["--prompt", "a", "--stop", ""], "stop string is empty"),
        (["--prompt", "a\udc80"], "surrogates"),
    ],
)
def test_errors_are_one_line(plain: Build, arguments: list[str], message: str) -> None:
    done = plain.run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_prompt_of_context_minus_one(plain: Build) -> None:
    found = result(plain, "--prompt", "a" * (CONTEXT - 1))
    assert (len(found["tokens"]), found["finish_reason"]) == (1, "length")  # type: ignore[arg-type]


def test_an_option_that_was_not_asked_for_does_not_exist(make_build: Callable[..., Build]) -> None:
    done = make_build([]).run("--prompt", "a", "--temperature", "1")
    assert done.returncode == 2
    assert "unrecognized arguments: --temperature" in done.stderr


@pytest.mark.parametrize("damage", ["missing", "short", "long", "magic", "id", "folder"])
def test_weights_that_do_not_fit(plain: Build, tmp_path: Path, damage: str) -> None:
    weights = plain.root / "weights.bin"
    data = weights.read_bytes()
    weights.unlink()
    changed = {
        "short": data[:-1],
        "long": data + b"x",
        "magic": b"X" + data[1:],
        "id": data[:71] + b"0" + data[72:],
    }
    if damage == "folder":
        weights.mkdir()
    elif damage != "missing":
        weights.write_bytes(changed[damage])
    done = plain.run("--prompt", "a")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"error: {weights}: ")
    if damage == "folder":
        weights.rmdir()


@pytest.mark.parametrize("moment", ["prompt", "decode"])
def test_an_interrupt_ends_it_with_130(plain: Build, moment: str) -> None:
    prompt = "<m4>" + "\x01" + "ab" * 25 if moment == "prompt" else "<m4>" + chr(1) + "123456789"
    command = [sys.executable, "-m", plain.package.__name__, "run", "--prompt", prompt]
    with subprocess.Popen(command, cwd=plain.root, stdout=-1, stderr=-1) as child:
        assert child.stdout is not None and child.stderr is not None
        if moment == "decode":
            os.read(child.stdout.fileno(), 1)
        else:
            _await_threads(child.pid)
        child.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert child.wait(timeout=20) == 130
        assert time.monotonic() - begin < 1.0  # the whole run would take longer
        assert child.stderr.read() == b""


def _await_threads(pid: int) -> None:
    """Until the decode thread runs: the third, since this engine has two for the model."""
    while len(os.listdir(f"/proc/{pid}/task")) < 3:
        time.sleep(0.002)


def test_a_reader_that_leaves_is_no_crash(plain: Build) -> None:
    command = f"{sys.executable} -m {plain.package.__name__} run --prompt '<m4>\x01123456789'"
    done = subprocess.run(
        f"{command} | head -c 1", shell=True, cwd=plain.root, capture_output=True, text=True
    )
    assert done.stderr == ""


def talk(build: Build, *requests: object) -> list[dict[str, object]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    argv = worker.command(build.root, threads=2)
    done = subprocess.run(argv, input=lines, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_worker_answers_line_by_line(plain: Build) -> None:
    hello, greedy, *errors = talk(
        plain,
        {"cmd": "greedy", "ids": [40, 41], "n": 9},
        {"cmd": "greedy", "ids": [40], "n": CONTEXT},
        {"cmd": "run", "workload": "batch8"},
        {"cmd": "run", "workload": "decode_1000"},
        {"cmd": "run", "workload": "prefill512"},
        {"cmd": "dance"},
        {"no": "command"},
        [],
        {"cmd": "quit"},
        {"cmd": "greedy", "ids": [40], "n": 1},
    )
    assert set(hello) == {"ready", "load_s", "ttft_s", "rss_mb", "info"}
    assert greedy == {"ids": expected_greedy([40, 41], 9)}
    assert len(errors) == 7
    assert all(list(answer) == ["error"] for answer in errors)


def test_the_worker_measures_what_fits(make_build: Callable[..., Build]) -> None:
    flags = ["-DMI_CONTEXT=1100", "-DMI_VOCAB=20200", "-DMI_WEIGHTS_BYTES=90000"]
    big = make_build([], *flags)
    payload = (big.root / "weights.bin").read_bytes().ljust(4096 + 90000, b"\0")
    (big.root / "weights.bin").write_bytes(payload)
    _, *answers = talk(
        big,
        *({"cmd": "run", "workload": w} for w in ("prefill512", "decode_short", "decode_1000")),
    )
    assert [sorted(answer) for answer in answers] == [["rss_mb", "tok_s"]] * 3


def test_the_worker_says_that_there_is_no_engine(tmp_path: Path) -> None:
    done = subprocess.run(worker.command(tmp_path), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert "is no build folder" in json.loads(done.stdout)["error"]


def test_check_replays_the_recorded_tokens(tmp_path: Path) -> None:
    build = import_build(write_build(tmp_path, "checked", []), "checked")
    prompts = [[40, 41], [99] * 20, [50] * (CONTEXT - 1)]
    cases = [
        {"prompt_ids": p, "tokens": expected_greedy(p, min(30, CONTEXT - len(p)))} for p in prompts
    ]
    write_check(build.root, "checked", cases)
    done = build.python("check.py")
    assert (done.returncode, done.stdout.count("ok  "), done.stderr) == (0, 4 + 3, "")

    cases[1]["tokens"][3] ^= 1
    write_check(build.root, "checked", cases)
    done = build.python("check.py")
    assert (done.returncode, done.stdout.count("ok  ")) == (1, 4 + 2)
    assert "FAIL  tokens of case 2" in done.stdout

    (build.root / "checked/model.c").write_text("changed")
    done = build.python("check.py")
    assert (done.returncode, done.stdout.count("ok  "), done.stdout.count("FAIL")) == (1, 3, 1)
    assert "tokens" not in done.stdout  # what was changed is not run

    (build.root / "checked/model.c").unlink()
    done = build.python("check.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL  checked/model.c: missing" in done.stdout
