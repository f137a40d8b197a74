"""`metainfer verify`: how good the verifier is, measured by wrong kernels, passes and contracts."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer

from metainfer.cli.boundary import DONE, guarded
from metainfer.cli.progress import progress_of
from metainfer.ir.diagnostics import error
from metainfer.reports import Report

Mutation = Annotated[
    bool,
    typer.Option(
        "--mutation-report",
        help="Put wrong bodies, passes and contracts to the gates, and correct bodies too.",
    ),
]
Kernels = Annotated[int, typer.Option("--kernels", help="Kernel mutants at least.", min=0)]
Passes = Annotated[int, typer.Option("--passes", help="Pass and contract mutants.", min=0)]
Seeds = Annotated[int, typer.Option("--seeds", help="Seeds of each correct body.", min=1)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def verify_command(
    mutation_report: Mutation = False,
    kernels: Kernels = 600,
    passes: Passes = 300,
    seeds: Seeds = 1000,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the verifier itself: mutants killed, correct bodies refused."""

    def body() -> int:
        if not mutation_report:
            raise error("nothing to do", help="metainfer verify --mutation-report")
        with progress_of(quiet, True) as progress:
            found = _report(kernels, passes, seeds, progress.stage)
        print(json_text.dumps(found, indent=1) if json else _text(found))
        return DONE

    raise typer.Exit(guarded(body))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify_command)


def _report(kernels: int, passes: int, seeds: int, report: Report) -> dict[str, Any]:
    from metainfer.codegen.c.toolchain import find_compiler
    from metainfer.driver.mutation.passes import pass_report
    from metainfer.knowledge.base import Knowledge
    from metainfer.knowledge.isa import host_isa
    from metainfer.resources import ckb_dir
    from metainfer.verify.mutation.report import (
        LEAST,
        LEAST_SUBTLE,
        Setting,
        Size,
        mutation_report,
    )

    knowledge = Knowledge(ckb_dir())
    setting = Setting(find_compiler(), knowledge, f"c:{host_isa(knowledge)}")
    size = Size(kernels, LEAST_SUBTLE * kernels // LEAST, seeds)
    # First, since it forks: later this process has threads.
    of_passes = pass_report(passes, report)
    return mutation_report(setting, size, report).as_json() | {"passes": of_passes}


def _text(found: dict[str, Any]) -> str:
    blind, correct, passes = found["blind"], found["correct"], found["passes"]
    subtle = f"{found['subtle_killed']} of {found['subtle']} that allclose(1e-2) accepts"
    seeds = f"{correct['bodies']}, {correct['seeds']} seeds each"
    lines = [
        f"kernel mutants: {_share(found)}; {subtle}; {found['equivalent']} equivalent",
        f"wrong bodies by hand: {_share(blind)}",
        f"pass and contract mutants: {_share(passes)}; {passes['equivalent']} equivalent",
        f"correct bodies: {seeds}, {found['false_rejections']} refused",
        "killed by: " + ", ".join(f"{n} {k}" for n, k in found["per_stage"].items()),
    ]
    survivors = [*found["survivors"], *blind["survivors"]]
    for one in survivors:
        where = f"{one['kernel']}:{one['line']}"
        lines.append(f"survived: {where}: {one['operator']}: {one['before']} -> {one['after']}")
    return "\n".join(lines)


def _share(counts: dict[str, Any]) -> str:
    killed, total = counts["killed"], counts["total"]
    share = 100 * killed / total if total else 100.0
    return f"{killed} of {total} killed ({share:.1f} %)"
