"""Fuzzes the spec language: `python -m tests.fuzz.mispec --count 20000`.

Half of the inputs are made from the language table and must be read without a complaint, half are
damaged and must end in located diagnostics or be read. Whatever is read survives: printing and
parsing gives the same spec, in the language and as IR; the formatter changes nothing but the layout
and nothing at all the second time; the canonical form is its own. No input may raise or hang.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from xdsl.context import Context

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.text import parse_module, print_module
from metainfer.passes.support import refusals
from metainfer.resources import specs_dir
from metainfer.spec.formatter import format_text
from metainfer.spec.items import Item, Sheet
from metainfer.spec.lower import lift_engine, lower_sheet
from metainfer.spec.printer import canonical, print_spec
from metainfer.spec.reading import Reading, read_spec
from tests.fuzz.mispec_grammar import Maker, damaged

SECONDS = 10
"""Longer than any input may take, on a machine that does other things too."""


class Broken(Exception):
    """A promise that an input broke."""


def check(text: str, *, valid: bool) -> bool:
    """Check every promise on one input; whether it was read. Raises whatever is broken."""
    reading = read_spec(text, "x.mispec")
    _check_places(reading, text)
    if valid and (reading.problems or reading.sheet is None):
        raise Broken(f"a made spec is refused: {reading.problems[0].message}")
    _check_format(text, reading)
    if reading.problems or reading.sheet is None:
        return False
    for problem in refusals(reading.sheet):
        if problem.place is None or not problem.help:
            raise Broken(f"a refusal without a place or a way out: {problem.message}")
    _check_round_trips(reading.sheet)
    return True


def _check_places(reading: Reading, text: str) -> None:
    lines = text.split("\n")
    for problem in reading.problems:
        place = problem.place
        if place is None or not 0 < place.line <= len(lines):
            raise Broken(f"a diagnostic without a place: {problem.message}")
        if not 0 < place.col <= len(lines[place.line - 1]) + 1 or place.length < 1:
            raise Broken(f"a diagnostic beside its line: {problem.message} at {place}")


def _check_format(text: str, reading: Reading) -> None:
    try:
        once = format_text(text, "x.mispec")
    except DiagnosticError:
        if reading.sheet is not None:
            raise Broken("a spec that is read cannot be formatted") from None
        return
    if format_text(once, "x.mispec") != once:
        raise Broken("formatting twice is not formatting once")
    again = read_spec(once, "x.mispec")
    if _said(again.sheet) != _said(reading.sheet):
        raise Broken("formatting changes what a spec says")
    if _comments(once) != _comments(text):
        raise Broken("formatting loses a comment")


def _comments(text: str) -> list[str]:
    from metainfer.spec.words import lines_of, pieces_of

    pieces = [piece for line in lines_of(text) for piece in pieces_of(line)]
    return [piece.text.rstrip() for piece in pieces if piece.kind == "comment"]


def _said(sheet: Sheet | None) -> list[tuple[object, ...]] | None:
    return None if sheet is None else [_plain(item) for item in sheet.items]


def _plain(item: Item) -> tuple[object, ...]:
    return tuple(item._replace(place=None, words=()))


def _check_round_trips(sheet: Sheet) -> None:
    module = lower_sheet(sheet)
    module.verify()
    for generic in (False, True):
        printed = print_module(module, generic=generic)
        if not parse_module(printed, "x.mlir", CONTEXT).is_structurally_equivalent(module):
            raise Broken("the IR does not survive printing")
    lifted = lift_engine(module.body.block.first_op)  # type: ignore[arg-type]
    if _said(lifted) != _said(sheet):
        raise Broken("lowering loses something")
    again = read_spec(print_spec(lifted), "y.mispec")
    if again.problems or again.sheet is None or _said(again.sheet) != _said(sheet):
        raise Broken("the spec does not survive printing")
    normal = canonical(sheet)
    reread = read_spec(normal, "z.mispec").sheet
    if reread is None or canonical(reread) != normal:
        raise Broken("the canonical form is not its own")
    if format_text(normal, "z.mispec") != normal:
        raise Broken("the canonical form is not formatted")


CONTEXT = Context()
register_dialects(CONTEXT)


# === The command ===


def inputs(count: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Texts, and whether each has to be read without a complaint."""
    maker, rng = Maker(seed), random.Random(seed)
    files = [path.read_text(encoding="utf-8") for path in sorted(specs_dir().glob("*.mispec"))]
    for number in range(count):
        if number % 2 == 0:
            yield maker.spec(), True
        else:
            pool = [*files, maker.spec(), maker.spec()]
            yield damaged(rng.choice(pool), rng.choice(pool), rng), False


def main() -> int:
    """Fuzz and print a summary; 1 if an input broke a promise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="inputs to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for inputs that break a promise")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _hangs)
    started, slowest, read, broken = time.perf_counter(), 0.0, 0, 0
    for number, (text, valid) in enumerate(inputs(options.count, options.seed)):
        began = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            read += check(text, valid=valid)
        except Exception:
            broken += 1
            _report(number, text, options.keep)
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.perf_counter() - began)
    seconds = time.perf_counter() - started
    print(
        f"{options.count} inputs, seed {options.seed}: {read} read, "
        f"{options.count - read - broken} refused, {broken} broken; "
        f"{seconds:.0f} s, slowest {slowest * 1000:.0f} ms"
    )
    return 1 if broken else 0


def _hangs(number: int, frame: object) -> None:
    raise Broken(f"no answer after {SECONDS} s")


def _report(number: int, text: str, folder: Path | None) -> None:
    print(f"--- input {number} ---\n{text}\n---", file=sys.stderr)
    traceback.print_exc()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.mispec").write_text(text, encoding="utf-8", errors="surrogatepass")


if __name__ == "__main__":
    sys.exit(main())
