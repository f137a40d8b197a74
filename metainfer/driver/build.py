"""`compile`: from a spec or a dump of any stage to an engine folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp

from metainfer.driver.session import compiler_context
from metainfer.files import atomic_dir
from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.ir.text import place_of, print_module
from metainfer.passes.context import CompilerContext
from metainfer.passes.pipelines import DEFAULT, PASSES

Report = Callable[[str], None]


@dataclass(frozen=True)
class CompileOptions:
    """How to compile: another knowledge base, a dump to start from, a C compiler."""

    ckb: Path | None = None
    start: Path | None = None
    cc: str | None = None


def read_module(path: Path, ctx: CompilerContext) -> ModuleOp:
    """The module of a `.mispec` or `.mlir` file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise error(f"{path} is not UTF-8 text (byte {problem.start})") from None
    if path.suffix == ".mispec":
        from metainfer.spec.frontend import parse_mispec

        return parse_mispec(text, str(path))
    from metainfer.ir.text import parse_module

    return parse_module(text, str(path), ctx)


def remaining_passes(module: ModuleOp) -> tuple[str, ...]:
    """The passes of the default pipeline that come after the last one that ran on `module`.

    A dump says which one that was; what its ops look like proves nothing once they are edited.
    """
    from metainfer.passes.manager import STAGE, stage_of

    stage = stage_of(module)
    if stage in DEFAULT:
        return DEFAULT[DEFAULT.index(stage) + 1 :]
    if stage is not None:
        near = did_you_mean(stage, DEFAULT) or f"the passes are {', '.join(DEFAULT)}"
        raise error(f"{STAGE} names no pass: '{stage}'", help=near)
    if any(op.name != "spec.engine" for op in module.ops):
        raise error(
            "this IR does not say which pass it comes after",
            place_of(module),
            help=f'begin it with: builtin.module attributes {{{STAGE} = "PASS"}} {{',
        )
    return DEFAULT


def compile_spec(path: Path, out: Path, options: CompileOptions, report: Report) -> Path:
    """Compile `path` (or resume from `options.start`) into the folder `out`; returns `out`.

    The folder appears when everything has been written, or not at all.
    """
    from metainfer.codegen.engine import emit_engine, write_engine
    from metainfer.driver.report import build_readme, spec_lock
    from metainfer.models.source import digest_of
    from metainfer.passes.manager import run_passes
    from metainfer.passes.resolve_model import open_model

    ctx = compiler_context(options.ckb, options.cc, report)
    module = read_module(options.start or path, ctx)
    _refuse_unregistered(module)
    dumps: dict[str, str] = {}
    names = remaining_passes(module)
    first = len(DEFAULT) - len(names)

    def keep(number: int, one: object, after: ModuleOp) -> None:
        name = getattr(one, "name", "")
        report(name)
        dumps[f"{first + number:03d}-{name}.mlir"] = print_module(after, locations=True)

    run_passes(ctx, module, [PASSES[n]()() for n in names], keep)
    assert ctx.gate is not None
    refused = ctx.gate.admit(module)
    if refused:
        name, reason = next(iter(refused.items()))
        raise error(f"kernel @{name} is not verified: {reason}")
    model = open_model(module, ctx)
    from metainfer.driver.linker import Linker

    assert isinstance(ctx.gate, Linker)
    built = emit_engine(
        module, model, digest_of(model.path), ctx.gate.compiler, ctx.knowledge, report
    )
    with atomic_dir(out) as folder:
        write_engine(built, folder)
        (folder / "ir").mkdir()
        for name, text in dumps.items():
            (folder / "ir" / name).write_text(text, encoding="utf-8")
        (folder / "spec.mispec").write_bytes(path.read_bytes())
        (folder / "spec.lock").write_text(spec_lock(module, built), encoding="utf-8")
        (folder / "README.md").write_text(build_readme(module, built, path), encoding="utf-8")
        (folder / "check.json").write_text(
            _golden(folder, built.package, built.context), encoding="utf-8"
        )
    return out


def _refuse_unregistered(module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, UnregisteredOp):
            raise error(f"unknown op {op.op_name.data}")


GOLDEN_PROMPTS = ("The capital of France is", "def add(a, b):\n    return")
_RECORD = """
import json, sys
from {package} import Engine
from {package}.text import encode
with Engine() as engine:
    prompts = [encode(p) for p in json.loads(sys.argv[1])]
    tokens = [list(engine.stream(ids, {count}, ignore_end=True)) for ids in prompts]
cases = [{{"prompt_ids": p, "tokens": t}} for p, t in zip(prompts, tokens)]
print(json.dumps({{"cases": cases}}))
"""


def _golden(folder: Path, package: str, context: int) -> str:
    """What the engine answers to fixed prompts, for `check.py` to repeat elsewhere."""
    import subprocess
    import sys

    script = _RECORD.format(package=package, count=min(16, context // 2))
    command = [sys.executable, "-c", script, json.dumps(GOLDEN_PROMPTS)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise error(f"the engine was built but does not run: {done.stderr.strip()[-500:]}")
    return done.stdout
