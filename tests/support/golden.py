"""The golden filecheck tests of the pipeline: `python tests/support/golden.py [--update]`.

Runs each pass on the committed tiny model and compares what `tests/filecheck/stages` expects with
what the pass prints; `--update` writes the expectations anew. What depends on the machine or on
the text of a contract is left open: hashes, keys, the instruction set. Of kernels' bodies only the
short ones are expected word for word.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tiny_llama import TinyLlama, spec_text

from metainfer.driver.build import read_module
from metainfer.driver.session import compiler_context
from metainfer.ir.text import print_module
from metainfer.passes.manager import run_passes
from metainfer.passes.pipelines import DEFAULT, PASSES

STAGES = Path(__file__).parents[1] / "filecheck" / "stages"
INPUTS = STAGES / "Inputs"
MODEL = TinyLlama(hidden=64, ffn=96, q_heads=4)
LONGEST_BODY = 12
"""Lines up to which a body is expected word for word."""

_OPEN = (
    (re.compile(r'hash = "[0-9a-f]{64}"'), 'hash = "{{[0-9a-f]+}}"'),
    (re.compile(r'key = "sha256:[0-9a-f]{64}"'), 'key = "sha256:{{[0-9a-f]+}}"'),
    (re.compile(r'target = "c:\w+"'), 'target = "c:{{[a-z0-9_]+}}"'),
    (
        re.compile(r'alternatives = \[.*\](, because.*, value = )"\w+", what = "isa"'),
        r'alternatives = {{.*}}\1"{{.*}}", what = "isa"',
    ),
)
_HEAD = """\
// RUN: metainfer-opt %S/Inputs/tiny.mispec -p '{passes}' | filecheck %s --match-full-lines

// After `{name}`. Written by: python tests/support/golden.py --update
"""


def golden_texts() -> Iterator[tuple[Path, str]]:
    """Each test file of the pipeline and what it should contain."""
    spec = INPUTS / "tiny.mispec"
    ctx = compiler_context()
    module = read_module(spec, ctx)
    for number, name in enumerate(DEFAULT, 1):
        run_passes(ctx, module, [PASSES[name]()()])
        head = _HEAD.format(passes=",".join(DEFAULT[:number]), name=name)
        lines = print_module(module).splitlines()
        path = STAGES / f"{number:02d}-{name}.mlir"
        yield path, "\n".join([head, *_checks(_wanted(lines))]) + "\n"


def _wanted(lines: list[str]) -> Iterator[str | None]:
    """The lines to expect, None for a stretch that may hold anything."""
    program = next((n for n, line in enumerate(lines) if "engine.program" in line), None)
    if program is not None:
        yield lines[0]
        yield None
        lines = lines[program:]
    number = 0
    while number < len(lines):
        yield lines[number]
        number += 1
        if lines[number - 1].endswith(" body ["):
            end = lines.index("  ]", number)
            short = end - number <= LONGEST_BODY
            yield from lines[number:end] if short else (None,)
            number = end


def _checks(lines: Iterator[str | None]) -> Iterator[str]:
    directive = "CHECK"
    for line in lines:
        if line is None:
            directive = "CHECK"
            continue
        shown = line
        for pattern, text in _OPEN:
            shown = pattern.sub(text, shown)
        literal = "{LITERAL}" if shown == line and ("[[" in line or "{{" in line) else ""
        yield f"// {directive}{literal}: {shown}"
        directive = "CHECK-NEXT"


def write_inputs() -> None:
    """Write the model and its spec anew."""
    INPUTS.mkdir(parents=True, exist_ok=True)
    MODEL.write(INPUTS / "tiny.gguf")
    (INPUTS / "tiny.mispec").write_text(spec_text("tiny.gguf"), encoding="utf-8")


def main() -> int:
    """Compare, or write with `--update`; 1 if some file differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what the passes print now")
    parser.add_argument("--inputs", action="store_true", help="write the model and spec as well")
    arguments = parser.parse_args()
    if arguments.inputs:
        write_inputs()
    differing = []
    for path, text in golden_texts():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        differing.append(path.name)
        if arguments.update:
            path.write_text(text, encoding="utf-8")
    print("\n".join(differing) or "nothing differs")
    return 1 if differing and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
