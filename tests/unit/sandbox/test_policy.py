"""The body policy: all rule-based bodies pass; each forbidden thing is found where it stands."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tiny_families import write_tiny_spec
from tiny_hf import MODELS
from tiny_pipeline import OpenGate, Stages
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.codegen.c.abi import CArg
from metainfer.codegen.c.lower import lower
from metainfer.codegen.c.program import prelude
from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.driver import linker as linker_module
from metainfer.driver.linker import Linker
from metainfer.driver.providers import RuleProvider
from metainfer.ir.diagnostics import Diagnostic
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.knowledge.contracts import Quant
from metainfer.passes.context import CompilerContext
from metainfer.passes.imports import import_format, import_layout, import_path
from metainfer.verify.sandbox.allowed import allowed_in
from metainfer.verify.sandbox.expressions import MOST_DEPTH, MOST_ELEMENTS
from metainfer.verify.sandbox.policy import body_breaches, refused_bodies
from metainfer.verify.sandbox.text import MOST_BYTES

PARAMETERS = (
    CArg("tokens", "int32_t", "dim", "tokens"),
    CArg("x", "const float *", "tensor", "x"),
    CArg("b", "const struct mi_batch *", "batch", "b"),
    CArg("y", "float *", "out", "y", writable=True),
    CArg("part", "int32_t", "part", "part"),
    CArg("parts", "int32_t", "parts", "parts"),
)


def breaches(text: str, isa: str = "generic") -> list[Diagnostic]:
    return body_breaches(text.split("\n"), PARAMETERS, allowed_in(isa), "k")


def messages(text: str, isa: str = "generic") -> list[str]:
    return [d.message.removeprefix("a kernel body may not ") for d in breaches(text, isa)]


@pytest.mark.parametrize("family", MODELS)
def test_rule_based_bodies_of_every_family_pass(family: str, tmp_path: Path) -> None:
    ctx = CompilerContext()
    ctx.providers, ctx.gate = (RuleProvider(ctx.knowledge),), OpenGate()
    spec = write_tiny_spec(tmp_path, MODELS[family], context=256)
    module = Stages(spec, ctx).after("fill-kernels")
    assert len(all_of(module, kernel.FuncOp)) > 10
    assert refused_bodies(module) == {}


MATRIX = """
kernel.func @linear(%x: tensor<?x512xf32, #infer.dims<tokens, _>>, \
%w: tensor<40x512x!infer.q<"NAME">, @rows16>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @f32_rows16} {
  %0 = infer.linear %x, %w : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
kernel.func @embed(%b: !infer.batch, %w: tensor<48x512x!infer.q<"NAME">, @rows16>) \
-> (y: tensor<?x512xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
  %0 = infer.embed %b, %w : tensor<?x512xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""


def matrix_kernels(name: str) -> ModuleOp:
    """A product and an embedding with a matrix of one format, bodies by rule."""
    ctx = CompilerContext()
    element = "f32" if name == "f32" else f'!infer.q<"{name}">'
    text = MATRIX.replace('!infer.q<"NAME">', element)
    module = parse_module(text, "test.mlir", ctx)
    import_format(module, name, ctx.knowledge)
    import_layout(module, "rows16", ctx.knowledge)
    import_path(module, "f32_rows16", ctx.knowledge)
    for func in all_of(module, kernel.FuncOp):
        func.properties["body"] = ArrayAttr([StringAttr(x) for x in lower(func, module)])
        func.properties["target"] = StringAttr("c:avx2")
    return module


def test_rule_based_bodies_for_every_format_pass() -> None:
    formats = CompilerContext().knowledge.all("quant", Quant)
    assert len(formats) > 8
    for contract in formats:
        module = matrix_kernels(contract.id.removeprefix("quant/"))
        assert refused_bodies(module) == {}, contract.id


def test_every_function_of_the_lane_library_may_be_called() -> None:
    functions = re.findall(r"^static inline \w+ (\w+)\(([^)]*)\)", prelude(), re.MULTILINE)
    assert len(functions) > 15
    calls = allowed_in("generic").calls
    for name, parameters in functions:
        kinds = "".join(_letter(p) for p in parameters.split(","))
        assert calls.get(name) == kinds, name


def _letter(parameter: str) -> str:
    if "*" not in parameter and "[" not in parameter:
        return "x"
    return "p" if "const" in parameter else "w"


GOOD = [
    "y[0] = x[0];",
    "float a[MI_LANES * 2] = {0};\nfor (int32_t i = 0, j = 1; i < 4; i++, j += 2)\n    a[i] = j;",
    "const float *rows[4] = {x, x + 8, x, x};\ny[0] = rows[part % 4][3];",
    "vf a[MI_N][2] = {{{0}}};\na[0][1] = mi_load(x);\nmi_store(&y[4], a[0][1]);",
    "const float *p = part ? x : x + 4;\nfloat *q = y;\nwhile (tokens-- > 0)\n    *q++ = *p++;",
    "// a } comment {\n/* another } */ y[0] = (float)(int32_t)x[0];",
    "(void)part;\nif (part != 0)\n    return;\nelse\n    y[0] = sqrtf(x[0]) + INFINITY;",
    "const int32_t row = b->row[0] + b->tokens;\ny[row] = x[(size_t)row * 4];",
    "int32_t i = 0;\ndo {\n    if (i == 2)\n        continue;\n    y[i] = 0;\n} while (++i < 2);",
]


@pytest.mark.parametrize("text", GOOD)
def test_ordinary_c_passes(text: str) -> None:
    assert messages(text) == []


INTRINSICS = """\
__m256 sum = _mm256_setzero_ps();
sum = _mm256_fmadd_ps(_mm256_loadu_ps(x), _mm256_set1_ps(x[0]), sum);
const __m256i bytes = _mm256_loadu_si256((const __m256i *)x);
_mm256_storeu_ps(y, _mm256_cvtepi32_ps(bytes));"""


def test_intrinsics_are_those_of_the_instruction_set() -> None:
    assert messages(INTRINSICS, "avx2") == []
    assert messages(INTRINSICS, "avx512_vnni") == []
    assert "use the type '__m256'" in messages(INTRINSICS, "generic")
    assert messages("__m512 v = _mm512_setzero_ps();", "avx2") == [
        "use the type '__m512'",
        "call '_mm512_setzero_ps'",
    ]


BAD = [
    # Text
    ("\n#include <x>", "use the preprocessor", 2, 1),
    ("y[0] = 1;\n  y %: 2;", "use the preprocessor", 2, 5),
    ("int a\\\nb;", "use a backslash", 1, 6),
    ('y[0] = "a"[0];', "use a string or character literal", 1, 8),
    ("y[0] = 'a;", "use a string or character literal", 1, 8),
    ("int é = 0;", "use a character that is not printable ASCII", 1, 5),
    ("int a<:2:>;", "use a digraph or trigraph", 1, 6),
    ("int a$;", "use a character that C does not use", 1, 6),
    ("y[0] = 0; /* } ", "leave a comment open", 1, 11),
    ("/* } */ y[0] = 0; }", "close the function it is in", 1, 19),
    ("} void evil(void) {", "close the function it is in", 1, 1),
    ("if (part) {\n    y[0] = 0;", "leave a brace open", 2, 13),
    ("y[0] = ;", "hold what is no C statement", 1, None),
    # Statements and declarations
    ("static int n;", "use a storage class", 1, 1),
    ("extern int n;", "use a storage class", 1, 1),
    ("register int n;", "use a storage class", 1, 1),
    ("volatile int n;", "use 'volatile'", 1, 1),
    ("_Thread_local int n;", "hold what is no C statement", 1, None),
    ("goto on;", "use goto", 1, 1),
    ("on: y[0] = 0;", "use a label", 1, 1),
    ("switch (part) { case 0: y[0] = 0; }", "use switch statement", 1, 1),
    ("return y[0];", "return a value", 1, 1),
    ("typedef float f;", "use a type of its own", 1, 1),
    ("struct s { int a; } v;", "use a struct", 1, 1),
    ("union u { int a; } v;", "use a union", 1, 1),
    ("enum { A } v;", "use an enum", 1, 1),
    ("FILE *f;", "use the type 'FILE'", 1, 1),
    ("unsigned long n;", "use sized type specifier", 1, 1),
    ("float f(float a) { return a; }", "use a function", 1, 1),
    ("float f(float a);", "use a function", 1, 7),
    ("float (*f)(float);", "use a function", 1, 7),
    ("float (*f)[4];", "declare a pointer to a function or an array", 1, 7),
    ("float **f;", "declare identifier", 1, 7),
    ("float a[tokens];", "have an array whose size is no constant", 1, 9),
    ("float a[2000000];", "have more than 4,194,304 bytes of arrays", 1, 7),
    ("float mi_load = 0;", "call something of its own 'mi_load'", 1, 7),
    ("float _a = 0;", "call something of its own '_a'", 1, 7),
    ("float a[1] = {[0] = 1};", "use initializer pair", 1, 15),
    ("float a __attribute__((aligned(64))) = 0;", None, 1, None),
    # Calls and names
    ("__asm__(x);", None, 1, None),
    ("system(x);", "call 'system'", 1, 1),
    ("__builtin_trap();", "call '__builtin_trap'", 1, 1),
    ("memcpy(y, x, 4);", "call 'memcpy'", 1, 1),
    ("(sqrtf)(x[0]);", "call '(sqrtf)'", 1, 1),
    ("y[0] = sqrtf;", "name 'sqrtf'", 1, 8),
    ("y[0] = errno;", "name 'errno'", 1, 8),
    ("y[0] = sqrtf(x[0], 1);", "call 'sqrtf' with 2 arguments", 1, 8),
    ("y[0] = sizeof(int);", "use sizeof", 1, 8),
    ("y[0] = ({ int i = 1; i; });", "use a statement as an expression", 1, 9),
    ("y[0] = part ?: 1;", "leave out a branch of a choice", 1, 8),
    ("y[0] = (part, 1);", "use comma expression", 1, 9),
    ("y[0] = b->secret;", "take the field 'secret'", 1, 8),
    ("y[0] = (*b).tokens;", None, 1, 8),
    ("const float *p = (const float *)b;", "use the batch but for its fields", 1, 33),
    # Pointers and values
    ("size_t n = (size_t)x;", "make a value of a pointer", 1, 12),
    ("size_t n = x;", "have a pointer where a value belongs", 1, 12),
    ("float *p = (float *)4096;", "make a pointer of a value", 1, 12),
    ("float *p = 0;", "have a value where a pointer belongs", 1, 12),
    ("float *p = y;\np = tokens;", "have a value where a pointer belongs", 2, 5),
    ("mi_store(4096, mi_set(0));", "have a value where a pointer belongs", 1, 10),
    ("mi_store(x, mi_set(0));", "write through a pointer to what is constant", 1, 10),
    ("float *p = x;", "write through a pointer to what is constant", 1, 12),
    ("float *p = (float *)x;", "write through a pointer to what is constant", 1, 12),
    ("float *p = y;\np = part ? y : x;", "write through a pointer to what is constant", 2, 5),
    ("float *p[2] = {y, y};\ny[0] = *(size_t *)p;", "make a pointer of an array of pointers", 2, 9),
    ("float *p[1] = {y};\nfloat *q = (float *)&p[0];", None, 2, 21),
    ("float *p = y;\nint64_t n = *(int64_t *)&p;", None, 2, 25),
    ("float v = 0;\nfloat *p = &v;", None, 2, 12),
    ("y[0] = x == y;", "have a pointer where a value belongs", 1, 8),
    ("y[0] = 4[x];", "have a pointer where a value belongs", 1, 10),
    ("y[0] = *tokens;", "have a value where a pointer belongs", 1, 9),
    ("if (x)\n    y[0] = 0;", "have a pointer where a value belongs", 1, None),
    # Sizes
    ("y[0] = 1." + "0" * 60 + ";", "have a literal of more than 40 characters", 1, 8),
    (
        f"float t[] = {{{', '.join(['1'] * (MOST_ELEMENTS + 1))}}};",
        f"have a table of more than {MOST_ELEMENTS} elements",
        1,
        13,
    ),
    (
        f"float t[] = {{{', '.join(['1'] * MOST_ELEMENTS)}}};\n" * 5,
        "have tables of more than 2,048 elements",
        5,
        13,
    ),
    ("y[0] = " + "(" * 90 + "1" + ")" * 90 + ";", f"nest deeper than {MOST_DEPTH}", 1, None),
    (";" * (MOST_BYTES + 1), f"be longer than {MOST_BYTES:,} characters", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line", "column"), BAD)
def test_what_is_forbidden_is_found_where_it_stands(
    text: str, message: str | None, line: int, column: int | None
) -> None:
    found = breaches(text)
    assert found
    first = found[0]
    assert first.place is not None
    assert first.place.file == "@k"
    assert first.place.line == line
    assert column in (None, first.place.col)
    if message is not None:
        assert first.message == f"a kernel body may not {message}"


MANY = 9000
DEEP = [
    f"int a = 0{', 0' * MANY};",
    f"for (a{', 0' * MANY};;) ;",
    f"y[0] = {'(' * MANY}0{')' * MANY};",
    "(" * MANY,
    f"float a[0{' + 1' * MANY}];",
    f"float a[1] = {'{' * MANY}0{'}' * MANY};",
    f"{'if (part) ' * MANY};",
    "{" * MANY + "}" * MANY,
    f"y[0] = {'-' * MANY}1;",
    f"y{'[0' * MANY}{']' * MANY};",
]


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_deep_nesting_is_a_breach(text: str) -> None:
    assert messages(text)


def test_mangled_bodies_never_break_the_checker() -> None:
    """Tokens of rule-based bodies taken out, doubled or swapped: the answer is a list."""
    rng = random.Random(4)
    bodies = [
        re.findall(r"[{}]|\w+|[^\w{}]+", "\n".join(line.data for line in func.body or ()))
        for func in all_of(matrix_kernels("q4_1"), kernel.FuncOp)
    ]
    found = set[str]()
    for _ in range(300):
        tokens = list(rng.choice(bodies))
        for _ in range(rng.randint(1, 4)):
            at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            if not {tokens[at], tokens[other]} & {"{", "}"}:
                tokens[at] = rng.choice(["", tokens[at] * 2, tokens[other]])
        found.update(messages("".join(tokens)))
    assert len(found) > 30


def test_each_breach_is_reported_with_its_line() -> None:
    found = breaches("static int n;\ny[0] = 0;\n  exit(0);\n  goto on;")
    assert [(d.place.line, d.notes[0].message) for d in found if d.place] == [
        (1, "static int n;"),
        (3, "exit(0);"),
        (4, "goto on;"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{ float *p = y; p[0] = 0; } { float p = x[0]; y[1] = p; }",
        "for (int32_t p = 0; p < 2; p++)\n    y[p] = 0;\nfloat *p = y;\np[0] = 1;",
    ],
)
def test_a_name_means_what_its_block_says(text: str) -> None:
    assert messages(text) == []


def test_a_name_ends_with_its_block() -> None:
    assert messages("{ float v = 0; y[0] = v; }\ny[1] = v;") == ["name 'v'"]


def test_a_refused_body_is_named_with_its_first_breach() -> None:
    module = matrix_kernels("q4_1")
    func = all_of(module, kernel.FuncOp)[1]
    lines: Sequence[StringAttr] = [StringAttr("y[0] = 0;"), StringAttr("  abort();")]
    func.properties["body"] = ArrayAttr(lines)
    assert refused_bodies(module) == {"embed": "@embed:2:3: a kernel body may not call 'abort'"}


def _forbidden() -> Compiler:
    raise AssertionError("a compiler is asked for")


def _module(*lines: str) -> ModuleOp:
    module = matrix_kernels("q4_1")
    for func in all_of(module, kernel.FuncOp):
        func.properties["target"] = StringAttr("c:generic")
    all_of(module, kernel.FuncOp)[1].properties["body"] = ArrayAttr([StringAttr(x) for x in lines])
    return module


def test_no_compiler_is_told_of_a_text_that_breaks_the_policy() -> None:
    linker = Linker(CompilerContext().knowledge, _forbidden, lambda message: None)
    assert linker.admit(_module("y[0] = getpid();")) == {
        "embed": "@embed:1:8: a kernel body may not call 'getpid'"
    }


def test_an_object_that_breaks_the_policy_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker_module, "refused_bodies", lambda module: {})
    monkeypatch.setattr(linker_module, "KernelGate", None)
    linker = Linker(CompilerContext().knowledge, find_compiler, lambda message: None)
    assert linker.admit(_module("static int n;", "y[0] = n++;")) == {
        "embed": "the object of the body may not have writable data ('.bss')"
    }
