"""`--run`: arguments from text and files, results as lines and arrays."""

from pathlib import Path

import numpy as np
import pytest
from opt_ir import ADD, module_of
from tiny_pipeline import tiny_stages

from metainfer.cli.opt import main
from metainfer.driver.running import Call, Traced, describe, result_arrays, run_function
from metainfer.driver.session import reading_context
from metainfer.interp.numerics import Bounded
from metainfer.interp.state import State
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.text import print_module


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(ADD)
    np.save("a.npy", np.arange(16, dtype=np.int32).reshape(2, 8))
    np.save("b.npy", np.ones((2, 8), np.float32))
    return tmp_path


def test_files_in_and_a_file_out(add: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["in.mlir", "--run", "@f", "--arg", "a.npy", "--arg", "b.npy"]
    assert main([*flags, "-o", "out.npz"]) == 0
    assert capsys.readouterr() == ("", "")
    np.testing.assert_array_equal(np.load("out.npz")["r0"], np.arange(16).reshape(2, 8) + 2.0)
    assert main([*flags, "--trace", "--mode", "magnitude"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("result 0: 2x8: 2 to 17, rms ")
    assert "bound " in out
    assert [line.split(":")[0] for line in err.splitlines()] == [
        "%c = infer.add", "%d = infer.add",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "@f takes 2 arguments, 0 given"),
        (["a.npy", "c.npy"], "--arg c.npy: it has shape (3, 8), tensor<?x8xf32"),
        (["a.npy", "none.npy"], "--arg none.npy: no such file or directory"),
        (["a.npy", "b.txt"], "--arg b.txt: no tensor"),
        (["a.npy", "text.npy"], "it is no NumPy file of numbers"),
        (["a.npy", "words.npy"], "it holds <U1, numbers are wanted"),
    ],
)
def test_arguments_that_do_not_fit(
    arguments: list[str], message: str, add: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text.npy").write_text("no array")
    np.save("words.npy", np.array(["a"]))
    np.save("c.npy", np.ones((3, 8)))
    flags = [f for a in arguments for f in ("--arg", a)]
    assert main(["in.mlir", "--run", "@f", "--dim", "tokens=2", *flags]) == 1
    assert message in capsys.readouterr().err


def test_pickles_are_not_opened(add: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert main(["in.mlir", "--run", "@f", "--arg", "p.npy", "--arg", "a.npy"]) == 1
    assert "it is no NumPy file of numbers" in capsys.readouterr().err


def run(function: str, *arguments: str, **more: object) -> tuple[object, ...]:
    module = tiny_stages().after("expand-model")
    call = Call(function, arguments, random_weights=True, **more)  # type: ignore[arg-type]
    return run_function(module, reading_context(), call)


def test_a_model_with_drawn_weights_is_the_same_each_time() -> None:
    logits, state = run("forward", "ids:1,2,3", "empty")
    again, _ = run("forward", "ids:1,2,3", "empty")
    other, _ = run("forward", "ids:1,2,3", "empty", seed=1)
    assert isinstance(logits, np.ndarray)
    assert logits.shape == (1, 301)
    np.testing.assert_array_equal(logits, again)  # type: ignore[arg-type]
    assert not np.array_equal(logits, other)  # type: ignore[arg-type]
    assert isinstance(state, State)
    assert describe(state) == "layer 0 to 1, sequence 0: 3 positions"
    assert {"r0", "r1_layer0_seq0_k", "r1_layer1_seq0_v"} <= set(result_arrays([logits, state]))


def test_a_state_from_a_file_goes_on_where_it_stopped(tmp_path: Path) -> None:
    _, _, whole = None, None, run("layer", "random", "ids:1,2,3", "empty", layer=1)
    slots = whole[1].slots(1, 0)  # type: ignore[attr-defined]
    path = tmp_path / "kv.npz"
    np.savez(path, k=slots.k, v=slots.v)
    _, longer = run("layer", "random", "ids:7@3", str(path), layer=1)
    assert describe(longer) == "layer 1, sequence 0: 4 positions"  # type: ignore[arg-type]
    np.savez(path, q=slots.k)
    with pytest.raises(DiagnosticError, match="it holds q; k and v are wanted"):
        run("layer", "random", "ids:7@3", str(path), layer=1)


@pytest.mark.parametrize(
    ("function", "arguments", "more", "message"),
    [
        ("layr", [], {}, "no function @layr"),
        ("layer", ["random", "ids:1", "empty"], {"layer": 2}, "@layer does not run layer 2"),
        ("forward", ["ids:", "empty"], {}, "--arg ids:: no batch"),
        ("forward", ["1,2", "empty"], {}, "--arg 1,2: no batch"),
        ("forward", ["ids:1", "full"], {}, "--arg full: no state"),
        ("forward", ["ids:1@4", "empty"], {}, "@forward cannot run on these: slots"),
    ],
)
def test_calls_that_cannot_be_made(
    function: str, arguments: list[str], more: dict[str, int], message: str
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        run(function, *arguments, **more)
    assert message in caught.value.diagnostics[0].message


def test_sizes_of_drawn_arguments_must_be_known() -> None:
    with pytest.raises(DiagnosticError, match="the size 'tokens' of"):
        run_function(module_of(ADD), reading_context(), Call("f", ["random", "random"]))


def test_a_kernel_is_run_by_its_semantics() -> None:
    module = tiny_stages().after("outline-kernels")
    trace: list[Traced] = []
    call = Call("decode_add", ["random", "random"], "magnitude", dims={"tokens": 2})
    (result,) = run_function(module, reading_context(), call, trace)
    assert isinstance(result, Bounded)
    assert [t.op.name for t in trace] == ["infer.add"]


def test_the_module_may_come_out_of_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "tiny.mlir"
    source.write_text(print_module(tiny_stages().after("expand-model")))
    flags = ["-p", "fuse", "--run", "@layer", "--weights", "random"]
    flags += ["--arg", "random", "--arg", "ids:1,2", "--arg", "empty"]
    assert main([str(source), *flags]) == 0
    assert "result 1: layer 0, sequence 0: 2 positions" in capsys.readouterr().out
