"""`metainfer ckb …`: reading, checking and questioning the contract knowledge base."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from metainfer.cli.boundary import DONE, REJECTED, guarded
from metainfer.cli.progress import progress_of
from metainfer.cli.table import format_table
from metainfer.ir.diagnostics import render

Ckb = Annotated[
    Path | None, typer.Option("--ckb", metavar="DIR", help="Contracts of yours, laid over ours.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_WIDTH = 100
"""Columns of a table's last cell before it is cut; `--json` has all of it."""

ckb_app = typer.Typer(
    name="ckb",
    help="Read, check and question the contract knowledge base.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(ckb_app)


@ckb_app.command("lint")
def lint_command(
    ckb: Ckb = None,
    json: Json = False,
    seal: Annotated[
        bool,
        typer.Option("--seal", help="First write our contracts' digests and JSON Schemas anew."),
    ] = False,
) -> None:
    """Check every contract: schema, ids, references, units, overlaps, fragments, digests."""

    def body() -> int:
        from metainfer.driver.ckb.lint import lint
        from metainfer.driver.ckb.lint import seal as write

        knowledge = _knowledge(ckb)
        for path in write(knowledge) if seal else ():
            print(f"wrote {path}", file=sys.stderr)
        found = lint(knowledge)
        if json:
            _print_json([{"message": d.message, "text": render(d)} for d in found])
        else:
            for diagnostic in found:
                print(render(diagnostic), file=sys.stderr)
            print(f"{len(knowledge.folders)} contracts, {len(found)} problems")
        return REJECTED if found else DONE

    _finish(body)


@ckb_app.command("list")
def list_command(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="Only of this kind.")] = None,
    ckb: Ckb = None,
    json: Json = False,
) -> None:
    """List the contracts in use."""

    def body() -> int:
        from metainfer.driver.ckb.describe import listing

        _print_records(listing(_knowledge(ckb), kind), json)
        return DONE

    _finish(body)


@ckb_app.command("show")
def show_command(
    id_: Annotated[str, typer.Argument(metavar="ID", help="KIND/NAME of a contract.")],
    ckb: Ckb = None,
    json: Json = False,
) -> None:
    """Print a contract as it stands in its files."""

    def body() -> int:
        from metainfer.driver.ckb.describe import as_data, as_text

        knowledge = _knowledge(ckb)
        if json:
            _print_json(as_data(id_, knowledge))
        else:
            print(as_text(id_, knowledge))
        return DONE

    _finish(body)


@ckb_app.command("explain")
def explain_command(
    what: Annotated[str, typer.Argument(metavar="ID|OP", help="A contract, or an op of the IR.")],
    ckb: Ckb = None,
) -> None:
    """Say what a contract or an op means, why it has to be said, and what speaks of it."""

    def body() -> int:
        from metainfer.driver.ckb.describe import explain_contract, explain_op

        knowledge = _knowledge(ckb)
        known = "/" in what
        print(explain_contract(what, knowledge) if known else explain_op(what, knowledge))
        return DONE

    _finish(body)


@ckb_app.command("coverage")
def coverage_command(
    source: Annotated[
        str, typer.Argument(metavar="SPEC|MODEL", help="A .mispec file, or a model's source.")
    ],
    ckb: Ckb = None,
    json: Json = False,
) -> None:
    """Print what a model needs and which of it has no contract or no body with evidence here."""

    def body() -> int:
        from metainfer.driver.ckb.coverage import coverage

        rows = coverage(source, ckb)
        _print_records([row.as_dict() for row in rows], json)
        return REJECTED if any(row.missing for row in rows) else DONE

    _finish(body)


@ckb_app.command("verify")
def verify_command(
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this format's contract.")
    ] = None,
    ckb: Ckb = None,
    cc: Annotated[
        str | None, typer.Option("--cc", metavar="COMMAND", help="The C compiler.")
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Verify the kernels that the contracts lead to, with an empty cache."""

    def body() -> int:
        from metainfer.driver.ckb.reverify import verify

        with progress_of(quiet, False) as progress:
            results = verify(ckb, cc, id_, progress.stage)
        _print_records([result.as_dict() for result in results], json)
        return REJECTED if any(result.problem for result in results) else DONE

    _finish(body)


@ckb_app.command("why")
def why_command(
    kernel: Annotated[
        str, typer.Argument(metavar="BUILD:KERNEL", help="An engine folder and one of its kernels.")
    ],
    ckb: Ckb = None,
    json: Json = False,
) -> None:
    """Say what a kernel of an engine does, who wrote it, and on what evidence it runs."""

    def body() -> int:
        from metainfer.driver.ckb.why import why

        found = why(kernel, ckb)
        if json:
            _print_json(found)
        else:
            print("\n".join(_lines(found, "")))
        return DONE

    _finish(body)


def _knowledge(ckb: Path | None) -> Any:
    from metainfer.driver.session import reading_context

    return reading_context(ckb).knowledge


def _lines(value: dict[str, Any], indent: str) -> list[str]:
    """`key: value` lines; what is in an object is indented below its key."""
    lines = []
    for key, inner in value.items():
        if isinstance(inner, dict):
            lines += [f"{indent}{key}:", *_lines(inner, f"{indent}  ")]
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            lines.append(f"{indent}{key}:")
            for item in inner:
                first, *rest = _lines(item, f"{indent}    ")
                lines += [f"{indent}  - {first.strip()}", *rest]
        elif inner not in (None, "", [], ()):
            text = ", ".join(map(str, inner)) if isinstance(inner, list | tuple) else str(inner)
            lines += [f"{indent}{key}: " + text.replace("\n", f"\n{indent}  ")]
    return lines


def _print_records(records: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        _print_json(records)
        return
    for record in records:
        for key, value in record.items():
            if isinstance(value, str) and len(value) > _WIDTH:
                record[key] = f"{value[: _WIDTH - 1]}…"
    print(format_table(records))


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _finish(body: Callable[[], int]) -> None:
    raise typer.Exit(guarded(body))
