"""The generated parts of `language.md`: tables from the language table, answers to its examples."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metainfer.ir.diagnostics import Diagnostic, Place, render
from metainfer.ir.units import UNITS
from metainfer.passes.support import refusals
from metainfer.spec.describe import form_of
from metainfer.spec.language import DEGRADABLE, LOADS, SECTIONS
from metainfer.spec.reading import read_spec
from metainfer.spec.vocabulary import QUANTITY_NAMES, Key, Section, units_of

_PART = re.compile(r"(<!-- (?P<name>[a-z]+) -->\n).*?(<!-- end -->)", re.S)
_REFUSED = re.compile(r"(```mispec refused\n(?P<text>.*?)```\n\n```text\n).*?(```)", re.S)


def language_page(text: str) -> str:
    """`text` with every generated part as it should be: between marks, and after examples."""
    text = _PART.sub(lambda found: f"{found[1]}{_PARTS[found['name']]()}\n{found[3]}", text)
    return _REFUSED.sub(lambda found: f"{found[1]}{answer_to(found['text'])}\n{found[3]}", text)


def answer_to(text: str) -> str:
    """What is printed for a file called `x.mispec` with this text."""
    lines = text.split("\n")

    def line_of(place: Place) -> str | None:
        return lines[place.line - 1]

    return "\n".join(render(problem, line_of) for problem in problems_of(text))


def problems_of(text: str) -> list[Diagnostic]:
    """What is wrong with the words of a file; if nothing is, what cannot be built from it."""
    reading = read_spec(text, "x.mispec")
    if reading.problems or reading.sheet is None:
        return list(reading.problems)
    return refusals(reading.sheet)


# === Tables ===


def _sections_part() -> str:
    return "\n".join(line for name in SECTIONS for line in _section(name, SECTIONS[name])).rstrip()


def _section(name: str, section: Section) -> Iterator[str]:
    head = f"{name} {'|'.join(section.operands)}" if section.operands else name
    yield from (f"### `{head}`", "", section.doc, "")
    if not section.keys or name == "want":
        if name == "want":
            yield from ("Its keys are those of `require`.", "")
        return
    yield from ("| statement | means | built today |", "|---|---|---|")
    for word, key in section.keys.items():
        yield _row(name, section, word, key, form_of(word, key))
        for option, row in key.options.items():
            values = f" One of {_listed(row.words)}." if row.words else ""
            yield f"| ↳ `{_cell(form_of(option, row))}` | {row.doc}{values} | |"
    yield ""


def _row(name: str, section: Section, word: str, key: Key, form: str) -> str:
    device = f" Only with `{name} {key.devices[0]}`." if key.devices else ""
    values = f" One of {_listed(key.words)}." if key.words else ""
    return f"| `{_cell(form)}` | {key.doc}{values}{device} | {_today(name, section, key)} |"


def _today(name: str, section: Section, key: Key) -> str:
    """Whether some value of the key can be built: that of the example, or any of its words."""
    found = [_built(name, section, key, text) for text in _statements(key)]
    if all(found):
        return "yes"
    return "in part" if any(found) else "no"


def _statements(key: Key) -> list[str]:
    """The example, and forms of it that may fare otherwise."""
    head = key.example.split(" ")[0]
    if key.kind in ("word", "words") and key.words:
        return [f"{head} {word}" for word in key.words]
    found = [key.example]
    if "<=" in key.operators:
        found.append(key.example.replace("~", "<="))
    if key.kind == "count":
        found.append(f"{head} 1")
    if key.kind == "number" and not key.quantity and "<=" in key.operators:
        found.append(f"{head} <= 1")
    return found


def _built(name: str, section: Section, key: Key, statement: str) -> bool:
    operands = key.devices or section.operands or ("",)
    for operand in operands:
        reading = read_spec(f"engine x {{ {name} {operand} {{ {statement} }} }}", "x.mispec")
        if reading.sheet and not reading.problems and not refusals(reading.sheet):
            return True
    return False


def _units_part() -> str:
    lines = ["| quantity | units |", "|---|---|"]
    for quantity, title in QUANTITY_NAMES.items():
        units = ", ".join(f"`{unit}`{_scale(unit)}" for unit in units_of(quantity))
        lines.append(f"| {title} | {units} |")
    return "\n".join(lines)


def _scale(unit: str) -> str:
    scale = UNITS[unit][1]
    return f" = {scale:,}" if UNITS[unit][0] == "bytes" and scale > 1 else ""


def _loads_part() -> str:
    return f"A load names any of {_listed(LOADS)}."


def _degrades_part() -> str:
    return f"What may shrink: {_listed(DEGRADABLE)}."


def _listed(words: object) -> str:
    return ", ".join(f"`{word}`" for word in words)  # type: ignore[attr-defined]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_PARTS = {
    "sections": _sections_part,
    "units": _units_part,
    "loads": _loads_part,
    "degrades": _degrades_part,
}
