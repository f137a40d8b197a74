"""The server over its standard input and output, as an editor sees it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metainfer.spec.reading import read_spec
from tests.lsp.client import Editor
from tests.lsp.latency import large_spec, measure

URI = "file:///nowhere/x.mispec"
TEXT = "engine x { // \U0001f600 é\n  require { kv <= 4 ms }\n  quantize { weights q4_1 }\n}\n"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with Editor() as one:
        yield one
    assert one.code == 0


def test_diagnostics_as_one_types(editor: Editor) -> None:
    problem, refused = editor.open(URI, TEXT)
    assert problem["message"].startswith("'ms' is a unit of time")
    assert problem["severity"] == 1
    span = {"start": {"line": 1, "character": 20}, "end": {"line": 1, "character": 22}}
    assert problem["range"] == span
    assert refused["severity"] == 2
    assert "note: weights are not quantised anew\nhelp: supported: weights" in refused["message"]
    editor.change(URI, (1, 20), (1, 22), "MiB")
    (refused,) = editor.diagnostics(URI)
    assert refused["message"].startswith("weights q4_1 is not supported yet")


def test_columns_are_counted_as_the_editor_counts_them(editor: Editor) -> None:
    uri = "file:///nowhere/wide.mispec"
    text = 'engine x {\n  model "\U0001f600"; sha256 "0"\n}\n'
    (problem,) = editor.open(uri, text)
    assert problem["range"]["start"] == {"line": 1, "character": 21}
    place = editor.ask("hover", uri, 1, 8)
    assert place is None
    hover = editor.ask("hover", uri, 1, 15)
    assert hover["range"]["start"]["character"] == 14
    assert "Digest" in hover["contents"]["value"]


def test_hover_completion_and_definition(editor: Editor) -> None:
    uri = "file:///nowhere/y.mispec"
    editor.open(uri, "engine x {\n  quantize { weights q4_1; \n}\n}\n")
    hover = editor.ask("hover", uri, 1, 23)
    assert "5 bits a value" in hover["contents"]["value"]
    labels = [item["label"] for item in editor.ask("completion", uri, 1, 27)]
    assert "kv" in labels
    where = editor.ask("definition", uri, 1, 23)
    assert where["uri"].endswith("/ckb/quant/q4_1/contract.yaml")


def test_a_used_file_is_read_from_the_editor_where_it_is_open(
    editor: Editor, tmp_path: Path
) -> None:
    (tmp_path / "base.mispec").write_text("engine b { quantize { kv f16 } }")
    top = (tmp_path / "top.mispec").as_uri()
    assert editor.open(top, 'use "base.mispec"\nengine x { quantize { kv f32 } }') != []
    base = (tmp_path / "base.mispec").as_uri()
    editor.open(base, "engine b { quantize { kv f32 } }")
    editor.change(top, (1, 0), (1, 0), " ")
    assert editor.diagnostics(top) == []
    (problem,) = editor.open(
        (tmp_path / "other.mispec").as_uri(), 'use "base.mispec"\nengine x { quantize { kv f16 } }'
    )
    (related,) = problem["relatedInformation"]
    assert related["location"]["uri"] == base
    assert editor.ask("definition", top, 0, 6)["uri"] == base


def test_formatting_is_one_edit_and_none_of_what_cannot_be_read(editor: Editor) -> None:
    uri = "file:///nowhere/z.mispec"
    editor.open(uri, "engine   x{ }")
    document = {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
    (edit,) = editor.request("textDocument/formatting", document)
    assert edit["newText"] == "engine x { }\n"
    editor.change(uri, (0, 0), (0, 13), "engine x {")
    editor.diagnostics(uri)
    assert editor.request("textDocument/formatting", document) == []
    editor.change(uri, (0, 0), (0, 10), "engine x { }\n")
    editor.diagnostics(uri)
    assert editor.request("textDocument/formatting", document) == []


def test_after_many_edits_the_server_and_the_editor_agree() -> None:
    waits, text, messages = measure(lines=400, edits=60, seed=1)
    assert len(waits) == 60
    problems = read_spec(text, "x.mispec").problems
    shown = [problem.message for problem in problems[:100]]
    assert [message for message in messages if message in shown] == shown


def test_the_generated_spec_is_valid() -> None:
    assert read_spec(large_spec(2000), "x.mispec").problems == ()
    assert abs(large_spec(2000).count("\n") - 2000) < 150


def test_without_the_extra_the_server_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    script += "from metainfer.lsp.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "the language server needs: pip install 'metainfer[lsp]'\n"
