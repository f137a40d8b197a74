"""Ways to damage a file, each drawn from a seeded stream."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

Mutator = Callable[[random.Random, bytes], bytes]

_NUMBERS = (0, 1, 2, 7, 31, 33, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[\[\]{},:]'
)
_VALUES = (
    b"0", b"1", b"-1", b"2", b"1.5", b"1e999", b"-0", b"1e-7", b"9223372036854775808", b"1" * 300,
    b"NaN", b"Infinity", b"null", b"true", b"false", b'""', b'"x"', b'"F32"', b'"F8_E5M2"',
    b'"\\ud800"', b'"\\u0000"', b'"\xff"', b"[]", b"{}", b"[[]]", b'{"a":{"a":1}}', b"[0,0]",
    b"[" * 2000, b'{"":' * 2000, b'"linear"', b'"silu"', b"",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """Damaged bytes; a cut is the beginning of the original."""

    data: bytes
    is_cut: bool = False


def mutate(draw: random.Random, data: bytes, header: int, is_json: bool) -> Mutant:
    """One mutant of a file whose first `header` bytes describe the rest."""
    if draw.random() < 0.15:
        return _cut(draw, data, header)
    choices = _TEXT if is_json else _BINARY
    out = data
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        head, rest = out[:header], out[header:]
        out = draw.choice(choices)(draw, head) + rest
    if draw.random() < 0.05:
        out += draw.randbytes(draw.choice((1, 7, 64, 4096)))
    return Mutant(out)


def mutate_safetensors(draw: random.Random, data: bytes) -> Mutant:
    """Like `mutate`, but half of the time the header stays readable, its length being right."""
    (length,) = struct.unpack_from("<Q", data)
    if draw.random() < 0.5:
        return mutate(draw, data, 8 + length, is_json=False)
    text = mutate(draw, data[8 : 8 + length], length, is_json=True).data
    return Mutant(struct.pack("<Q", len(text)) + text + data[8 + length :])


def _cut(draw: random.Random, data: bytes, header: int) -> Mutant:
    end = header if draw.random() < 0.7 else len(data)
    return Mutant(data[: draw.randrange(min(end, len(data)))], is_cut=True)


def _flip(draw: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if out:
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def _noise(draw: random.Random, data: bytes) -> bytes:
    at, size = draw.randrange(len(data) + 1), draw.randrange(1, 40)
    return data[:at] + draw.randbytes(size) + data[at + size :]


def _number(draw: random.Random, data: bytes) -> bytes:
    """An interesting number over four or eight bytes, or near the number that is there."""
    code = draw.choice("IQ")
    size = struct.calcsize(code)
    if len(data) < size:
        return data
    at = draw.randrange(len(data) - size + 1)
    (here,) = struct.unpack_from(f"<{code}", data, at)
    options = (*_NUMBERS, here + 1, here - 1, here * 2, here << 8, len(data))
    value = draw.choice(options) % (1 << (8 * size))
    return data[:at] + struct.pack(f"<{code}", value) + data[at + size :]


def _remove(draw: random.Random, data: bytes) -> bytes:
    at, size = draw.randrange(len(data) + 1), draw.choice((1, 2, 4, 8, 100))
    return data[:at] + data[at + size :]


def _repeat(draw: random.Random, data: bytes) -> bytes:
    at, size = draw.randrange(len(data) + 1), draw.choice((1, 4, 8, 24, 60, 400))
    part = data[at : at + size]
    return data[:at] + part * draw.choice((2, 3, 50)) + data[at + size :]


def _move(draw: random.Random, data: bytes) -> bytes:
    at, to, size = (draw.randrange(len(data) + 1) for _ in range(3))
    part = data[at : at + size % 80]
    return data[:to] + part + data[to + len(part) :]


def _token(draw: random.Random, data: bytes) -> bytes:
    """One token of JSON text becomes another, is doubled, or goes."""
    tokens = list(_TOKEN.finditer(data))
    if not tokens:
        return data
    found = draw.choice(tokens)
    old = found[0]
    new = draw.choice((*_VALUES, old + b"," + old, b" ", draw.choice(tokens)[0]))
    return data[: found.start()] + new + data[found.end() :]


def _member(draw: random.Random, data: bytes) -> bytes:
    """A member of the top object, or of one inside, gets another value, leaves or comes twice."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if not isinstance(document, dict):
        return data
    held = document
    while (
        inner := [v for v in held.values() if isinstance(v, dict) and v]
    ) and draw.random() < 0.5:
        held = draw.choice(inner)
    if not held:
        return data
    key = draw.choice(list(held))
    change = draw.randrange(4)
    if change == 0:
        del held[key]
    elif change == 1:
        held[key] = draw.choice((0, 1, -3, 7, 24, 2.5, 10**9, None, True, "x", [], {}, [1, 2]))
    elif change == 2:
        held[key + draw.choice(("_", " ", "2"))] = held[key]
    else:
        held[key] = held[draw.choice(list(held))]
    return json.dumps(document).encode()


_BINARY: tuple[Mutator, ...] = (_flip, _noise, _number, _number, _remove, _repeat, _move)
_TEXT: tuple[Mutator, ...] = (_flip, _token, _token, _member, _member, _remove, _repeat)
