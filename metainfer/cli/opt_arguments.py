"""The command line of `metainfer-opt`: every flag with its help, in groups."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

SPLIT = "// -----"
"""The line that separates the parts of a split input."""

ALIASES = {
    "--pass-statistics": "--statistics",
    "--pass-pipeline-crash-reproducer": "--crash-reproducer",
    "--mlir-generate-reproducer": "--crash-reproducer",
}
"""Spellings of mlir-opt that are not ours with `mlir-` before them."""


def mlir_spelling(argument: str) -> str:
    """Our spelling of a flag of mlir-opt: `--mlir-timing` is `--timing`."""
    if argument == "--verify-each":
        return "--verify-each=1"
    flag, equals, value = argument.partition("=")
    if not flag.startswith("--"):
        return argument
    bare = ALIASES.get(flag) or re.sub("^--mlir-", "--", flag)
    return ALIASES.get(bare, bare) + equals + value


def argument_parser() -> argparse.ArgumentParser:
    """The parser of all flags; values are checked for their form only."""
    parser = argparse.ArgumentParser(
        prog="metainfer-opt",
        usage="metainfer-opt [FILE] [-p PASSES] [flags]",
        description="Run passes on a .mispec file or on IR, and print the IR that results. "
        "Quiet unless asked: dumps and reports go to standard error, IR to standard output.",
        epilog="mlir-opt's --mlir-* spellings are understood as well.",
        allow_abbrev=False,
    )
    _input(parser)
    _passes(parser)
    _information(parser)
    _checks(parser)
    _output(parser)
    _dumps(parser)
    _measures(parser)
    _failures(parser)
    _running(parser)
    return parser


def _flag(group: argparse._ArgumentGroup, name: str, text: str) -> None:
    group.add_argument(name, action="store_true", help=text)


def _input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="FILE.mispec, FILE.mlir, or - for IR on standard input (default)",
    )
    group = parser.add_argument_group("input")
    group.add_argument("--ckb", type=Path, metavar="DIR", help="contracts of yours, laid over ours")
    group.add_argument("--cc", metavar="CMD", help="the C compiler that fill-kernels uses")
    group.add_argument(
        "--load-pass-plugin",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.py",
        help="add the passes that a Python file lists in PASSES; the file is run",
    )
    _flag(
        group,
        "--split-input-file",
        f"take the parts between lines '{SPLIT}' as inputs of their own",
    )
    _flag(
        group,
        "--verify-diagnostics",
        "check that exactly the diagnostics of 'expected-error {{...}}' comments come",
    )
    _flag(
        group,
        "--allow-unregistered-dialect",
        "accept ops and attributes of dialects that nobody registered, in generic form",
    )


def _passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("passes")
    group.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        default="",
        metavar="PASSES",
        help="passes and pipelines to run, in order: 'pass,pass{option=1 other=a,b}'",
    )
    _flag(group, "--dump-pass-pipeline", "print the passes that will run, with their options")
    group.add_argument(
        "--rewrite-limit",
        type=_count,
        metavar="N",
        help="stop rewriting after N rewrites of the run; what is not optional goes on",
    )


def _information(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("information (print and exit)")
    _flag(group, "--list-passes", "every pass: summary, precondition, options")
    _flag(group, "--list-pipelines", "every pipeline and the passes that it stands for")
    _flag(group, "--show-dialects", "every dialect that input may use")
    group.add_argument(
        "--help-pass",
        metavar="PASS",
        help="one pass in full: before and after, each option with its meaning",
    )


def _checks(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("checks after every pass")
    group.add_argument(
        "--verify-each",
        default=True,
        type=_boolean,
        metavar="0|1",
        help="verify the input and what each pass made (default: 1)",
    )
    _flag(
        group,
        "--verify-roundtrip",
        "print, parse and compare, in custom and generic form with locations",
    )
    _flag(
        group,
        "--validate",
        "interpret the module before and after the pass on drawn inputs; results must agree",
    )


def _output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("printing")
    group.add_argument("-o", "--output", type=Path, metavar="OUT", help="write here, not to stdout")
    _flag(group, "--print-op-generic", "print every op in generic form")
    _flag(group, "--print-debuginfo", "print locations")
    _flag(group, "--print-value-users", "say after each op who uses its results")
    _flag(group, "--elide-bodies", "print one line instead of each kernel's body")
    group.add_argument(
        "--only", type=_symbols, default=(), metavar="@A,@B", help="print these symbols only"
    )


def _dumps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("IR between passes (to standard error)")
    for when in ("before", "after"):
        group.add_argument(
            f"--print-ir-{when}",
            type=_names,
            default=(),
            metavar="PASS,PASS",
            help=f"print the IR {when} these passes",
        )
        _flag(group, f"--print-ir-{when}-all", f"print the IR {when} every pass")
    _flag(
        group,
        "--print-ir-after-change",
        "print after a pass only if it changed the IR; alone: after every such pass",
    )
    _flag(group, "--print-ir-after-failure", "print what a failing pass left behind")
    _flag(group, "--print-ir-diff", "print what each pass changed as a diff")
    group.add_argument(
        "--print-ir-tree-dir",
        type=Path,
        metavar="DIR",
        help="write the IR after every pass to DIR/NNN-pass.mlir",
    )


def _measures(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("measures (to standard error)")
    _flag(group, "--timing", "where the time went, as a tree")
    _flag(group, "--statistics", "ops before and after each pass, and which rules fired how often")


def _failures(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("failures")
    group.add_argument(
        "--crash-reproducer",
        type=Path,
        metavar="FILE",
        help="if a pass fails, write the IR before it, under the command that runs the rest",
    )
    _flag(group, "--run-reproducer", "run the passes that the header of FILE names")
    _flag(
        group, "--bisect-passes", "name the first pass, and rewrite, that fails or breaks a check"
    )
    _flag(group, "--reduce", "print the smallest input that still fails in the same way")
    group.add_argument(
        "--check-command",
        metavar="CMD",
        help="for the two above: a shell command that fails on bad IR; %%s is a file of it",
    )


def _running(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running IR")
    group.add_argument(
        "--run", type=_symbol, metavar="@FUNC", help="interpret a function of the result"
    )
    group.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="VALUE",
        help="an argument: X.npy, random, integers, ids:1,2,3@POSITION, empty or STATE.npz",
    )
    group.add_argument(
        "--mode",
        choices=("value", "magnitude", "exact"),
        default="value",
        help="values alone, with the error that a float32 engine may have, or with where it may "
        "have none",
    )
    _flag(group, "--trace", "print every op's results to standard error")
    group.add_argument("--layer", type=_count, metavar="N", help="the layer to run a function for")
    group.add_argument(
        "--dim",
        action="append",
        default=[],
        type=_dimension,
        metavar="NAME=N",
        help="size of a named dimension of random arguments",
    )
    group.add_argument("--seed", type=int, default=0, help="for everything drawn (default: 0)")
    group.add_argument(
        "--weights",
        choices=("model", "random"),
        default="model",
        help="those of the spec's model if it has one (default), or drawn ones",
    )
    group.add_argument(
        "--equiv",
        nargs=2,
        type=Path,
        metavar=("A", "B"),
        help="interpret the functions of two files on drawn inputs; name the first op that differs",
    )
    _flag(group, "--barriers", "print what would race without each barrier of the program")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 on")
    return int(text)


def _boolean(text: str) -> bool:
    known = {"1": True, "true": True, "0": False, "false": False}
    if text not in known:
        raise argparse.ArgumentTypeError(f"'{text}' is neither 0 nor 1")
    return known[text]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _symbol(text: str) -> str:
    if not text.startswith("@") or len(text) == 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no symbol: write @{text.strip('@')}")
    return text[1:]


def _symbols(text: str) -> tuple[str, ...]:
    return tuple(_symbol(part) for part in text.split(","))


def _dimension(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    return name, _count(size)
