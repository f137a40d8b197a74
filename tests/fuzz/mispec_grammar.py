"""Random `.mispec` files made from the language table: valid ones, and damaged ones."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping

from metainfer.ir.units import UNITS
from metainfer.spec.language import DEGRADABLE, LOADS, SECTIONS
from metainfer.spec.measures import MEASURES
from metainfer.spec.vocabulary import REFERENCE, Key, Section, units_of

Line = tuple[str, list["Line"] | None]
"""A statement: its words, and the statements of its block."""

_NAMES = ("llama", "qwen2", "gemma3", "sm_90", "lm_head", "token_embd", "attn_q", "a.b", "x_1")
_TEXTS = (
    "a.safetensors",
    "127.0.0.1:8080",
    "ENGINE_KEY",
    "x y.json",
    "http://a//b",
    "é ≤ {;}",
    "§",
)
_COMMENTS = ("// why", "//", '// a; b { } "c', "//// ≤ é", "// use engine")


class Maker:
    """Makes one spec after another; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def spec(self) -> str:
        """The text of a spec without errors."""
        lines: list[Line] = [
            (f'use "{name}.mispec"', None) for name in self.some(("a", "b/c", "d"))
        ]
        engine: list[Line] = []
        if self.chance(0.9):
            engine.append((self.model(), None))
        sections = [name for name in SECTIONS if name not in ("model", "sha256", "degrade")]
        for name in self.some(sections):
            engine += self.section(name, SECTIONS[name])
        engine += [self.degrade(what) for what in self.some(tuple(DEGRADABLE))]
        self.random.shuffle(engine)
        return self.layout([*lines, (f"engine {self.pick(('x', 'laptop_chat', 'e1'))}", engine)])

    # --- words ---

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: tuple[str, ...] | list[str]) -> str:
        return self.random.choice(choices)

    def some(self, choices: tuple[str, ...] | list[str]) -> list[str]:
        count = min(len(choices), self.random.choice((0, 1, 1, 2, 3, 8)))
        return self.random.sample(list(choices), count)

    def at_least_one(self, choices: tuple[str, ...] | list[str]) -> list[str]:
        return self.some(choices) or [self.pick(choices)]

    def text(self) -> str:
        return f'"{self.pick(_TEXTS)}"'

    def texts(self) -> str:
        return ", ".join(f'"{text}"' for text in self.at_least_one(_TEXTS))

    def count(self) -> str:
        form = self.random.choice(("{}", "{}", "{}k", "{}e2", "{}.0"))
        return form.format(self.random.choice((1, 2, 7, 16, 64, 512, 2048, 99999)))

    def number(self, key: Key, unit: str | None) -> str:
        broken = key.fractional or (unit is not None and UNITS[unit][1] % 8 == 0)
        if unit == "%":
            return self.pick(("97", "0.5", "99.9", "100"))
        if broken and self.chance(0.3):
            return (
                self.pick(("0.5", "1.5", "2.25", "12.125"))
                if not key.fractional
                else self.pick(("0.02", "1e-5", "3.1415", "0.1k", "1.02"))
            )
        return self.count()

    # --- statements ---

    def model(self) -> str:
        uri = self.pick(("file:a.gguf", "pypi:x==1.0/a.gguf", "hf:a/b", "random:llama{layers=4}"))
        digest = f' sha256 "{self.digits()}"' if self.chance(0.3) else ""
        return f'model "{uri}"{digest}'

    def digits(self) -> str:
        return "".join(self.random.choice(string.hexdigits) for _ in range(64))

    def degrade(self, what: str) -> Line:
        key = DEGRADABLE[what]
        values = sorted(self.random.sample(range(1, 5000), self.random.randint(1, 4)), reverse=True)
        unit = f" {key.quantity}" if key.quantity else ""
        words = ", ".join(f"{value}{unit if self.chance(0.3) else ''}" for value in values)
        return (f"degrade {what}", [(words, None)])

    def section(self, name: str, section: Section) -> list[Line]:
        if section.form == "objectives":
            return [(name, self.objectives())]
        if not section.operands:
            blocks = [self.block(section, None)]
            return [(name, block) for block in blocks]
        chosen = (
            self.at_least_one(section.operands) if section.prefix else [self.pick(section.operands)]
        )
        found: list[Line] = []
        for operand in chosen:
            block = self.block(section, operand)
            found.append((f"{name} {operand}", block if block or self.chance(0.5) else None))
        return found

    def objectives(self) -> list[Line]:
        found: list[Line] = []
        for measure in self.some(tuple(MEASURES)):
            key = MEASURES[measure]
            aspect = f".{self.pick(key.aspects)}" if key.aspects and self.chance(0.5) else ""
            best = "min" if "<=" in key.operators else "max"
            found.append((f"{'then ' if found else ''}{best} {measure}{aspect}", None))
        return found

    def block(self, section: Section, operand: str | None) -> list[Line]:
        fitting = [
            word for word, key in section.keys.items() if not key.devices or operand in key.devices
        ]
        chosen = self.some(fitting)
        for one, other in section.exclusive:
            if one in chosen and other in chosen:
                chosen.remove(other)
        return [self.statement(word, section.keys[word]) for word in chosen]

    def statement(self, word: str, key: Key) -> Line:
        name = f"{word}.{self.pick(key.aspects)}" if key.aspects else word
        operator = self.pick(key.operators) if key.operators else ""
        if operator == "==" and self.chance(0.7):
            operator = ""
        value = self.value(key)
        parts = [name, operator, value, self.load(key)]
        if key.versus:
            parts.append(f"vs {REFERENCE}")
        if key.exceptions and self.chance(0.4):
            sites = self.at_least_one(_NAMES)
            parts.append("except " + ", ".join(f"{s} {self.pick(key.exceptions)}" for s in sites))
        options = self.options(key.options) if value in key.with_options else None
        return (" ".join(part for part in parts if part), options)

    def options(self, keys: Mapping[str, Key]) -> list[Line] | None:
        if self.chance(0.4):
            return None
        return [self.statement(word, keys[word]) for word in self.some(tuple(keys))]

    def load(self, key: Key) -> str:
        if key.load == "none" or (key.load == "may" and self.chance(0.5)):
            return ""
        names = self.at_least_one(tuple(LOADS))
        units = {
            name: " tokens" if LOADS[name].quantity and self.chance(0.3) else "" for name in names
        }
        return "@ " + ", ".join(f"{name} {self.count()}{units[name]}" for name in names)

    def value(self, key: Key) -> str:
        match key.kind:
            case "flag":
                return ""
            case "count":
                return self.count()
            case "number":
                unit = self.pick(units_of(key.quantity)) if key.quantity else None
                return f"{self.number(key, unit)} {unit or ''}".rstrip()
            case "word":
                return (
                    self.text() if key.text and self.chance(0.3) else self.pick(key.words or _NAMES)
                )
            case "words":
                return ", ".join(self.at_least_one(key.words))
            case "text":
                return self.text()
            case "texts":
                return self.texts()
            case "amounts":
                units = [self.pick(units_of(q)) for q in self.random.sample(key.quantities, 2)]
                chosen = units[: self.random.randint(1, 2)]
                return ", ".join(f"{self.count()} {unit}" for unit in chosen)

    # --- layout ---

    def layout(self, lines: list[Line]) -> str:
        """Statements as text, with spaces, line ends and comments wherever they may stand."""
        return "".join(self.lines(lines)) + self.pick(("", "\n", "\n\n"))

    def lines(self, lines: list[Line]) -> list[str]:
        out: list[str] = []
        for number, (words, block) in enumerate(lines):
            if number:
                out.append(self.separator())
            elif self.chance(0.2):
                out.append(self.new_lines())
            out.append(words.replace(" ", self.pick((" ", " ", " ", "  ", "\t"))))
            if block is not None:
                out += [self.pick((" ", "", " ", self.new_lines())), "{", self.space()]
                out += [*self.lines(block), self.space(), "}"]
        return out

    def separator(self) -> str:
        return self.pick(
            ("; ", ";", ";;", self.new_lines(), self.new_lines(), f"; {self.new_lines()}")
        )

    def space(self) -> str:
        return self.pick((" ", "", self.new_lines()))

    def new_lines(self) -> str:
        comment = f" {self.pick(_COMMENTS)}" if self.chance(0.3) else ""
        return comment + self.pick(("\n", "\n", "\n\n", "\r\n", "\n\t\n\n", "\n  // own\n"))


# === Damage ===

_ALPHABET = '{};,@"=<>~!%$/. \n\r\tak19_-é≤\x00\x0c\x85\u2028\U0001f600'


def damaged(text: str, other: str, rng: random.Random) -> str:
    """`text` after a few random edits, some of which take words from the language."""
    words = vocabulary()
    for _ in range(rng.choice((1, 1, 2, 3, 10))):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        near = min(len(text), at + rng.choice((1, 2, 8)))
        match rng.randrange(10):
            case 0:
                text = text[:at] + text[near:]
            case 1:
                text = text[:at] + rng.choice(_ALPHABET) + text[at:]
            case 2:
                text = text[:at] + rng.choice(_ALPHABET) + text[near:]
            case 3:
                text = f"{text[:at]} {rng.choice(words)} {text[at:]}"
            case 4:
                text = text[:at] + text[to:]
            case 5:
                text = text[:to] + text[at:to] + text[to:]
            case 6:
                text = text[:at] + other[rng.randrange(len(other) + 1) :]
            case 7:
                text = (
                    text[:at] + rng.choice(("{" * 20, "9" * 50, "1e999999999 ", "-1 ")) + text[at:]
                )
            case 8:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
            case _:
                parts = text.split(" ")
                parts[rng.randrange(len(parts))] = rng.choice(words)
                text = " ".join(parts)
        text = text[:20_000]
    return text


def vocabulary() -> list[str]:
    """Every word of the language."""
    words = [
        "engine",
        "use",
        "then",
        "min",
        "max",
        "vs",
        "except",
        "reference",
        "@",
        "<=",
        "~",
        "==",
    ]
    for name, section in SECTIONS.items():
        words += [name, *section.keys, *section.operands]
        for key in section.keys.values():
            words += [*key.words, *key.aspects, *key.exceptions, *key.options]
    return [*words, *UNITS, "1", "2048", '"a"', "1.5"]
