"""Affine forms over bounded integer symbols, and proofs of inequalities between them.

A symbol is any integer, older ones first. What is known of it: a range of numbers, and bounds that
are affine forms of *older* symbols, so that replacing the newest symbol of a form by one of its
bounds ends. A proof of `form >= 0` is such a chain of replacements that ends in a number >= 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import gcd

MOST_STEPS = 4096
"""Replacements tried in one proof; a proof that needs more is not found."""


class Form:
    """`const + sum(coefficient * symbol)`; immutable, no coefficient is zero."""

    __slots__ = ("const", "terms")

    def __init__(self, terms: dict[int, int], const: int = 0) -> None:
        self.terms, self.const = terms, const

    @staticmethod
    def of(number: int) -> Form:
        return Form({}, number)

    def plus(self, other: Form, times: int = 1) -> Form:
        """`self + times * other`."""
        terms = self.terms
        if other.terms and times:
            terms = dict(terms)
            for symbol, c in other.terms.items():
                total = terms.get(symbol, 0) + times * c
                if total:
                    terms[symbol] = total
                else:
                    del terms[symbol]
        return Form(terms, self.const + times * other.const)

    def shifted(self, number: int) -> Form:
        return Form(self.terms, self.const + number)

    def scaled(self, factor: int) -> Form:
        if not factor:
            return Form({}, 0)
        return Form({s: c * factor for s, c in self.terms.items()}, self.const * factor)

    def split(self) -> tuple[int, int, Form]:
        """The newest symbol, its coefficient and the rest; there must be a symbol."""
        newest = max(self.terms)
        rest = dict(self.terms)
        return newest, rest.pop(newest), Form(rest, self.const)

    def key(self) -> Hashable:
        """Equal for equal forms."""
        return (self.const, *sorted(self.terms.items()))

    def same(self, other: Form) -> bool:
        return self.const == other.const and self.terms == other.terms


Bound = tuple[Form, int]
"""`(form, d)` with d > 0: a symbol s has `d * s <= form`, or `d * s >= form`."""


@dataclass(slots=True)
class Symbol:
    """What is known of an integer here."""

    name: object
    """What `str` makes readable, on demand."""
    lo: int
    hi: int
    ups: list[Bound] = field(default_factory=list)
    downs: list[Bound] = field(default_factory=list)


class Space:
    """All symbols, and the assumptions that hold at the place of the body that is looked at."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.known: dict[Hashable, Form] = {}
        """Symbols that stand for a function of others (a quotient, an element of the batch)."""
        self._trail: list[tuple[Symbol, int, int, int, int] | Hashable] = []
        self._steps = 0

    def new(self, name: object, lo: int, hi: int) -> Form:
        """A new symbol within a range."""
        self.symbols.append(Symbol(name, lo, hi))
        return Form({len(self.symbols) - 1: 1})

    def remember(self, key: Hashable, form: Form) -> Form:
        """Let `known[key]` be a form as long as the assumptions of now hold."""
        self.known[key] = form
        self._trail.append(key)
        return form

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is assumed or remembered inside is forgotten after it."""
        mark = len(self._trail)
        try:
            yield
        finally:
            while len(self._trail) > mark:
                self._undo(self._trail.pop())

    def _undo(self, entry: tuple[Symbol, int, int, int, int] | Hashable) -> None:
        if isinstance(entry, tuple) and isinstance(entry[0], Symbol):
            symbol, symbol.lo, symbol.hi, ups, downs = entry
            del symbol.ups[ups:], symbol.downs[downs:]
        else:
            self.known.pop(entry, None)

    # Bounds

    def _quick(self, form: Form) -> int:
        """A lower bound, each symbol taken alone."""
        total, symbols = form.const, self.symbols
        for s, c in form.terms.items():
            total += c * (symbols[s].lo if c > 0 else symbols[s].hi)
        return total

    def inside(self, form: Form, lo: int, hi: int) -> bool:
        """Whether `lo <= form <= hi` is proven."""
        least = most = form.const
        for s, c in form.terms.items():
            symbol = self.symbols[s]
            if c > 0:
                least, most = least + c * symbol.lo, most + c * symbol.hi
            else:
                least, most = least + c * symbol.hi, most + c * symbol.lo
        return (least >= lo or self.holds(form.shifted(-lo))) and (
            most <= hi or self.holds(form.scaled(-1).shifted(hi))
        )

    def holds(self, form: Form) -> bool:
        """Whether `form >= 0` is proven."""
        if self._quick(form) >= 0:
            return True
        self._steps = 0
        return self._prove(form)

    def _prove(self, form: Form) -> bool:
        """`form >= 0`; the caller has tried `_quick`.

        With coefficient c > 0 and `d * s >= b`: `d * form = c * d * s + d * rest >= c * b + d *
        rest`, and if the latter is >= 0, so is the form; likewise for c < 0 and `d * s <= b`.
        """
        self._steps += 1
        if not form.terms or self._steps > MOST_STEPS:
            return False
        newest, c, rest = form.split()
        symbol = self.symbols[newest]
        for bound, d in symbol.downs if c > 0 else symbol.ups:
            lower = rest.scaled(d).plus(bound, c) if d != 1 else rest.plus(bound, c)
            if self._quick(lower) >= 0 or self._prove(lower):
                return True
        if not rest.terms:
            return False
        return self._prove(rest.shifted(c * (symbol.lo if c > 0 else symbol.hi)))

    def lower(self, form: Form) -> int:
        """The largest number found that the form is not below."""
        self._steps = 0
        return self._lower(form)

    def upper(self, form: Form) -> int:
        """The smallest number found that the form is not above."""
        return -self.lower(form.scaled(-1))

    def _lower(self, form: Form) -> int:
        """As `_prove`: the best of all replacements, rounded up since a form is an integer."""
        self._steps += 1
        if not form.terms:
            return form.const
        if self._steps > MOST_STEPS:
            return self._quick(form)
        newest, c, rest = form.split()
        symbol = self.symbols[newest]
        best = self._lower(rest.shifted(c * (symbol.lo if c > 0 else symbol.hi)))
        for bound, d in symbol.downs if c > 0 else symbol.ups:
            best = max(best, -(-self._lower(rest.scaled(d).plus(bound, c)) // d))
        return best

    def range(self, form: Form) -> tuple[int, int]:
        """Both bounds as `lower` and `upper` find them."""
        return self.lower(form), self.upper(form)

    # Assumptions

    def assume(self, form: Form) -> bool:
        """From here on `form >= 0`; False if that contradicts what is known.

        The newest symbol gets it as a bound: over integers, all coefficients may be divided by
        their greatest common divisor and the constant rounded down.
        """
        if not form.terms:
            return form.const >= 0
        if self._quick(form) >= 0:
            return True
        if len(form.terms) == 1:
            return self._limit(form)
        if self.holds(form.scaled(-1).shifted(-1)):
            return False
        common = gcd(*form.terms.values())
        if common > 1:
            form = Form({s: c // common for s, c in form.terms.items()}, form.const // common)
        newest, c, rest = form.split()
        symbol = self.symbols[newest]
        self._mark(symbol)
        self._bound(symbol, c, rest)
        return symbol.lo <= symbol.hi and self._narrow(rest, c, symbol)

    def _limit(self, form: Form) -> bool:
        """`c * s + const >= 0` is a bound of the range of s."""
        ((number, c),) = form.terms.items()
        symbol = self.symbols[number]
        self._mark(symbol)
        if c > 0:
            symbol.lo = max(symbol.lo, -(form.const // c))
        else:
            symbol.hi = min(symbol.hi, form.const // -c)
        return symbol.lo <= symbol.hi

    def _mark(self, symbol: Symbol) -> None:
        self._trail.append((symbol, symbol.lo, symbol.hi, len(symbol.ups), len(symbol.downs)))

    def _narrow(self, rest: Form, c: int, newest: Symbol) -> bool:
        """Ranges of the older symbols s in `rest + c * newest >= 0`: `a * s >= -(all the others)`.

        False if one is left without a value.
        """
        most = c * (newest.hi if c > 0 else newest.lo) - self._quick(rest.scaled(-1))
        for number, a in rest.terms.items():
            symbol = self.symbols[number]
            others = most - a * (symbol.hi if a > 0 else symbol.lo)
            lo = -(others // a) if a > 0 else symbol.lo
            hi = others // -a if a < 0 else symbol.hi
            if lo > symbol.lo or hi < symbol.hi:
                self._mark(symbol)
                symbol.lo, symbol.hi = max(lo, symbol.lo), min(hi, symbol.hi)
            if symbol.lo > symbol.hi:
                return False
        return True

    def _bound(self, symbol: Symbol, c: int, rest: Form) -> None:
        """Add `c * symbol + rest >= 0`."""
        if c > 0:
            least = rest.scaled(-1)
            symbol.lo = max(symbol.lo, -(-self.lower(least) // c))
            if rest.terms:
                symbol.downs.append((least, c))
        else:
            symbol.hi = min(symbol.hi, self.upper(rest) // -c)
            if rest.terms:
                symbol.ups.append((rest, -c))

    def bound_above(self, form: Form, by: Form, times: int = 1) -> None:
        """A new symbol `s` has `times * s <= by`; it stays so."""
        symbol = self._only(form)
        symbol.hi = min(symbol.hi, self.upper(by) // times)
        if by.terms:
            symbol.ups.append((by, times))

    def bound_below(self, form: Form, by: Form, times: int = 1) -> None:
        """A new symbol `s` has `times * s >= by`; it stays so."""
        symbol = self._only(form)
        symbol.lo = max(symbol.lo, -(-self.lower(by) // times))
        if by.terms:
            symbol.downs.append((by, times))

    def _only(self, form: Form) -> Symbol:
        (number,) = form.terms
        return self.symbols[number]

    def text(self, form: Form) -> str:
        """The form as a reader would write it."""
        parts = [
            str(self.symbols[s].name) if c == 1 else f"{c} * {self.symbols[s].name}"
            for s, c in sorted(form.terms.items())
        ]
        if form.const or not parts:
            parts.append(str(form.const))
        return " + ".join(parts).replace("+ -", "- ")
