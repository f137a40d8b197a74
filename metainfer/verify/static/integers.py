"""What C's integer operators make of affine forms.

Each rule gives a form that equals the result for all values of the symbols, or a new symbol with
bounds that hold for all of them. Overflow is the caller's matter: forms are integers without end.
"""

from __future__ import annotations

from math import gcd

from metainfer.verify.static.affine import Form, Space


class Integers:
    """Operations on forms; `parts` is the symbol of the number of parts, if there is one."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._products: dict[int, tuple[int, int]] = {}
        self.part: int | None = None
        self.parts: int | None = None

    def product(self, a: Form, b: Form) -> Form:
        """`a * b`: scaled by a number, or the sum of products of symbols."""
        if not a.terms:
            return b.scaled(a.const)
        if not b.terms:
            return a.scaled(b.const)
        total = a.scaled(b.const).plus(Form(b.terms), a.const)
        for s, c in a.terms.items():
            for t, d in b.terms.items():
                total = total.plus(self._pair(min(s, t), max(s, t)), c * d)
        return total

    def _pair(self, s: int, t: int) -> Form:
        """The product of two symbols: `t >= 0` gives `lo(s) * t <= s * t <= hi(s) * t`."""
        key = ("product", s, t)
        if known := self.space.known.get(key):
            return known
        a, b = self.space.symbols[s], self.space.symbols[t]
        corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        form = self.space.new(f"{a.name} * {b.name}", min(corners), max(corners))
        for one, other, number in ((a, b, t), (b, a, s)):
            if other.lo >= 0:
                whole = Form({number: 1})
                self.space.bound_above(form, whole.scaled(one.hi))
                self.space.bound_below(form, whole.scaled(one.lo))
        (number,) = form.terms
        self._products[number] = (s, t)
        return self.space.remember(key, form)

    def quotient(self, a: Form, d: int) -> Form:
        """`floor(a / d)`, d > 0; it is C's quotient where a >= 0.

        With `a = d * A + R`, it is `A + floor(R / d)`. Where neither is a number, a symbol stands
        for it that also has the range of the whole, `a - (d - 1) <= d * q <= a`.
        """
        whole, rest = _divided(a, d)
        floor = self._floor(rest, d)
        split = whole.plus(floor)
        if not whole.terms or not floor.terms:
            return split
        key = ("whole quotient", a.key(), d)
        if known := self.space.known.get(key):
            return known
        lo, hi = self.space.range(a)
        form = self.space.new(f"({self.space.text(a)}) / {d}", lo // d, hi // d)
        for bound, times in ((split, 1), (a, d)):
            self.space.bound_above(form, bound, times)
        for bound, times in ((split, 1), (a.shifted(1 - d), d)):
            self.space.bound_below(form, bound, times)
        return self.space.remember(key, form)

    def _floor(self, rest: Form, d: int) -> Form:
        """`q = floor(rest / d)`: 0 if `0 <= rest < d`, else new, `rest - (d - 1) <= d * q <= rest`.

        With g dividing d and the coefficients, `floor((g * X + c) / d) = floor((X + floor(c / g))
        / (d / g))`.
        """
        rest, d = _reduced(rest, d)
        if not rest.terms:
            return Form.of(rest.const // d)
        if d == 1:
            return rest
        if self.space.inside(rest, 0, d - 1):
            return Form.of(0)
        key = ("quotient", rest.key(), d)
        if known := self.space.known.get(key):
            return known
        lo, hi = self.space.range(rest)
        form = self.space.new(f"({self.space.text(rest)}) / {d}", lo // d, hi // d)
        self.space.bound_above(form, rest, d)
        self.space.bound_below(form, rest.shifted(1 - d), d)
        return self.space.remember(key, form)

    def remainder(self, a: Form, d: int) -> Form:
        """`a - d * floor(a / d)`, d > 0; it is C's remainder where a >= 0.

        What d divides falls out. With g dividing d and the coefficients of the rest, and
        `c = g * k + c0`: `(g * X + c) mod d = g * ((X + k) mod (d / g)) + c0`. That inner remainder
        is a symbol m of its own within its range, also bounded by its definition.
        """
        _, rest = _divided(a, d)
        if not rest.terms:
            return Form.of(rest.const % d)
        common = gcd(d, *rest.terms.values())
        inner = Form({s: c // common for s, c in rest.terms.items()}, rest.const // common)
        return self._remainder(inner, d // common).scaled(common).shifted(rest.const % common)

    def _remainder(self, a: Form, d: int) -> Form:
        if d == 1:
            return Form.of(0)
        if self.space.inside(a, 0, d - 1):
            return a
        key = ("remainder", a.key(), d)
        if known := self.space.known.get(key):
            return known
        defined = a.plus(self._floor(a, d), -d)
        form = self.space.new(f"({self.space.text(a)}) % {d}", 0, d - 1)
        self.space.bound_above(form, defined)
        self.space.bound_below(form, defined)
        if self.space.holds(a):
            self.space.bound_above(form, a)
        return self.space.remember(key, form)

    def quotient_by(self, a: Form, d: Form) -> Form:
        """`a / d` where `a >= 0` and `d >= 1` are proven: new, `0 <= q <= a`.

        A share of work has closer bounds: `a = n * part + c` over `parts`, c = 0 or c = n, with
        `0 <= part <= parts - 1`. For c = 0, `q <= n * (parts - 1) / parts`, thus `q <= n - 1` if
        `n >= 1`; for c = n, `q <= n * parts / parts = n`, and q is not below that of c = 0.
        """
        key = ("quotient by", a.key(), d.key())
        if known := self.space.known.get(key):
            return known
        units = self._units(a, d)
        before = None
        if units is not None and not a.same(self._share(units)):
            before = self.quotient_by(self._share(units), d)
        (lo, hi), least = self.space.range(a), self.space.lower(d)
        name = f"({self.space.text(a)}) / ({self.space.text(d)})"
        form = self.space.new(name, max(0, lo // self.space.upper(d)), hi // least)
        self.space.bound_above(form, a)
        if units is not None:
            inside = before is None and self.space.lower(units) >= 1
            self.space.bound_above(form, units.shifted(-1) if inside else units)
            if before is not None:
                self.space.bound_below(form, before)
        return self.space.remember(key, form)

    def _share(self, units: Form) -> Form:
        assert self.part is not None
        return self.product(units, Form({self.part: 1}))

    def _units(self, a: Form, d: Form) -> Form | None:
        """`n` if a is `n * part` or `n * part + n`, n >= 0, and d is the number of parts."""
        if self.part is None or self.parts is None or not d.same(Form({self.parts: 1})):
            return None
        units = Form.of(a.terms.get(self.part, 0))
        for symbol, c in a.terms.items():
            pair = self._products.get(symbol)
            if pair is not None and self.part in pair:
                other = pair[0] if pair[1] == self.part else pair[1]
                units = units.plus(Form({other: c}))
        left = a.plus(self._share(units), -1)
        if not (left.same(Form.of(0)) or left.same(units)) or not self.space.holds(units):
            return None
        return units


def _divided(a: Form, d: int) -> tuple[Form, Form]:
    """`A` and `R` with `a = d * A + R`, where no coefficient in R is a multiple of d."""
    whole = {s: c // d for s, c in a.terms.items() if c % d == 0}
    rest = {s: c for s, c in a.terms.items() if c % d}
    return Form(whole, a.const // d), Form(rest, a.const % d)


def _reduced(rest: Form, d: int) -> tuple[Form, int]:
    """The same floor of a quotient with smaller numbers."""
    common = gcd(d, *rest.terms.values())
    if common == 1:
        return rest, d
    terms = {s: c // common for s, c in rest.terms.items()}
    return Form(terms, rest.const // common), d // common
