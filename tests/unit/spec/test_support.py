"""What cannot be built yet is refused at its place, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from metainfer.ir.dialects import spec
from metainfer.passes.support import unsupported
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.language import SECTIONS

Parse = Callable[[str], ModuleOp]
LEAST = 'model "file:a.gguf"\nworkload { context <= 64 tokens }\n'


def test_quickstart_is_supported(shipped: Parse) -> None:
    assert unsupported(shipped("quickstart")) == []


@pytest.mark.parametrize(
    ("line", "col", "message", "help"),
    [
        ("parallel { tensor 3 }", 12, "tensor 3", "supported: tensor 1"),
        ("quantize { acts f16 }", 12, "acts f16", "supported: acts f32"),
        ("quantize { kv int8 }", 12, "kv int8", "supported: kv f32, f16"),
        ("quantize { weights w4a16 { group 32 } }", 12, "weights w4a16",
         "supported: weights as_stored"),
        ("workload { batch <= 2 }", 12, "batch <= 2", "supported: batch <= 1"),
        ("workload { prompt ~ 5 tokens }", 12, "a typical prompt",
         "remove it: nothing is tuned for it yet"),
        ("workload { output <= 5 tokens }", 12, "a bound on output", "supported: context, batch"),
        ("require { memory <= 5 MiB }", 11, "a bound on memory", "supported: kv"),
        ("require { itl.p95 <= 5 ms }", 11, "'itl.p95'", "remove it"),
        ("target cuda { arch sm_90 }", 1, "target cuda", "supported: cpu"),
        ("quantize { weights as_stored except a q8_0 }", 30, "'except'",
         "remove it: as_stored keeps every tensor's own format"),
    ],
)  # fmt: skip
def test_refusals(parse: Parse, line: str, col: int, message: str, help: str) -> None:
    problem = unsupported(parse(LEAST + line))[0]
    assert problem.place is not None
    assert (problem.place.line, problem.place.col) == (4, col)
    assert (problem.message, problem.help) == (f"{message} is not supported yet", help)


@pytest.mark.parametrize("word", [n for n, s in SECTIONS.items() if s.form == "reserved"])
def test_reserved_sections_are_refused_at_their_word(parse: Parse, word: str) -> None:
    (problem,) = unsupported(parse(f"{LEAST}  {word} anything {{ at; all }}"))
    assert problem.place is not None
    assert (problem.place.line, problem.place.col, problem.place.length) == (4, 3, len(word))


def test_an_import_before_the_engine_is_refused() -> None:
    module = parse_mispec(f'use "base.mispec"\nengine x {{\n{LEAST}}}', "x.mispec")
    (problem,) = unsupported(module)
    assert problem.message == "'use' is not supported yet"


def test_every_refusal_is_reported_and_options_not_twice(parse: Parse) -> None:
    lines = "parallel { tensor 3 }\nquantize { weights w4a16 { group 32 } }\nserve openai { chat }"
    heads = [problem.message for problem in unsupported(parse(LEAST + lines))]
    supported = "is not supported yet"
    assert heads == [f"{what} {supported}" for what in ("tensor 3", "weights w4a16", "'serve'")]


def test_an_option_of_a_supported_value_is_not_accepted(parse: Parse) -> None:
    module = parse(LEAST + "quantize { weights w4a16 { group 32 } }")
    for op in module.walk():
        if isinstance(op, spec.PinOp) and op.what == "weights":
            op.value_attr = StringAttr("as_stored")
    (problem,) = unsupported(module)
    assert problem.message == "weights.group 32 is not supported yet"
