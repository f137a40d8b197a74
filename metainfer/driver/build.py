"""`compile`: from a spec or a dump of any stage to an engine folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp

from metainfer.codegen.engine import Engine, emit_engine, write_engine
from metainfer.driver.ckb.detectors import faults
from metainfer.driver.fresh import inputs_of, model_inputs
from metainfer.driver.linker import Linker
from metainfer.driver.program_check import CheckProgram
from metainfer.driver.report import build_readme, spec_lock
from metainfer.driver.session import compiler_context
from metainfer.driver.source import (
    decode_source,
    parse_source,
    read_module,
    read_source,
    with_used,
)
from metainfer.driver.target import engine_target, writing
from metainfer.files import atomic_dir, cache_dir
from metainfer.ir.diagnostics import Diagnostic, did_you_mean, error, render
from metainfer.ir.text import place_of, print_module
from metainfer.knowledge.lock import check_shipped
from metainfer.models.source import Progress, digest_of
from metainfer.passes.context import CompilerContext
from metainfer.passes.instruments.base import Instrument, Step
from metainfer.passes.instruments.checks import Verify
from metainfer.passes.manager import STAGE, run_passes, stage_of
from metainfer.passes.pipelines import DEFAULT, PASSES
from metainfer.passes.resolve_model import model_path, open_model
from metainfer.passes.settle import warnings_of
from metainfer.reports import Report
from metainfer.spec.view import SpecView

__all__ = ["CompileOptions", "compile_spec", "read_module", "remaining_passes"]


def to_stderr(warning: Diagnostic) -> None:
    """Print a warning where errors are printed."""
    print(render(warning), file=sys.stderr)


@dataclass(frozen=True)
class CompileOptions:
    """How to compile: contracts over ours, a dump to start from, a C compiler.

    If `strict`, a body whose evidence does not hold is an error; else another takes its place.
    `fetched` is called with the bytes done, and those in all if known, while a model is downloaded.
    """

    ckb: Path | None = None
    start: Path | None = None
    cc: str | None = None
    strict: bool = False
    fetched: Progress | None = None
    warn: Callable[[Diagnostic], None] = to_stderr
    """Called with every demand that shrank, every wish that is not met, everything replaced."""

    def warn_of(self, message: str) -> None:
        """Warn without a place."""
        self.warn(Diagnostic(message, severity="warning"))


def remaining_passes(module: ModuleOp) -> tuple[str, ...]:
    """The passes of the default pipeline that come after the last one that ran on `module`.

    A dump says which one that was; what its ops look like proves nothing once they are edited.
    """
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
    target = engine_target(out)
    spec = read_source(path, ".mispec")
    dump = read_source(options.start, ".mlir") if options.start else None
    ctx = compiler_context(options.ckb, options.cc, report, options.warn_of, options.strict)
    check_shipped(ctx.knowledge)
    ctx.base = path.parent
    module = _parse(options.start or path, spec if dump is None else dump, ctx)
    linker = ctx.gate
    assert isinstance(linker, Linker)
    # Before the model is fetched, which is of no use without a compiler.
    inputs = inputs_of(with_used(spec, path), dump, ctx.knowledge, linker.compiler)
    model_path(module, ctx, options.fetched)
    dumps = _run_passes(module, ctx, report)
    for warning in (*warnings_of(module), *faults(module, ctx.knowledge)):
        options.warn(warning)
    with writing(cache_dir()):
        linker.link(module)
        model = open_model(module, ctx)
        digest = digest_of(model.path)
        built = emit_engine(module, model, digest, linker.compiler, ctx.knowledge, report)
    inputs |= model_inputs(SpecView(module).model.uri.data, digest)
    with writing(out), atomic_dir(target) as folder:
        write_engine(built, folder, inputs)
        _write_rest(built, folder, module, dumps, spec, path)
    return out


def _parse(path: Path, raw: bytes, ctx: CompilerContext) -> ModuleOp:
    module = parse_source(decode_source(raw, str(path)), str(path), ctx)
    _refuse_unregistered(module)
    return module


def _run_passes(module: ModuleOp, ctx: CompilerContext, report: Report) -> dict[str, str]:
    """Run the passes that `module` still needs; the IR after each, by file name."""
    names = remaining_passes(module)
    kept = _KeepDumps(len(DEFAULT) - len(names), report)
    checks = [Verify(), CheckProgram()]
    run_passes(ctx, module, [PASSES[n]()() for n in names], instruments=[kept], checks=checks)
    return kept.dumps


@dataclass
class _KeepDumps(Instrument):
    """Reports each pass that is done, and keeps what it made; numbers go on from `first`."""

    first: int
    report: Report
    dumps: dict[str, str] = field(default_factory=dict)

    def after(self, step: Step) -> None:
        self.report(step.name)
        name = f"{self.first + step.number:03d}-{step.name}.mlir"
        self.dumps[name] = print_module(step.module, locations=True)


def _write_rest(
    built: Engine,
    folder: Path,
    module: ModuleOp,
    dumps: Mapping[str, str],
    spec: bytes,
    path: Path,
) -> None:
    """What is beside the engine's own files: IR, spec, lock, README and the recorded answers."""
    (folder / "ir").mkdir()
    for name, text in dumps.items():
        (folder / "ir" / name).write_text(text, encoding="utf-8")
    (folder / "spec.mispec").write_bytes(spec)
    (folder / "spec.lock").write_text(spec_lock(module, built), encoding="utf-8")
    (folder / "README.md").write_text(build_readme(module, built, path), encoding="utf-8")
    golden = _golden(folder, built.package, built.context)
    (folder / "check.json").write_text(golden, encoding="utf-8")


def _refuse_unregistered(module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, UnregisteredOp):
            raise error(f"unknown op {op.op_name.data}")


GOLDEN_PROMPTS = ("The capital of France is", "def add(a, b):\n    return")
GOLDEN_SECONDS = 600
"""Far more than the slowest machine needs for a model that is of any use on it."""
_RECORD = """
import json, sys
from {package} import Engine
from {package}.text import encode
with Engine() as engine:
    prompts = [encode(p)[:{count}] for p in json.loads(sys.argv[1])]
    tokens = [list(engine.stream(ids, {count}, ignore_end=True)) for ids in prompts]
cases = [{{"prompt_ids": p, "tokens": t}} for p, t in zip(prompts, tokens)]
print(json.dumps({{"cases": cases}}))
"""


def _golden(folder: Path, package: str, context: int) -> str:
    """What the engine answers to fixed prompts, for `check.py` to repeat elsewhere."""
    script = _RECORD.format(package=package, count=min(16, context // 2))
    # -B: byte code holds time stamps, and equal builds are equal byte for byte.
    command = [sys.executable, "-B", "-c", script, json.dumps(GOLDEN_PROMPTS)]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=GOLDEN_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise error(f"the engine was built but did not answer in {GOLDEN_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.strip()[-500:] or f"it ended with status {done.returncode}"
        raise error(f"the engine was built but does not run: {said}")
    return done.stdout
