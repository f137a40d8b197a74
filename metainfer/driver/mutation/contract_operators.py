"""The operator table for contracts: wrong numbers, names, orders and ops in YAML and IR fragments.

Left alone are prose, headers and refusals, which no pass computes with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from metainfer.driver.mutation.mutant import Mutant, replacing

Found = Iterator[tuple[str, int, int, str]]
"""Operator, first and one past the last character, and what takes their place."""
PROSE = frozenset(
    (
        "id kind layer version why sources benefit confidence guards bound refuse equal arch "
        "applies requires ensures conflicts overrides"
    ).split()
)
"""Keys of a contract at its outer level that hold nothing to compute with."""
_KEY = re.compile(r"^([a-z_]+):", re.M)
_NUMBER = re.compile(r"(?<![\w.${%@\"-])\d+(?:\.\d+)?(?![\w.\"])")
_VALUE = re.compile(r"%[a-z_]\w*")
_LIST = re.compile(r"\[([^\[\]{}\"]+)\]")
_SWAPS = (
    ("arith.andi", "arith.ori"),
    ("arith.shrui", "arith.shli"),
    ("arith.addf", "arith.subf"),
    ("arith.mulf", "arith.addf"),
    ("arith.subi", "arith.addi"),
    ('"silu"', '"gelu_tanh"'),
    ("${q_dim}", "${kv_dim}"),
    ("${hidden}", "${ffn_dim}"),
    ("${q_heads}", "${kv_heads}"),
    ("${attn_scale}", "${eps}"),
    (" {signed}", ""),
    ("${layer_window}", ""),
    ("interleaved", "half"),
    ("true", "false"),
)
"""Ops, words and parameters that may stand for each other."""


def contract_mutants(file: str, text: str) -> list[Mutant]:
    """Every mutant of a contract's file, in the order of its text."""
    rules = MLIR_RULES if file.endswith(".mlir") else YAML_RULES
    found: dict[tuple[int, int, str], Mutant] = {}
    for rule in rules:
        for operator, start, stop, after in rule(text):
            if text[start:stop] != after and not _commented(text, start):
                mutant = replacing(file, text, operator, start, stop, after)
                found.setdefault((start, stop, after), mutant)
    return sorted(found.values(), key=lambda m: (m.start, m.stop, m.after))


def _commented(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith(("//", "#"))


# === Both ===


def _numbers(text: str) -> Found:
    for match in _NUMBER.finditer(text):
        number = match.group()
        if "." in number:
            yield "number", match.start(), match.end(), str(float(number) * 2)
            continue
        yield "number", match.start(), match.end(), str(int(number) + 1)
        if int(number) > 1:
            yield "number", match.start(), match.end(), str(int(number) - 1)


def _words(text: str) -> Found:
    for pair in _SWAPS:
        for word, other in (pair, pair[::-1]):
            for match in re.finditer(re.escape(word), text) if word else ():
                yield "word", match.start(), match.end(), other


# === IR fragments ===


def _operands(text: str) -> Found:
    """Two neighbouring operands change places; one becomes the value defined before it."""
    defined: list[str] = []
    for start, line in _lines(text):
        split = line.find("=") + 1
        uses = [m for m in _VALUE.finditer(line) if m.start() >= split]
        for a, b in pairwise(uses):
            commutes = re.search(r"= (?:arith\.(?:mulf|addf|addi|andi|ori)|infer\.add) ", line)
            if line[a.end() : b.start()].strip() == "," and split and not commutes:
                swapped = f"{b.group()}{line[a.end() : b.start()]}{a.group()}"
                yield "operands swapped", start + a.start(), start + b.end(), swapped
        for use in uses if split else ():
            other = next((d for d in reversed(defined) if d != use.group()), None)
            if other is not None:
                yield "other value", start + use.start(), start + use.end(), other
        defined += _VALUE.findall(line[:split])


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("  "):
            yield at, line.rstrip("\n")
        at += len(line)


def _bypassed(text: str) -> Found:
    """An op is left out: its result is replaced by its first operand from there on."""
    for start, line in _lines(text):
        match = re.match(r"  (%\w+) = (?:infer|arith)\.\w+ (%\w+)", line)
        if match is not None and "weight_ref" not in line:
            result, operand = match.groups()
            stop = start + len(line)
            rest = re.sub(rf"{result}\b", operand, text[stop:])
            yield "op left out", start, len(text), rest.lstrip("\n")


def _references(text: str) -> Found:
    """A weight is taken for the one that is named before it."""
    named = list(re.finditer(r"infer\.weight_ref (\$\{\w+\}|@\w+)", text))
    for before, match in pairwise(named):
        yield "other weight", match.start(1), match.end(1), before.group(1)


# === YAML ===


def _yaml_parts(text: str) -> Iterator[tuple[int, str]]:
    """The text of each key of the outer level that is not prose."""
    keys = list(_KEY.finditer(text))
    ends = [*(k.start() for k in keys[1:]), len(text)]
    for key, end in zip(keys, ends, strict=True):
        if key.group(1) not in PROSE:
            yield key.start(), text[key.start() : end]


def _inside(rule: Callable[[str], Found]) -> Callable[[str], Found]:
    def apply(text: str) -> Found:
        for at, part in _yaml_parts(text):
            for operator, start, stop, after in rule(part):
                yield operator, at + start, at + stop, after

    return apply


def _lists(text: str) -> Found:
    for match in _LIST.finditer(text):
        items = [item.strip() for item in match.group(1).split(",")]
        if len(items) > 1:
            yield "order", match.start(1), match.end(1), ", ".join([*items[1:], items[0]])
            yield "item dropped", match.start(1), match.end(1), ", ".join(items[1:])


def _entries(text: str) -> Found:
    """A line of a mapping is lost, or has its neighbour's value."""
    lines = list(_lines(text))
    for (start, line), (_, other) in zip(lines, lines[1:] + lines[:1], strict=True):
        if re.match(r"  \w+: ", line) is None:
            continue
        yield "entry dropped", start, start + len(line) + 1, ""
        value, after = line.split(": ", 1)[1], other.partition(": ")[2]
        if after and len(lines) > 1:
            yield "other entry", start + len(line) - len(value), start + len(line), after


def _strings(text: str) -> Found:
    """A key of the model's file, spelled otherwise."""
    for match in re.finditer(r'(?:key|source): "?([\w.{}]+)"?', text):
        head, _, tail = match.group(1).rpartition(".")
        if head and tail:
            yield "name", match.start(1), match.end(1), f"{head}.x{tail}"


MLIR_RULES: tuple[Callable[[str], Found], ...] = (
    _numbers,
    _words,
    _operands,
    _bypassed,
    _references,
)
YAML_RULES: tuple[Callable[[str], Found], ...] = tuple(
    map(_inside, (_numbers, _words, _lists, _entries, _strings))
)
