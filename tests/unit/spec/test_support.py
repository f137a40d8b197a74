"""What cannot be built yet is refused at its place, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from metainfer.ir.dialects import spec
from metainfer.passes.support import unsupported
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
         "remove it, or bound it: prompt <= 512 tokens"),
        ("workload { concurrency <= 5 }", 12, "a bound on concurrency",
         "supported: context, batch, prompt, output"),
        ("require { memory <= 5 MiB }", 11, "a bound on memory", "remove it"),
        ("require { itl.p95 <= 5 ms @ context 9 }", 11, "a bound on itl.p95", "remove it"),
        ("want { top1 >= 9 % vs reference }", 8, "a wish for top1", "remove it"),
        ("target cuda { arch sm_90 }", 1, "target cuda", "supported: target cpu"),
        ("quantize { weights as_stored except a q8_0 }", 37, "'except a q8_0'",
         "remove it: as_stored keeps every tensor's own format"),
        ("quantize { weights q8_0 }", 12, "weights q8_0", "supported: weights as_stored"),
        ("schedule { step 64 tokens }", 12, "'step 64 tokens'", "remove it"),
        ("serve openai { chat }", 1, "'serve openai'",
         "remove it, or say: serve cli; serve library"),
        ("serve library { logprobs <= 5 }", 17, "'logprobs <= 5'", "remove it"),
        ("kernels { from ckb, llm }", 11, "'from ckb, llm'", "remove it, or say: from rules"),
        ("artefact { dependencies python }", 12, "an engine without tokenizers, jinja2",
         "it needs python, tokenizers, jinja2"),
        ("tokenizer { template none }", 13, "template none", "supported: template model"),
        ("sampling { min_p }", 12, "'min_p'", "remove it"),
        ("prefer { min itl }", 10, "'min itl'", "remove it"),
    ],
)  # fmt: skip
def test_refusals(parse: Parse, line: str, col: int, message: str, help: str) -> None:
    problem = unsupported(parse(LEAST + line))[0]
    assert problem.place is not None
    assert (problem.place.line, problem.place.col) == (4, col)
    assert (problem.message, problem.help) == (f"{message} is not supported yet", help)


SUPPORTED = """
model "file:a.gguf"
expect { arch == llama; layers >= 2 }
tokenizer { from model; template model; bos auto }
target cpu { isa avx2; threads 3 }
workload { context <= 64 tokens; batch <= 1; prompt <= 60 tokens; output <= 4 tokens }
degrade context { 64, 32 }
require { kv <= 4 MiB }
want { kv <= 1 MiB }
quantize { weights as_stored; acts f32; accumulate f32; softmax f32; kv f16 }
parallel { tensor 1; pipeline 1; expert 1 }
sampling { greedy; temperature; top_k; top_p; seed }
serve cli { completions; stream; stop <= 4 }
serve library { completions; stream; stop <= 4 }
cache { sliding model }
determinism { batch_invariant; seeded }
kernels { from rules }
artefact { backend c; dependencies libc, python, tokenizers, jinja2 }
"""


def test_all_that_is_supported(parse: Parse) -> None:
    assert unsupported(parse(SUPPORTED)) == []


def _examples() -> Iterator[str]:
    """The example of every key, in its section, in an engine that lacks nothing else."""
    for name, section in SECTIONS.items():
        for word, key in section.keys.items():
            operand = next(iter(key.devices or section.operands), "")
            least = LEAST if (name, word) != ("workload", "context") else LEAST.splitlines()[0]
            bound = key.example.replace("~", key.operators[0]) if key.operators else key.example
            yield f"{least}\n{name} {operand} {{ {bound} }}"


@pytest.mark.parametrize("lines", list(_examples()))
def test_every_refusal_has_a_place_a_reason_and_a_way_out(parse: Parse, lines: str) -> None:
    for problem in unsupported(parse(lines)):
        assert problem.place is not None and problem.place.line > 1
        assert problem.notes and problem.notes[0].message
        assert problem.help


@pytest.mark.parametrize("scheme", ["hf", "random"])
def test_sources_of_the_language_that_have_no_reader(parse: Parse, scheme: str) -> None:
    lines = LEAST.replace("file:a.gguf", f"{scheme}:a")
    (problem,) = unsupported(parse(lines))
    assert problem.message == f"a model from '{scheme}:' is not supported yet"
    assert problem.notes[0].message == "models come from packages and local files"


def test_what_belongs_to_a_refused_thing_is_not_refused_again(parse: Parse) -> None:
    lines = "target cuda { arch sm_90; memory 9 GiB }\nserve openai { chat; queue <= 4 }\n"
    lines += "speculate prompt_lookup { ngram 3 }\nkernels { from llm; budget 5 tokens }"
    heads = [problem.message.removesuffix(" is not supported yet")
             for problem in unsupported(parse(LEAST + lines))]  # fmt: skip
    assert heads == ["target cuda", "'serve openai'", "'speculate prompt_lookup'", "'from llm'"]


def test_every_refusal_is_reported_and_options_not_twice(parse: Parse) -> None:
    lines = "parallel { tensor 3 }\nquantize { weights w4a16 { group 32 } }\nserve openai { chat }"
    heads = [problem.message for problem in unsupported(parse(LEAST + lines))]
    supported = "is not supported yet"
    assert heads == [
        f"{what} {supported}" for what in ("tensor 3", "weights w4a16", "'serve openai'")
    ]


def test_an_option_of_a_supported_value_is_not_accepted(parse: Parse) -> None:
    module = parse(LEAST + "quantize { weights w4a16 { group 32 } }")
    for op in module.walk():
        if isinstance(op, spec.PinOp) and op.what == "weights":
            op.value_attr = StringAttr("as_stored")
    (problem,) = unsupported(module)
    assert problem.message == "weights.group 32 is not supported yet"
