"""Holds the rule that every diagnostic has a filecheck test: `python tests/lint/diagnostics.py`.

The source of metainfer is read for messages; what is computed in one is a wildcard. A message
counts as tested if all of its text is expected somewhere in `tests/filecheck`, by a line that a
RUN line of the same file has checked. Words of a message that come from elsewhere (`raise
error(str(problem))`) are not looked for here: they are tested where they are said first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

SCOPE = (
    "ir/**/*.py",
    "passes/**/*.py",
    "spec/**/*.py",
    "knowledge/**/*.py",
    "cli/opt*.py",
    "cli/pipeline.py",
    *(f"driver/{name}.py" for name in "running equivalence bisect reduce samples source".split()),
)
"""What `metainfer-opt` is made of, without the readers of models, code generation and the gate."""
ELSEWHERE = frozenset(
    ("spec/printer.py", "spec/slots.py", "knowledge/lock.py", "knowledge/overlaps.py")
)
"""Files there that metainfer-opt does not need: it prints no `.mispec` text, and neither seals nor
lints contracts."""


@dataclass(frozen=True)
class Helper:
    """A call that says something: which argument is the message, and what is put around it."""

    argument: int = 0
    before: str = ""
    after: str = ""


ANY = "\0"
"""Stands in a template for what is computed."""

HELPERS: Mapping[str, Helper] = {
    **dict.fromkeys(("error", "Diagnostic", "slip", "Slip"), Helper()),
    **dict.fromkeys(("self._error", "self._report", "parser.raise_error"), Helper()),
    **dict.fromkeys(("VerifyException", "argparse.ArgumentTypeError"), Helper(before=ANY)),
    "_expect": Helper(1, before=ANY, after=f"; got {ANY}"),
    "_Refusal": Helper(after=" is not supported yet"),
}
"""Every call that makes a diagnostic of the message it is given."""

EXEMPT: Mapping[str, str] = {
    "cannot read the pipeline '{}'": "for an xDSL that words syntax errors in another way",
    "pass {} needs body providers and a gate: use metainfer-opt": "said to xdsl-opt",
    "needs: run resolve-model first": "resolve-model asks itself, once it has filled in the facts",
    "{} is {}{}: the whole demand is not feasible": "a warning: `metainfer compile` prints those",
    "{} takes {} than is wanted": "a warning: `metainfer compile` prints those",
    "{}each run of layers needs one function": "no text of the attribute can break it",
    "{}state @{} has no layout yet": "raised outside of verification: ends as an internal error",
}
"""Messages that no run of `metainfer-opt` prints as a diagnostic, with the reason."""


@dataclass(frozen=True)
class Template:
    """A message of the source, with `ANY` for what is computed."""

    place: str
    """`file:line` of the call."""
    text: str

    @property
    def shown(self) -> str:
        """The text for a reader."""
        return self.text.replace(ANY, "{}")

    def matches(self, message: str) -> bool:
        """Whether a message with all words of the template is expected."""
        pattern = ".*".join(map(re.escape, self.text.split(ANY)))
        return re.fullmatch(pattern, message) is not None


# === What the source says ===


def templates(package: Path) -> list[Template]:
    """The messages of all files in `SCOPE` below `package`, in order."""
    paths = {path for glob in SCOPE for path in package.glob(glob)}
    paths -= {package / name for name in ELSEWHERE}
    return [template for path in sorted(paths) for template in _of_file(path, package)]


def _of_file(path: Path, package: Path) -> Iterator[Template]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for function in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]:
        names = _assigned(function)
        for call in _own(function):
            if not isinstance(call, ast.Call):
                continue
            helper = HELPERS.get(ast.unparse(call.func))
            if helper is None or len(call.args) <= helper.argument:
                continue
            for text in dict.fromkeys(_spellings(call.args[helper.argument], names)):
                if re.search(r"[^\W\d]", text):
                    place = f"{package.name}/{path.relative_to(package)}:{call.lineno}"
                    yield Template(place, helper.before + text + helper.after)


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, or of a module, without those of the functions in it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef):
            yield from _own(child)


Names = Mapping[str, list[ast.expr]]
"""Name → everything that is assigned to it in a function."""


def _assigned(function: ast.AST) -> Names:
    found: dict[str, list[ast.expr]] = {}
    for node in _own(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    found.setdefault(ast.unparse(target), []).append(value)
    return found


def _spellings(node: ast.expr, names: Names) -> list[str]:
    """What an expression may say: one text, several where it decides, `ANY` where it computes."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(found) for found in product(*(_spellings(p, names) for p in parts))]
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            found = _spellings(value, names)
            return found if all(text.strip(f"{ANY} ") for text in found) else [ANY]
        case ast.IfExp(body=body, orelse=orelse):
            return _spellings(body, names) + _spellings(orelse, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ["".join(f) for f in product(_spellings(left, names), _spellings(right, names))]
        case ast.Name(id=name) if name in names:
            values = [v for v in names[name] if not (isinstance(v, ast.Constant) and not v.value)]
            rest = {n: v for n, v in names.items() if n != name}
            return [text for value in values for text in _spellings(value, rest)]
    return [ANY]


# === What the tests expect ===

_EXPECTED = re.compile(
    r"expected-(?:error|warning|note)(?:-re)?[^{]*\{\{(.*?)\}\}(?=\s*(?:$|expected-))"
)
_CHECK = re.compile(r"//\s*(?P<prefix>[\w-]+?)(?:-NEXT|-SAME)?(?:\{LITERAL\})?: +(?P<text>.*)")
_SAID = re.compile(r"\b(?:error|warning): (.*)")
_PREFIX = re.compile(r"\bfilecheck\b(?:.*?--check-prefix[= ](?P<prefix>[\w-]+))?")


def test_files(folder: Path) -> list[Path]:
    """The tests that lit runs."""
    paths = sorted([*folder.rglob("*.mlir"), *folder.rglob("*.mispec")])
    return [path for path in paths if "Inputs" not in path.parts]


def run_lines(text: str) -> list[str]:
    """The commands of a test."""
    return re.findall(r"^// RUN: (.*)", text, re.MULTILINE)


def refused_lines(text: str) -> list[str]:
    """The commands of a test that must fail; those of a session (`// $`) all must."""
    runs = [run for run in run_lines(text) if run.startswith("not ")]
    session = any("%refusals" in run for run in run_lines(text))
    return runs + (re.findall(r"^// \$ (.*)", text, re.MULTILINE) if session else [])


def expected_messages(folder: Path) -> set[str]:
    """The messages that some test waits for; `ANY` stands for a pattern in them."""
    return {message for path in test_files(folder) for message in _expected_in(path)}


def _expected_in(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    runs = run_lines(text)
    prefixes = {m["prefix"] or "CHECK" for run in runs if (m := _PREFIX.search(run))}
    verified = any("--verify-diagnostics" in run for run in runs)
    for line in text.split("\n"):
        if verified:
            yield from map(_plain, _EXPECTED.findall(line))
        check = _CHECK.match(line)
        said = _SAID.search(check["text"]) if check and check["prefix"] in prefixes else None
        if said:
            yield _plain(said[1])


def _plain(text: str) -> str:
    return re.sub(r"\{\{.*?\}\}", ANY, text)


def uncovered(package: Path, folder: Path) -> list[Template]:
    """The messages that no test of `folder` expects and nothing exempts."""
    expected = expected_messages(folder)
    return [
        template
        for template in templates(package)
        if template.shown not in EXEMPT and not any(map(template.matches, expected))
    ]


# === Options of passes ===

_PASS = re.compile(r"([a-z][\w-]*)\{([^{}]*)\}")
_OPTION = re.compile(r"([\w-]+)=(\"[^\"]*\"|[^\s\"]+)")


@dataclass(frozen=True)
class Given:
    """The values that RUN lines give to one option of a pass."""

    right: frozenset[str]
    """In a run that must succeed."""
    wrong: frozenset[str]
    """Only in runs that must fail."""


def option_values(folder: Path) -> dict[tuple[str, str], Given]:
    """`(pass, option)` → what the tests of `folder` give to it."""
    right: dict[tuple[str, str], set[str]] = {}
    wrong: dict[tuple[str, str], set[str]] = {}
    for path in test_files(folder):
        text = path.read_text(encoding="utf-8")
        refused = refused_lines(text)
        for line in refused:
            for key, value in _options(line):
                wrong.setdefault(key, set()).add(value)
        for line in run_lines(text):
            # A run that verifies diagnostics succeeds because passes fail.
            if line in refused or "--verify-diagnostics" in line:
                continue
            for key, value in _options(line):
                right.setdefault(key, set()).add(value)
    return {
        key: Given(
            frozenset(right.get(key, set())),
            frozenset(wrong.get(key, set()) - right.get(key, set())),
        )
        for key in {*right, *wrong}
    }


def _options(run: str) -> Iterator[tuple[tuple[str, str], str]]:
    for name, options in _PASS.findall(run):
        for option, value in _OPTION.findall(options):
            yield (name, option), value


def report(found: Iterable[Template]) -> str:
    """One `file:line: message` for each."""
    return "\n".join(f"{t.place}: {t.shown}" for t in found)


def main() -> int:
    """Print every message without a test; 1 if there is one."""
    root = Path(__file__).resolve().parents[2]
    missing = uncovered(root / "metainfer", root / "tests" / "filecheck")
    print(report(missing) or "every diagnostic has a filecheck test")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
