"""What each part of a generated kernel writes is what the barrier analysis says it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tiny_pipeline import tiny_stages
from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.sources import kernel_object
from metainfer.codegen.c.toolchain import find_compiler
from metainfer.driver.providers import RuleProvider
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.knowledge.base import Knowledge
from metainfer.passes.access import Access, accesses
from metainfer.passes.context import CompilerContext
from metainfer.passes.parts import share
from metainfer.resources import ckb_dir
from metainfer.verify.binding import bind, keys_of, values_of
from metainfer.verify.cases import Case, Facts, plan_cases
from metainfer.verify.driver import Child
from metainfer.verify.execution import POISONS, Call, Output
from metainfer.verify.inputs import InputMaker

Mask = npt.NDArray[np.bool_]
MAX_PARTS = 8
NAMES = [
    f"decode_{name}"
    for name in (
        "embed rms_norm qkv rope rope_k_rot state_append attend attn_output add gate_up gated_act "
        "ffn_down select_last rms_norm_z output"
    ).split()
]


@dataclass(frozen=True)
class Built:
    """A module with bodies by rule, and the library of its kernels."""

    module: ModuleOp
    library: Path


@pytest.fixture(scope="module")
def built(tiny_cache: Path) -> Built:
    """The tiny model's kernels, compiled."""
    from tiny_pipeline import OpenGate, run

    knowledge = Knowledge(ckb_dir())
    ctx = CompilerContext()
    ctx.providers, ctx.gate = (RuleProvider(knowledge),), OpenGate()
    module = run(ctx, tiny_stages().after("outline-kernels"), "fill-kernels")
    compiler = find_compiler()
    return Built(module, compiler.link([kernel_object(module, compiler, knowledge)]))


@cache
def names_of_all() -> list[str]:
    module = tiny_stages().after("outline-kernels")
    return [f.sym_name.data for f in all_of(module, kernel.FuncOp)]


def test_every_kernel_of_the_entry_is_checked() -> None:
    assert sorted(NAMES) == sorted(n for n in names_of_all() if n.startswith("decode_"))


def predicted(access: Access, shape: tuple[int, ...], part: int, parts: int) -> Mask:
    """The elements of a (rows, columns) result that a part writes, as `access` has it."""
    found = np.zeros(shape, bool)
    if access.axis == "rows":
        first, end = share(shape[0], part, parts)
        found[first:end] = True
    elif access.axis == "columns":
        first, end = access.columns(part, parts)
        found[:, first:end] = True
    else:
        found[:] = access.axis == "all" or part == 0
    return found


def written(child: Child, call: Call, part: int, parts: int) -> Mapping[str, Mask]:
    """The elements that a part changes, by argument or result; state as (tokens, columns)."""
    raw = child.run(call.buffers(0), call.arguments, [(part, parts)], "end", POISONS[0])
    found: dict[str, Mask] = {}
    for output in call.outputs:
        role, _, name = output.name.partition(":")
        mask = output.written(raw[output.name], 0).reshape(output.shape)
        found[name] = _by_token(role, mask) | found.get(name, np.False_)
    return found


def _by_token(role: str, mask: Mask) -> Mask:
    if role == "out":
        return mask
    slab: npt.NDArray[Any] = keys_of(mask) if role == "state_k" else values_of(mask)
    positions = slab.reshape(slab.shape[0], -1)
    return np.asarray(positions[positions.any(axis=1)], bool)


def small_case(func: kernel.FuncOp, module: ModuleOp) -> Case:
    """A case of several tokens where the kernel's range has them."""
    cases = plan_cases(Facts.of(func, module))
    few = [c for c in cases if all(n <= 4 for n in c.dims.values()) and not c.exact]
    return max(few, key=lambda c: max(c.dims.values(), default=0))


def outputs(call: Call) -> Iterator[Output]:
    yield from call.outputs


@pytest.mark.parametrize("name", NAMES)
def test_parts_write_their_share_and_nothing_else(built: Built, name: str) -> None:
    func = lookup(built.module, name, kernel.FuncOp)
    case = small_case(func, built.module)
    call = bind(func, built.module, case, InputMaker(func, built.module, name).make(case))
    shares = {place: share_ for place, how, share_ in accesses(func) if how == "write"}
    assert {o.name.split(":")[1] for o in outputs(call)} == set(shares)
    with Child(built.library, name, 30.0) as child:
        for parts in range(1, MAX_PARTS + 1):
            for part in range(parts):
                for place, mask in written(child, call, part, parts).items():
                    if mask.size == 0:  # a part without work changes no token of a state
                        first, end = shares[place].columns(part, parts)
                        assert first == end
                        continue
                    wanted = predicted(shares[place], mask.shape, part, parts)
                    assert np.array_equal(mask, wanted), (parts, part, place)
