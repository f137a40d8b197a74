"""Random Unicode strings for comparing tokenizers, the same on every machine.

Only `random.Random.random()` is used: it is the one method whose sequence Python promises to keep.
Code points come from written-out ranges, so no Unicode database of this machine takes part. The
strings are valid UTF-8 (no lone surrogates).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

SEED = 20240617
COUNT = 10_000

Maker = Callable[["Draw"], str]


class Draw:
    """Choices made from one seeded stream of floats."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def below(self, bound: int) -> int:
        """A number in [0, bound)."""
        return int(self._next() * bound)

    def between(self, low: int, high: int) -> int:
        """A number in [low, high], both included."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[str]) -> str:
        """One of `options`."""
        return options[self.below(len(options))]

    def char(self, ranges: Sequence[tuple[int, int]]) -> str:
        """A character of one of the inclusive code point ranges, each range equally likely."""
        return chr(self.between(*ranges[self.below(len(ranges))]))

    def chars(self, ranges: Sequence[tuple[int, int]], low: int, high: int) -> str:
        """`low` to `high` characters of the ranges."""
        return "".join(self.char(ranges) for _ in range(self.between(low, high)))


PROSE = (
    "the The THE and tokenizer don't I'll we've they're it's IT'S He'd o'clock naive résumé "
    "straße İstanbul coöperate x y2k 3D B2B iPhone antidisestablishmentarianism a I Ångström "
    "hello world Hello, World! e.g. i.e. U.S.A. 's 'LL ' '' \" `` — … ?! :-) http://a.b/c?d=e&f#g "
    "user@example.com C:\\temp 50% $9.99 #tag @me AT&T rock'n'roll"
)
WORDS = PROSE.split()
CODE = (
    "def f(x):\n",
    "    return x ** 2\n", "\tif (a&&b||!c) {\n", "\t\t}\n", "for(int i=0;i<n;++i)",
    "x = [i for i in range(10)]\n", "#include <stdio.h>\r\n", "lambda: None", "// comment\n",
    "'''", "SELECT * FROM t WHERE a='b';", "0xDEADBEEF", "1e-9", "<div class=\"a\">", "</div>",
    "&amp;", "\\n", "fn main() -> Result<(), E> {", "::<Vec<_>>", "a->b", "a<<=3", "!==",
    "$(ls -l | wc)", "%d\\t%s", "        deeply_indented_name = CamelCaseName.method_name()\n",
    "/* */", "@property\n", "}}}\n\n",
)  # fmt: skip
SPECIALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>",
    "<filename>", "<gh_stars>", "<jupyter_code>", "<empty_output>", "<|im_start|>user\n",
    "<|im_start", "|im_end|>", "<|im_end|><|im_end|>", "<s>", "</s>", "<unk>", "<pad>",
    "<0x0A>", "[INST]", "<bos>", "<|", "|>", "\u2581", "\u2581the", "\u0120the", "\u010a",
    "\u0100", "\u0143",
)  # fmt: skip
SPACES = (
    " ", "  ", "   ", "    ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\t ", "\u00a0",
    "\u2003", "\u3000", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\u1680", "\u202f",
    "\u205f", "\u200b", "\u180e", "\ufeff",
)  # fmt: skip
ASCII = [(0x20, 0x7E)]
DIGITS = [
    (0x30, 0x39), (0x30, 0x39), (0x30, 0x39), (0x660, 0x669), (0x6F0, 0x6F9), (0x966, 0x96F),
    (0xFF10, 0xFF19), (0xB2, 0xB3), (0xBC, 0xBE), (0x2160, 0x2188), (0x2460, 0x249B),
    (0x4E00, 0x4E00), (0x1D7CE, 0x1D7FF), (0x2080, 0x2089),
]  # fmt: skip
CJK = [
    (0x4E00, 0x9FA5), (0x4E00, 0x62FF), (0x3041, 0x3096), (0x30A1, 0x30FA), (0xAC00, 0xD7A3),
    (0x1100, 0x1112), (0x1161, 0x1175), (0x3001, 0x3011), (0xFF01, 0xFF5E), (0x20000, 0x2A6D6),
    (0xF900, 0xFA2D),
]  # fmt: skip
EMOJI = [
    (0x1F600, 0x1F64F), (0x1F300, 0x1F5FF), (0x1F680, 0x1F6C5), (0x1F900, 0x1F9FF),
    (0x2600, 0x26FF), (0x2702, 0x27B0), (0x1F1E6, 0x1F1FF),
]  # fmt: skip
JOINED = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "\U0001f44d\U0001f3ff", "\u2764\ufe0f\u200d\U0001f525", "\U0001f1e9\U0001f1ea",
    "1\ufe0f\u20e3", "#\ufe0f\u20e3", "\u200d", "\ufe0f", "\ufe0e",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)  # fmt: skip
MARKS = [(0x300, 0x36F), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0xFE20, 0xFE2F), (0x483, 0x489)]
BASES = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xFF), (0x3B1, 0x3C9), (0x30, 0x39), (0x20, 0x2F)]
RTL = [
    (0x5D0, 0x5EA), (0x5B0, 0x5BD), (0x627, 0x64A), (0x64B, 0x652), (0x671, 0x6D3),
    (0x60C, 0x60C), (0x20, 0x20), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069),
    (0x710, 0x72F),
]  # fmt: skip
SCRIPTS = [
    (0x904, 0x939), (0x93E, 0x94D), (0x985, 0x9B9), (0xE01, 0xE3A), (0xE40, 0xE4E),
    (0x410, 0x44F), (0x391, 0x3C9), (0x10D0, 0x10F0), (0x531, 0x556), (0x1200, 0x1248),
    (0x1780, 0x17B3), (0x1E00, 0x1EFF), (0x100, 0x24F), (0x13A0, 0x13F4), (0x20, 0x20),
    (0x1D400, 0x1D454),
]  # fmt: skip
CONTROLS = [
    (0x00, 0x1F), (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x2060, 0x2064), (0xFFF9, 0xFFFD),
]  # fmt: skip
SYMBOLS = [
    (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2500, 0x259F), (0x20A0, 0x20BF), (0x2010, 0x2027),
    (0x2030, 0x205E), (0xA1, 0xBF), (0x2B00, 0x2B73), (0x1D100, 0x1D126), (0x2800, 0x28FF),
]  # fmt: skip
ANY = [(0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x10FFFF)]


def words(draw: Draw) -> str:
    """Prose, with odd case, contractions and punctuation glued on."""
    glue = (" ", " ", " ", " ", "  ", "", ", ", ".\n", "-", "_", " '")
    return "".join(draw.pick(WORDS) + draw.pick(glue) for _ in range(draw.between(1, 8)))


def code(draw: Draw) -> str:
    """Fragments of several programming languages."""
    return "".join(draw.pick(CODE) for _ in range(draw.between(1, 5)))


def digits(draw: Draw) -> str:
    """Numbers of many scripts, with separators."""
    parts = (draw.chars(DIGITS[:3], 1, 12), draw.pick((".", ",", " ", "-", "e+", "x", "")))
    return "".join(parts) + draw.chars(DIGITS, 0, 5)


def spaces(draw: Draw) -> str:
    """Runs of mixed white space, with and without a letter after them."""
    run = "".join(draw.pick(SPACES) for _ in range(draw.between(1, 8)))
    return run + draw.pick(("", "", "a", "7", ".", "é", "'s"))


def emoji(draw: Draw) -> str:
    """Emoji, flags, skin tones and sequences held together by joiners."""
    many = range(draw.between(1, 5))
    return "".join(draw.pick((draw.char(EMOJI), draw.pick(JOINED))) for _ in many)


def combining(draw: Draw) -> str:
    """Letters, digits and punctuation under stacked combining marks."""
    many = range(draw.between(1, 6))
    return "".join(draw.char(BASES) + draw.chars(MARKS, 0, 4) for _ in many)


def long_run(draw: Draw) -> str:
    """One short unit repeated many times."""
    one = (draw.char(ASCII), draw.pick(SPACES), draw.char(CJK), draw.char(EMOJI), draw.pick(WORDS))
    return draw.pick(one) * draw.between(17, 120)


def drawn_from(ranges: Sequence[tuple[int, int]], low: int, high: int) -> Maker:
    """A maker of `low` to `high` characters of the ranges."""
    return lambda draw: draw.chars(ranges, low, high)


MAKERS: tuple[Maker, ...] = (
    words, words, code, digits, spaces, spaces, emoji, combining,
    lambda draw: draw.pick(SPECIALS), drawn_from(ASCII, 1, 20), drawn_from(CJK, 1, 10),
    drawn_from(RTL, 2, 14), drawn_from(SCRIPTS, 2, 14), drawn_from(CONTROLS, 1, 4),
    drawn_from(SYMBOLS, 1, 8), drawn_from(ANY, 1, 5),
    drawn_from([*ASCII, *SCRIPTS, *CJK, *EMOJI, *CONTROLS], 1, 10),
)  # fmt: skip
LONG_RUN_EVERY = 40
EMPTY_EVERY = 200


def random_string(draw: Draw) -> str:
    """One string: one to five pieces of different kinds; a few are empty, a few very long."""
    if draw.below(EMPTY_EVERY) == 0:
        return ""
    if draw.below(LONG_RUN_EVERY) == 0:
        return random_string(draw) + long_run(draw) + random_string(draw)
    return "".join(MAKERS[draw.below(len(MAKERS))](draw) for _ in range(draw.between(1, 5)))


def random_strings(count: int = COUNT, seed: int = SEED) -> list[str]:
    """The first `count` strings of the stream that `seed` starts."""
    draw = Draw(seed)
    return [random_string(draw) for _ in range(count)]
