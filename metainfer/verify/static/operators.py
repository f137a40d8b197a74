"""C's operators on values: numbers exactly, data by ranges.

A signed result that may leave its type is a finding; an unsigned one wraps, and nothing but its
type's range is known of it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from metainfer.verify.static.affine import Form
from metainfer.verify.static.integers import Integers
from metainfer.verify.static.tree import Place
from metainfer.verify.static.values import (
    INT,
    LONG,
    VI,
    CType,
    Data,
    Num,
    Unknown,
    Value,
    common,
    promoted,
)

Report = Callable[[Place, str], None]
Wrapping = Literal["quiet", "report", "exact"]
"""What unsigned numbers and conversions do that may not fit: wrap, wrap and be a finding, or (with
all overflow) not happen, in a proof that shows later that they do not."""
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_SHIFT = frozenset({"<<", ">>"})


class Operators:
    """Operators; what may go wrong is told to `report`."""

    def __init__(self, integers: Integers, report: Report) -> None:
        self.integers, self.space, self._report = integers, integers.space, report
        self.wrapping: Wrapping = "quiet"

    def report(self, place: Place, why: str) -> None:
        """A finding; there are none where numbers are taken as exact."""
        if self.wrapping != "exact":
            self._report(place, why)

    @contextmanager
    def when_wrapping(self, way: Wrapping) -> Iterator[None]:
        """Treat numbers that may not fit in a way of its own inside."""
        before, self.wrapping = self.wrapping, way
        try:
            yield
        finally:
            self.wrapping = before

    # Conversions

    def within(self, form: Form, type_: CType) -> bool:
        """Whether a form is proven to fit a type."""
        return self.space.inside(form, type_.lo, type_.hi)

    def any_of(self, place: Place, type_: CType) -> Num:
        """A number of which only the type is known."""
        return Num(self.space.new(place, type_.lo, type_.hi), type_)

    def converted(self, place: Place, value: Value, type_: CType) -> Value:
        """A value as another type: numbers that fit stay, others wrap to what is not known."""
        if isinstance(value, Num):
            return self.integer(place, value, type_) if type_.kind == "int" else Data(type_)
        if isinstance(value, Data):
            fits = value.lo is not None and value.hi is not None
            if type_.kind == "int" or type_.name == "vi":
                if fits and type_.lo <= (value.lo or 0) and (value.hi or 0) <= type_.hi:
                    return Data(type_, value.lo, value.hi)
                return Data(type_, type_.lo, type_.hi)
            return Data(type_)
        return value

    def integer_of(self, place: Place, value: Num | Data, type_: CType) -> Num | Data:
        """A number or data as an integer type."""
        converted = self.converted(place, value, type_)
        assert isinstance(converted, Num | Data)
        return converted

    def integer(self, place: Place, value: Num, type_: CType) -> Num:
        """A number as another integer type."""
        if value.type is type_:
            return value
        if self._fits(place, value.form, type_):
            return Num(value.form, type_)
        return self.any_of(place, type_)

    def _result(self, place: Place, form: Form, type_: CType) -> Value:
        fits = self._fits(place, form, type_, overflow=type_.lo < 0)
        return Num(form, type_) if fits else self.any_of(place, type_)

    def _fits(self, place: Place, form: Form, type_: CType, overflow: bool = False) -> bool:
        """Whether a number is one of its type, or taken for one."""
        if self.wrapping == "exact" or self.within(form, type_):
            return True
        if overflow or self.wrapping == "report":
            lo, hi = self.space.range(form)
            self.report(place, f"may overflow {type_.name}: its value may be {lo:,} to {hi:,}")
        return False

    # Unary

    def unary(self, place: Place, operator: str, value: Value) -> Value:
        """`-x`, `+x`, `~x`, `!x`."""
        if isinstance(value, Data):
            return _data_unary(operator, value)
        if not isinstance(value, Num):
            return Unknown("it is no number")
        type_ = promoted(value.type)
        form = value.form
        if operator == "+":
            return Num(form, type_)
        if operator == "!":
            return self.truth(place)
        if operator == "-":
            return self._result(place, form.scaled(-1), type_)
        if operator == "~" and type_.lo < 0:
            return Num(form.scaled(-1).shifted(-1), type_)
        return self.any_of(place, type_)

    def truth(self, place: Place) -> Num:
        """0 or 1."""
        return Num(self.space.new(place, 0, 1), INT)

    # Binary

    def binary(self, place: Place, operator: str, left: Value, right: Value) -> Value:
        """An operator on two numbers or data."""
        if isinstance(left, Num) and isinstance(right, Num):
            return self._numbers(place, operator, left, right)
        if isinstance(left, Num | Data) and isinstance(right, Num | Data):
            return self._data(place, operator, left, right)
        return Unknown("it is no number")

    def _numbers(self, place: Place, operator: str, left: Num, right: Num) -> Value:
        if operator in COMPARISONS:
            return self.truth(place)
        type_ = promoted(left.type) if operator in _SHIFT else common(left.type, right.type)
        a = left if left.type is type_ else self.integer(place, left, type_)
        b = right
        if operator not in _SHIFT and right.type is not type_:
            b = self.integer(place, right, type_)
        form = self._form(place, operator, a.form, b.form, type_)
        return self.any_of(place, type_) if form is None else self._result(place, form, type_)

    def _form(self, place: Place, operator: str, a: Form, b: Form, type_: CType) -> Form | None:
        match operator:
            case "+":
                return a.plus(b)
            case "-":
                return a.plus(b, -1)
            case "*":
                return self.integers.product(a, b)
            case "/" | "%":
                return self._divided(place, operator, a, b)
            case "<<" | ">>":
                return self._shifted(place, operator, a, b, type_)
            case "&" | "|" | "^":
                return self._bits(place, operator, a, b)
        self.report(place, f"the operator '{operator}' is not understood")
        return None

    def _divided(self, place: Place, operator: str, a: Form, b: Form) -> Form | None:
        """C cuts towards zero, so a dividend that may be negative leaves only ranges."""
        space = self.space
        if not space.holds(b.shifted(-1)):
            self.report(place, f"its divisor may be {space.lower(b)}, below 1")
            return None
        if space.holds(a):
            if b.terms:
                quotient = self.integers.quotient_by(a, b)
                return quotient if operator == "/" else self._rest(place, a, b)
            whole = operator == "/"
            return (self.integers.quotient if whole else self.integers.remainder)(a, b.const)
        lo, hi = space.range(a)
        most = space.upper(b)
        name = place
        if operator == "%":
            return space.new(name, max(lo, 1 - most), max(0, min(hi, most - 1)))
        return space.new(name, min(0, lo), max(0, hi))

    def _rest(self, place: Place, a: Form, b: Form) -> Form:
        """`a % b` for a >= 0, b >= 1: at most a, below b."""
        form = self.space.new(place, 0, self.space.upper(b) - 1)
        self.space.bound_above(form, b.shifted(-1))
        self.space.bound_above(form, a)
        return form

    def _shifted(self, place: Place, operator: str, a: Form, b: Form, type_: CType) -> Form | None:
        lo, hi = self.space.range(b)
        if lo < 0 or hi >= 8 * type_.size:
            self.report(place, f"shifts by {lo} to {hi} bits, which is not defined for all of them")
            return None
        if b.terms or not self.space.holds(a):
            return None
        if operator == ">>":
            return self.integers.quotient(a, 1 << b.const)
        return a.scaled(1 << b.const)

    def _bits(self, place: Place, operator: str, a: Form, b: Form) -> Form | None:
        """`a & (2^k - 1) = a % 2^k`; else the bits of both bound the result."""
        space = self.space
        if not space.holds(a) or not space.holds(b):
            return None
        for one, mask in ((a, b), (b, a)):
            if operator == "&" and not mask.terms and mask.const & (mask.const + 1) == 0:
                return self.integers.remainder(one, mask.const + 1)
        tops = space.upper(a), space.upper(b)
        if operator == "&":
            return space.new(place, 0, min(tops))
        return space.new(place, 0, (1 << max(tops).bit_length()) - 1)

    def _data(self, place: Place, operator: str, left: Num | Data, right: Num | Data) -> Value:
        """The range of data, or nothing where it leaves its type."""
        type_ = _wider(left.type, right.type)
        if operator in COMPARISONS or operator in ("&&", "||"):
            if type_.kind == "lanes":
                return Data(VI, -1, 0)
            return Data(type_) if type_.kind == "register" else Data(INT, 0, 1)
        if type_.kind in ("float", "register") or type_.name == "vf":
            return Data(type_)
        bounds = [self.bounds(v) for v in (left, right)]
        lo, hi = bounds[1]
        if operator in ("/", "%") and lo <= 0 <= hi:
            self.report(place, "its divisor may be 0")
        if operator in _SHIFT and not 0 <= lo <= hi < 8 * promoted(left.type).size:
            self.report(place, f"shifts by {lo} to {hi} bits, which is not defined for all of them")
        found = _data_range(operator, *bounds[0], *bounds[1])
        if found is None or found[0] < type_.lo or found[1] > type_.hi:
            return Data(type_, type_.lo, type_.hi)
        return Data(type_, *found)

    def either(self, left: Num | Data, right: Num | Data) -> Data:
        """Data that is one value or the other."""
        type_ = left.type if left.type is right.type else _wider(left.type, right.type)
        if type_.kind != "int" and type_.name != "vi":
            return Data(type_)
        (lo, hi), (lo2, hi2) = self.bounds(left), self.bounds(right)
        return Data(type_, min(lo, lo2), max(hi, hi2))

    def bounds(self, value: Num | Data) -> tuple[int, int]:
        """Range of a value as an integer; of a float, all there are."""
        if isinstance(value, Num):
            return self.space.range(value.form)
        if value.lo is None or value.hi is None:
            whole = value.type if value.type.kind == "int" else LONG
            return whole.lo, whole.hi
        return value.lo, value.hi


def _data_unary(operator: str, value: Data) -> Data:
    type_ = promoted(value.type) if value.type.kind == "int" else value.type
    if operator == "!":
        return Data(INT, 0, 1)
    if value.lo is None or value.hi is None or operator == "+":
        return Data(type_, value.lo, value.hi)
    less = 1 if operator == "~" else 0
    lo, hi = -value.hi - less, -value.lo - less
    return Data(type_, lo, hi) if type_.lo <= lo and hi <= type_.hi else Data(type_)


def _wider(a: CType, b: CType) -> CType:
    """The type of an operation on values of two types, of which one is data."""
    for kind in ("register", "lanes"):
        for type_ in (a, b):
            if type_.kind == kind:
                return type_
    if a.kind == b.kind == "int":
        return common(a, b)
    floats = [t for t in (a, b) if t.kind == "float"]
    return max(floats, key=lambda t: t.size)


def _data_range(operator: str, a: int, a_end: int, b: int, b_end: int) -> tuple[int, int] | None:
    """Range of an operation on two ranges; None where it has no simple one."""
    if operator == "+":
        return a + b, a_end + b_end
    if operator == "-":
        return a - b_end, a_end - b
    if operator == "*":
        corners = [x * y for x in (a, a_end) for y in (b, b_end)]
        return min(corners), max(corners)
    if operator == "&" and (a >= 0 or b >= 0):
        return 0, min(n for n, least in ((a_end, a), (b_end, b)) if least >= 0)
    if a < 0 or b < 0:
        return None
    if operator in ("|", "^"):
        return 0, (1 << max(a_end, b_end).bit_length()) - 1
    if operator == ">>":
        return a >> b_end, a_end >> b
    if operator == "<<" and b_end < 64:
        return a << b, a_end << b_end
    if operator == "/" and b > 0:
        return a // b_end, a_end // b
    if operator == "%" and b > 0:
        return 0, min(a_end, b_end - 1)
    return None
