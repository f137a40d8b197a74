"""Text in, text out: stop strings, characters split over tokens, the token before every text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_engine import VOCAB, Build, byte_ids, repeat
from tokenizers import Tokenizer
from tokenizers.decoders import Metaspace
from tokenizers.models import WordLevel

E_ACUTE = "é".encode()  # two bytes
SMILE = "😀".encode()  # four bytes


@pytest.fixture(scope="session")
def text(build: Build) -> Any:
    return importlib.import_module(f"{build.package.__name__}.text")


def pieces(build: Build, engine: Any, written: bytes, n: int, *stop: str) -> list[str]:
    return list(build.package.generate(engine, repeat(written), n, stop))


def test_text_comes_token_by_token(build: Build, engine: Any) -> None:
    assert pieces(build, engine, b"abc ", 6)[:6] == ["a", "b", "c", " ", "a", "b"]


@pytest.mark.parametrize("character", [E_ACUTE, "€".encode(), SMILE])
def test_a_split_character_waits_until_it_is_whole(
    build: Build, engine: Any, character: bytes
) -> None:
    made = pieces(build, engine, b"x" + character, len(character) + 2)
    assert [piece for piece in made if piece] == ["x", character.decode(), "x"]


def test_a_word_keeps_the_space_before_it(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoders of the SentencePiece kind drop the space before the first word that they see."""
    words = {"\u2581Once": 0, "\u2581upon": 1, "\u2581a": 2}
    made = Tokenizer(WordLevel(words, "\u2581a"))
    made.decoder = Metaspace()
    monkeypatch.setattr(text, "tokenizer", lambda: made)
    assert list(text.detokenize([0, 1, 2])) == ["Once", " upon", " a", ""]


def test_an_unfinished_character_is_not_lost(build: Build, engine: Any) -> None:
    assert "".join(pieces(build, engine, b"x" + SMILE, 4)) == "x\ufffd"
    assert engine.finish_reason == "length"


@given(ids=st.lists(st.integers(3, VOCAB - 1), max_size=30))
def test_pieces_join_to_the_text_of_all_tokens(ids: list[int], text: Any) -> None:
    made = list(text.detokenize(ids))
    assert "".join(made) == text.tokenizer().decode(ids)


@given(written=st.text(max_size=30))
def test_no_piece_has_half_a_character(written: str, text: Any) -> None:
    *whole, rest = text.detokenize(byte_ids(written.encode()))
    assert "".join(whole) + rest == written
    assert "\ufffd" not in "".join(whole) or "\ufffd" in written


@given(written=st.text(max_size=30))
def test_encoding_begins_with_the_first_token_once(written: str, text: Any) -> None:
    ids = text.encode(written)
    assert ids[0] == 1
    assert text.encode("<bos>" + written) == ids
    assert text.tokenizer().decode(ids) == written


def test_a_stop_string_over_several_tokens(build: Build, engine: Any) -> None:
    assert "".join(pieces(build, engine, b"one END two", 30, "END")) == "one "
    assert engine.finish_reason == "stop"
    assert engine.tokens == byte_ids(b"one END")


def test_a_beginning_that_does_not_become_a_stop_string_is_text(build: Build, engine: Any) -> None:
    made = pieces(build, engine, b"EN EEND", 14, "END")
    assert "".join(made) == "EN E"
    assert made[:3] == ["", "", "EN "]  # EN might have become END


def test_the_first_of_several_stop_strings_counts(build: Build, engine: Any) -> None:
    assert "".join(pieces(build, engine, b"abcdef", 12, "def", "cd", "xyz")) == "ab"


def test_a_stop_string_inside_a_character_boundary(build: Build, engine: Any) -> None:
    assert "".join(pieces(build, engine, b"a" + SMILE + E_ACUTE + b"b", 12, "😀é")) == "a"


def test_no_stop_string_found_loses_nothing(build: Build, engine: Any) -> None:
    assert "".join(pieces(build, engine, b"abE", 6, "END")) == "abEabE"
    assert engine.finish_reason == "length"


def test_a_stop_string_frees_the_engine(build: Build, engine: Any) -> None:
    for _ in range(3):
        assert "".join(pieces(build, engine, b"go STOP", 50, "STOP")) == "go "


def test_an_empty_stop_string_is_refused(build: Build, engine: Any) -> None:
    with pytest.raises(build.package.EngineError, match="empty"):
        pieces(build, engine, b"abc", 3, "")


class Pieces:
    """Stands for an engine that writes given pieces."""

    def __init__(self, written: list[str]) -> None:
        self.written = written
        self.finish_reason = "length"

    def stream(self, *_: object) -> Iterator[int]:
        yield from byte_ids("".join(self.written).encode())


@given(
    written=st.lists(st.text("ab€", max_size=4), max_size=8),
    stops=st.lists(st.text("ab€", min_size=1, max_size=4), max_size=3),
)
def test_stop_strings_by_definition(
    written: list[str], stops: list[str], build: Build, text: Any
) -> None:
    engine = Pieces(written)
    whole = "".join(written)
    expected = _first_complete(whole, stops)
    assert "".join(text.generate(engine, [9], None, stops)) == expected
    stopped = any(stop in whole for stop in stops)
    assert engine.finish_reason == ("stop" if stopped else "length")


def _first_complete(whole: str, stops: list[str]) -> str:
    """Text is cut at the stop string that is complete first, at the earliest start if two are."""
    for end in range(len(whole) + 1):
        starts = [whole[:end].find(stop) for stop in stops if stop in whole[:end]]
        if starts:
            return whole[: min(starts)]
    return whole
