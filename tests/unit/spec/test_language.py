"""The language table agrees with itself, with the contracts and with what the frontend does."""

from __future__ import annotations

from collections import Counter

import pytest

from metainfer.ir.units import UNITS
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Hardware
from metainfer.resources import ckb_dir
from metainfer.spec.language import DEGRADABLE, FORMATS, LOADS, SECTIONS
from metainfer.spec.phrase import Phrase, read_phrase
from metainfer.spec.reading import read_spec
from metainfer.spec.slots import _names, slot_of
from metainfer.spec.vocabulary import QUANTITY_NAMES, Key, units_of
from metainfer.spec.words import pieces_of


def _rows() -> list[tuple[str, str, Key]]:
    rows = [(name, word, key) for name, s in SECTIONS.items() for word, key in s.keys.items()]
    inner = [(name, word, option) for name, _, key in rows for word, option in key.options.items()]
    return rows + inner


ROWS = [pytest.param(*row, id=f"{row[0]}.{row[1]}") for row in _rows()]


@pytest.mark.parametrize(("section", "word", "key"), ROWS)
def test_every_example_is_read_by_its_row(section: str, word: str, key: Key) -> None:
    (words, *block) = pieces_of(key.example)
    phrase = read_phrase(key, words.words)
    assert isinstance(phrase, Phrase), phrase
    assert words.text.split(".")[0] == word
    assert not block or key.options
    assert key.doc.endswith(".")


@pytest.mark.parametrize("name", SECTIONS)
def test_every_example_becomes_an_item_that_knows_its_slot(name: str) -> None:
    section = SECTIONS[name]
    for word, key in section.keys.items():
        operand = next(iter(key.devices or section.operands), "")
        text = f"engine x {{ {name} {operand} {{ {key.example} }} }}"
        reading = read_spec(text, "x.mispec")
        assert reading.problems == () and reading.sheet is not None, text
        items = [item for item in reading.sheet.items if item.words[:1] and item.op != "target"]
        slot = slot_of(items[0], reading.sheet.device)
        assert (slot.section, (slot.key or "").split(".")[0]) == (name, word)


def test_no_two_words_become_ops_of_one_name() -> None:
    names = Counter(name for name, slot in _names() if slot.operand != "cuda")
    assert [name for name, count in names.items() if count > 1] == []


def test_the_formats_are_those_of_the_contracts() -> None:
    ids = Knowledge(ckb_dir()).ids("quant")
    assert sorted(FORMATS) == sorted(id_.removeprefix("quant/") for id_ in ids)


def test_the_instruction_sets_are_those_of_the_contracts() -> None:
    hardware = Knowledge(ckb_dir()).all("hardware", Hardware)
    known = {isa for contract in hardware for isa in contract.isa}
    assert set(SECTIONS["target"].keys["isa"].words) - {"auto"} <= known


def test_units_and_quantities_agree() -> None:
    assert {kind for kind, _ in UNITS.values()} == set(QUANTITY_NAMES)
    assert all(units_of(quantity) for quantity in QUANTITY_NAMES)
    assert all(word in SECTIONS["workload"].keys for word in (*LOADS, *DEGRADABLE))


def test_words_that_follow_a_number_are_no_units() -> None:
    from metainfer.spec.numbers import CLAUSE_WORDS

    assert not set(CLAUSE_WORDS) & set(UNITS)
