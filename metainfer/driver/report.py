"""What a build says of itself: `README.md` for people, `spec.lock` for machines."""

from __future__ import annotations

import json
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.engine import Engine, program_of
from metainfer.driver.explain import Decision, decisions_of
from metainfer.ir.dialects import infer, kernel, spec
from metainfer.ir.symbols import all_of


def spec_lock(module: ModuleOp, built: Engine) -> str:
    """Decisions, contract hashes and kernel keys; no timings, so equal builds have equal locks."""
    contracts = {
        op.contract.data: op.hash.data
        for op in module.ops
        if isinstance(op, infer.FormatOp | infer.LayoutOp | infer.PathOp)
    }
    models = [
        m
        for e in all_of(module, spec.EngineOp)
        for m in e.body.block.ops
        if isinstance(m, spec.ModelOp)
    ]
    lock = {
        "model": models[0].digest.data if models and models[0].digest else None,
        "build_id": built.build_id,
        "decisions": decisions_of(module),
        "contracts": dict(sorted(contracts.items())),
        "kernels": {
            f.sym_name.data: {
                "by": f.provider.data if f.provider else "",
                "key": built.keys[f.sym_name.data],
            }
            for f in all_of(module, kernel.FuncOp)
        },
    }
    return json.dumps(lock, indent=1, ensure_ascii=False) + "\n"


def lines_by_part(built: Engine) -> dict[str, int]:
    """Lines of the engine package's text; `kernels` is what bodies are made of and called by."""
    parts: dict[str, int] = {}
    own = {p: d for p, d in built.files.items() if p.startswith(f"{built.package}/")}
    for path, data in own.items():
        name = Path(path).name
        if not name.endswith((".c", ".h", ".py")):
            continue
        part = (
            "kernels" if name in ("kernels.c", "kernels.h", "lanes.h", "batch.h") else _part(name)
        )
        parts[part] = parts.get(part, 0) + data.count(b"\n")
    return parts


def _part(name: str) -> str:
    if name in ("model.c", "engine.h"):
        return "model"
    return "runtime" if name.endswith((".c", ".h")) else "host"


def build_readme(module: ModuleOp, built: Engine, source: Path) -> str:
    """What was asked, what was decided and why, and how to use the result."""
    program = program_of(module)
    assert program.weights and program.states and program.arena
    name = built.package
    lines = lines_by_part(built)
    sizes = [
        ("weights", program.weights.value.data),
        ("state", program.states.value.data),
        ("buffers", program.arena.value.data),
    ]
    text = [
        f"# {name}",
        "",
        f"An inference engine made from `{source.name}` (here as `spec.mispec`).",
        f"Build {built.build_id}.",
        "",
        "```",
        f'python -m {name} run --prompt "..."     answer a prompt',
        "python check.py                     check every file and the recorded answers",
        "```",
        "",
        "It needs Python with `tokenizers` (and `jinja2` for chat), and a CPU with the features",
        "that `engine.h` names.",
        "",
        "## Memory",
        "",
        *(f"- {what}: {size:,} bytes" for what, size in sizes),
        "",
        "## Lines",
        "",
        *(f"- {part}: {count}" for part, count in sorted(lines.items())),
        f"- without kernels: {sum(n for part, n in lines.items() if part != 'kernels')}",
        "",
        "## Decisions",
        "",
        "| site | what | value | right | by | because |",
        "|---|---|---|---|---|---|",
        *(_row(d) for d in decisions_of(module)),
    ]
    return "\n".join(text) + "\n"


def _row(decision: Decision) -> str:
    cells = (decision["site"], decision["what"], decision["value"], decision["right"],
             decision["by"], decision["because"])  # fmt: skip
    return f"| {' | '.join(cells)} |"
