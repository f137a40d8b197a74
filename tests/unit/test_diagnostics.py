"""Every diagnostic and every option of a pass has a filecheck test, and the lint would notice."""

from pathlib import Path

import pytest
from diagnostics import (
    EXEMPT,
    Template,
    expected_messages,
    option_values,
    report,
    templates,
    uncovered,
)

from metainfer.passes.describe import pass_info
from metainfer.passes.pipelines import PASSES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, TESTS = ROOT / "metainfer", ROOT / "tests" / "filecheck"


def test_every_diagnostic_has_a_filecheck_test() -> None:
    missing = uncovered(PACKAGE, TESTS)
    assert not missing, f"without a test in tests/filecheck:\n{report(missing)}"


def test_exemptions_are_messages_without_a_test() -> None:
    shown, expected = {t.shown: t for t in templates(PACKAGE)}, expected_messages(TESTS)
    assert set(EXEMPT) <= set(shown)
    tested = [name for name in EXEMPT if any(map(shown[name].matches, expected))]
    assert tested == []


def test_every_option_has_a_right_and_a_wrong_value() -> None:
    given = option_values(TESTS)
    wanted = {
        (name, option.name) for name, load in PASSES.items() for option in pass_info(load()).options
    }
    assert wanted
    assert wanted - {key for key, values in given.items() if values.right} == set()
    assert wanted - {key for key, values in given.items() if values.wrong} == set()


# === The lint itself ===


def package(folder: Path, text: str) -> Path:
    path = folder / "metainfer" / "ir" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return folder / "metainfer"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("raise error('no such thing', place)", ["no such thing"]),
        ("yield Diagnostic(f'no {name} in {a + b:>3}')", ["no {} in {}"]),
        ("raise VerifyException('no dims')", ["{}no dims"]),
        ("_expect(ok, 'one type', a, b)", ["{}one type; got {}"]),
        ("message = f'no {name}'\nraise error(message)", ["no {}"]),
        ("raise error('no ' + (f'word {w}' if w else 'text'))", ["no word {}", "no text"]),
        ("kind = 'left' if a else 'right'\nraise error(f'no {kind}')", ["no left", "no right"]),
        ("end = f' of {n}' if n else ''\nraise error(f'no end{end}')", ["no end{}"]),
        ("raise error(str(problem)) from problem", []),
        ("raise error(f'{name}: {problem}') from problem", []),
        ("raise KeyError('no such key')", []),
    ],
)
def test_messages_are_found(tmp_path: Path, text: str, shown: list[str]) -> None:
    body = "\n".join(f"    {line}" for line in text.split("\n"))
    found = templates(package(tmp_path, f"def f(name, problem, w, a, n):\n{body}\n"))
    assert [t.shown for t in found] == shown
    line = 2 + text.count("\n")
    assert all(t.place == f"metainfer/ir/a.py:{line}" for t in found)


def test_a_template_is_matched_by_all_of_its_words() -> None:
    template = Template("", "no \0 in \0")
    assert template.matches("no f32 in this module")
    assert not template.matches("no f32")
    assert not template.matches("error: no f32 in it")


VERIFIED = "// RUN: metainfer-opt %s --verify-diagnostics\n"
CHECKED = "// RUN: not metainfer-opt %s | filecheck %s\n"
PREFIXED = "// RUN: not metainfer-opt %s | filecheck %s --check-prefix A\n"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (f"{VERIFIED}// expected-error @+1 {{{{no x}}}}", {"no x"}),
        (f"{VERIFIED}x // expected-note {{{{a}}}} expected-error {{{{b}}}}", {"a", "b"}),
        (f"{VERIFIED}// expected-error-re {{{{no {{{{.*}}}} here}}}}", {"no \0 here"}),
        (f"{CHECKED}// CHECK-NEXT: {{{{.*}}}}a:1:2: error: no {{{{x+}}}}", {"no \0"}),
        (f"{PREFIXED}// A: error: no x", {"no x"}),
        ("// RUN: metainfer-opt %s\n// expected-error @+1 {{no x}}", set()),
        (f"{PREFIXED}// B: error: no x", set()),
        (f"{CHECKED}// CHECK-NOT: error: no x", set()),
    ],
)
def test_what_a_test_checks_counts_and_nothing_else(
    tmp_path: Path, test: str, expected: set[str]
) -> None:
    (tmp_path / "a.mlir").write_text(test)
    (tmp_path / "Inputs").mkdir()
    (tmp_path / "Inputs" / "b.mlir").write_text(test)
    assert expected_messages(tmp_path) == expected


def test_an_untested_message_is_reported(tmp_path: Path) -> None:
    source = package(tmp_path, "def f(a):\n    raise error(f'no {a}')\n    raise error('none')\n")
    (tmp_path / "a.mlir").write_text("// RUN: not x | filecheck %s\n// CHECK: error: no dims\n")
    assert report(uncovered(source, tmp_path)) == "metainfer/ir/a.py:3: none"


def test_values_are_right_in_runs_that_succeed(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(
        "// RUN: metainfer-opt %s -p 'fuse{rules=\"a/b\" n=1},plan{x=2}'\n"
        "// RUN: not metainfer-opt %s -p 'plan{x=2 y=3}'\n"
        "// RUN: metainfer-opt %s -p 'plan{z=4}' --verify-diagnostics\n"
        "// RUN: %refusals %s %t\n"
        "// $ metainfer-opt %s -p 'plan{x=5}'\n"
    )
    found = {key: (set(v.right), set(v.wrong)) for key, v in option_values(tmp_path).items()}
    assert found == {
        ("fuse", "rules"): ({'"a/b"'}, set()),
        ("fuse", "n"): ({"1"}, set()),
        ("plan", "x"): ({"2"}, {"5"}),
        ("plan", "y"): (set(), {"3"}),
    }
