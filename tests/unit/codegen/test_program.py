"""C text of kernels and program: signatures, bodies, offsets, and which entry a step takes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from random_programs import program_of
from tiny_pipeline import OpenGate, run, tiny_stages, two_kinds_stages
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.codegen.c.abi import prototype, signature
from metainfer.codegen.c.lower import lower
from metainfer.codegen.c.program import Facts, engine_header, model_source
from metainfer.codegen.c.sources import isa_name, kernel_files, kernel_keys
from metainfer.codegen.c.toolchain import FLAGS, Compiler, find_compiler
from metainfer.codegen.engine import program_of as planned_program
from metainfer.driver.providers import RuleProvider
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import host_isa, isa_of
from metainfer.passes.context import CompilerContext
from metainfer.resources import ckb_dir

KNOWLEDGE = Knowledge(ckb_dir())


def built(kinds: bool = False) -> ModuleOp:
    """A planned module whose bodies are written by rule; nothing is compiled."""
    ctx = CompilerContext()
    ctx.providers, ctx.gate = (RuleProvider(KNOWLEDGE),), OpenGate()
    stages = two_kinds_stages() if kinds else tiny_stages()
    return run(ctx, stages.after("outline-kernels"), "fill-kernels,schedule,plan-memory")


def kernels(module: ModuleOp) -> dict[str, kernel.FuncOp]:
    return {f.sym_name.data: f for f in all_of(module, kernel.FuncOp)}


SIGNATURES = """
decode_add: int32_t tokens, const float *a_in, const float *b_in, float *result
decode_rms_norm: int32_t tokens, const float *x_in, const float *weight, float *result
decode_ffn_down: int32_t tokens, const float *x_in, const _Float16 *weight_d, \
const _Float16 *weight_m, const uint8_t *weight_qs, float *result
decode_select_last: int32_t tokens, int32_t seqs, const float *x_in, \
const struct mi_batch *batch, float *result
decode_state_append: int32_t tokens, float *state_k, float *state_v, const float *k_in, \
const float *v_in, const struct mi_batch *batch
decode_attend: int32_t tokens, const float *q_in, const float *state_k, const float *state_v, \
const struct mi_batch *batch, float *result
"""


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signatures_follow_from_the_kernel(line: str) -> None:
    name, declarations = line.split(": ")
    module = tiny_stages().after("outline-kernels")
    func = kernels(module)[name]
    found = ", ".join(a.declaration() for a in signature(func, module))
    assert found == f"{declarations}, int32_t part, int32_t parts"
    text = prototype(func, module)
    assert " ".join(text.split()) == f"void {name}({found})"
    assert max(map(len, text.split("\n"))) <= 100


def test_a_state_of_halves_is_passed_as_halves() -> None:
    stages = tiny_stages()
    module = stages.before("apply-quantization")
    run(
        stages.ctx, module,
        "apply-quantization{kv=f16},specialize-entries,fuse,select-layouts,outline-kernels",
    )  # fmt: skip
    args = signature(kernels(module)["decode_attend"], module)
    assert [a.ctype for a in args if a.role.startswith("state")] == ["const _Float16 *"] * 2


def facts() -> Facts:
    return Facts("0123abcd", "ff" * 32, 301, (2, 7), ("avx2", "fma"))


def macros(text: str) -> dict[str, str]:
    found = re.findall(r"^#define MI_(\w+) (.*?)(?: /\*.*\*/)?$", text, re.M)
    return dict(found)


def test_the_header_s_constants_are_the_program_s() -> None:
    module = built()
    program = program_of(module)
    assert program.arena and program.weights and program.states
    found = macros(engine_header(program, facts()))
    assert found["BUILD_ID"] == '"0123abcd"' and found["WEIGHTS_ID"] == f'"{"ff" * 32}"'
    numbers = {k: int(v.removesuffix("UL")) for k, v in found.items() if v[0].isdigit()}
    assert numbers["VOCAB"] == 301 and numbers["CONTEXT"] == 64
    assert numbers["CHUNK"] == 64 and numbers["MAX_THREADS"] == 2
    assert numbers["WEIGHTS_BYTES"] == program.weights.value.data
    assert numbers["STATE_BYTES"] == program.states.value.data
    assert numbers["ARENA_BYTES"] == program.arena.value.data
    assert numbers["LOGITS_OFFSET"] == 0 and numbers["EOS_COUNT"] == 2
    assert found["EOS_IDS"] == "{2, 7}" and found["CPU_FEATURES"] == '"avx2 fma"'


def statements(text: str, function: str) -> list[str]:
    """Names of the functions called in a C function, in order."""
    body = re.search(rf"^\S.*\b{function}\([^;]*?\)\n?\{{\n(.*?)^\}}", text, re.M | re.S)
    assert body is not None, function
    return re.findall(r"^    (\w+)\(", body[1], re.M)


def test_the_c_program_runs_calls_and_barriers_in_the_ir_s_order() -> None:
    module = built()
    program = program_of(module)
    text = model_source(program, module)
    for block in program.body.block.ops:
        if not isinstance(block, engine.BlockOp):
            continue
        wanted = [
            op.callee.root_reference.data if isinstance(op, engine.CallOp) else "mi_barrier"
            for op in block.body.block.ops
            if isinstance(op, engine.CallOp | engine.BarrierOp)
        ]
        assert statements(text, block.sym_name.data) == wanted


@pytest.mark.parametrize("kinds", [False, True])
def test_all_c_text_is_clean_under_every_warning(kinds: bool, tmp_path: Path) -> None:
    module = built(kinds)
    program = planned_program(module)
    files = kernel_files(module)
    files |= {"engine.h": engine_header(program, facts()), "model.c": model_source(program, module)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    flags = isa_of(KNOWLEDGE, isa_name(module)).flags
    for name in ("kernels.c", "model.c"):
        command = [*find_compiler().command, *FLAGS, *flags, "-Werror", "-fsyntax-only", name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_instruction_set_is_the_decided_one() -> None:
    module = built()
    assert isa_name(module) == host_isa(KNOWLEDGE)
    funcs = list(kernels(module).values())
    funcs[0].properties["target"] = StringAttr("c:generic")
    with pytest.raises(DiagnosticError, match="bodies for 2 targets in one module"):
        isa_name(module)
    for func in funcs:
        func.properties["target"] = StringAttr("ptx:sm_90")
    with pytest.raises(DiagnosticError, match="no toolchain for bodies in 'ptx'"):
        isa_name(module)


def keys(module: ModuleOp) -> dict[str, str]:
    compiler = Compiler(("cc",))
    return dict(kernel_keys(module, compiler, KNOWLEDGE))


def test_a_key_covers_what_a_body_must_do_and_how_it_is_built() -> None:
    module = built()
    before = keys(module)
    assert len(set(before.values())) == len(before)
    func = kernels(module)["decode_add"]
    assert func.body is not None

    func.properties["body"] = ArrayAttr([*func.body, StringAttr("/* one line more */")])
    changed = {n for n, key in keys(module).items() if key != before[n]}
    assert changed == {"decode_add"}

    layout = lookup(module, "rows16", infer.LayoutOp)
    layout.properties["hash"] = StringAttr("another contract")
    assert {n for n, key in keys(module).items() if key != before[n]} == set(before)


def test_a_key_does_not_cover_names() -> None:
    module = built()
    before = keys(module)
    kernels(module)["decode_add"].properties["sym_name"] = StringAttr("decode_plus")
    after = keys(module)
    assert after["decode_plus"] == before["decode_add"]


def test_ops_that_feed_each_other_are_left_to_the_first_part() -> None:
    module = tiny_stages().after("outline-kernels")
    func = kernels(module)["decode_add"]
    add = func.semantics.block.first_op
    assert isinstance(add, infer.AddOp)
    func.properties["parts"] = StringAttr("none")
    assert lower(func, module)[:3] == ["if (part != 0)", "    return;", "parts = 1;"]


def test_what_stays_inside_a_group_has_no_memory() -> None:
    module = tiny_stages().after("outline-kernels")
    func = kernels(module)["decode_add"]
    add = func.semantics.block.first_op
    assert isinstance(add, infer.AddOp)
    inner = add.clone()
    func.semantics.block.insert_op_before(inner, add)
    with pytest.raises(DiagnosticError, match=r"the result of infer\.add stays inside its group"):
        lower(func, module)


def test_an_op_without_a_lowering_is_named() -> None:
    module = tiny_stages().after("outline-kernels")
    func = kernels(module)["decode_add"]
    last = func.semantics.block.last_op
    assert last is not None
    func.semantics.block.insert_op_before(engine.BarrierOp.create(), last)
    with pytest.raises(DiagnosticError, match=r"no C lowering for engine\.barrier"):
        lower(func, module)


def test_a_program_without_offsets_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="the engine target needs: run plan-memory first"):
        planned_program(tiny_stages().after("schedule"))
