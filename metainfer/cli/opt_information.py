"""What `metainfer-opt` can say about itself: passes, pipelines, dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import did_you_mean, error

if TYPE_CHECKING:
    from metainfer.cli.pipeline import PassTable


def list_passes(table: PassTable) -> str:
    """Every pass with summary, precondition and options."""
    from metainfer.cli.pipeline import describe_passes

    return describe_passes(table)


def list_pipelines(pipelines: Mapping[str, Sequence[str]], summaries: Mapping[str, str]) -> str:
    """Every pipeline with the passes that it stands for, as `-p` takes them."""
    lines = []
    for name, passes in pipelines.items():
        lines.append(f"{name:<12} {summaries[name]}")
        lines.append(f"  {','.join(passes)}")
    return "\n".join(lines)


def help_pass(name: str, table: PassTable) -> str:
    """One pass in full."""
    from metainfer.passes.describe import help_text, pass_info

    if name not in table:
        raise error(
            f"unknown pass '{name}'",
            help=did_you_mean(name, table) or "metainfer-opt --list-passes names them all",
        )
    return help_text(pass_info(table[name]()))


def show_dialects() -> str:
    """The names of all dialects, as mlir-opt prints them."""
    from metainfer.ir.dialects.register import DIALECTS

    return f"Available Dialects: {', '.join(sorted(DIALECTS))}"
