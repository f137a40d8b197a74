"""`ckb coverage`: what of a spec or a model has no contract, or no body with evidence here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType

from metainfer.codegen.c.lower import LOWERINGS
from metainfer.codegen.c.sources import LANGUAGE, kernel_keys
from metainfer.codegen.c.toolchain import find_compiler
from metainfer.driver.ckb.describe import contracts_of
from metainfer.driver.linker import EVIDENCE
from metainfer.driver.providers import RuleProvider
from metainfer.driver.session import reading_context
from metainfer.driver.source import read_module
from metainfer.files import cache_dir
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Family, Quant
from metainfer.knowledge.isa import host_isa
from metainfer.models.checkpoint import open_checkpoint
from metainfer.models.source import resolve_source
from metainfer.models.tensors import Checkpoint, TensorFormat
from metainfer.passes.context import CompilerContext
from metainfer.passes.manager import run_passes
from metainfer.passes.pipelines import DEFAULT, PASSES
from metainfer.passes.resolve_model import config_maps, model_path, split_layer, tensor_formats
from metainfer.spec.frontend import parse_mispec
from metainfer.verify.evidence import EvidenceStore

_LAST = "outline-kernels"
_SPEC = """engine coverage {{
  model "{model}"
  target cpu {{ isa auto }}
  workload {{ context <= 64 tokens; batch <= 1 }}
}}
"""


@dataclass(frozen=True)
class Row:
    """One thing that a model needs."""

    what: str
    """`family`, `format`, or an op of the IR."""
    name: str
    """The architecture, the format, or format and target of a kernel."""
    used: str
    """By what: how many tensors, or which kernels."""
    contracts: tuple[str, ...]
    body: str
    """`verified` here, `unverified`, `none`, or nothing where none is needed."""
    missing: str

    def as_dict(self) -> dict[str, object]:
        """The row as plain data."""
        return asdict(self)


def coverage(source: str, ckb: Path | None = None) -> list[Row]:
    """A row per need of a `.mispec` file or a model source; those with `missing` are gaps.

    The ops of the IR are listed once every tensor and the family have their contracts: without
    them there is no IR.
    """
    ctx = reading_context(ckb)
    is_spec = source.endswith(".mispec")
    name = "coverage.mispec"
    uri = source if source.startswith(("pypi:", "file:")) else f"file:{source}"
    if is_spec:
        ctx.base = Path(source).parent
        module = read_module(Path(source), ctx)
        path = model_path(module, ctx)
    else:
        path = resolve_source(uri, None)
        module = parse_mispec(_SPEC.format(model=f"file:{path.resolve()}"), name)
    needs = [*_model_rows(_any_checkpoint(path, ctx.knowledge), ctx.knowledge)]
    if any(row.missing for row in needs):
        return needs
    run_passes(ctx, module, [PASSES[n]()() for n in DEFAULT[: DEFAULT.index(_LAST) + 1]])
    return [*needs, *_op_rows(module, ctx)]


class _AnyFormat(dict[int, TensorFormat]):
    """Formats by number, with a name for each that no contract describes."""

    def __missing__(self, number: int) -> TensorFormat:
        return TensorFormat(f"type {number}", number, 1, 0)

    def __contains__(self, number: object) -> bool:
        return True

    def get(self, number: int, default: object = None) -> TensorFormat:
        return self[number]


def _any_checkpoint(path: Path, knowledge: Knowledge) -> Checkpoint:
    formats = _AnyFormat(tensor_formats(knowledge))
    return open_checkpoint(path, formats, lambda: config_maps(knowledge))


def _model_rows(model: Checkpoint, knowledge: Knowledge) -> Iterator[Row]:
    arch = str(model.metadata.get("general.architecture"))
    family = next((f for f in knowledge.all("family", Family) if arch in f.arch), None)
    if family is None:
        patterns = sorted({split_layer(name)[0] for name in model.tensors})
        tensors = f"{len(patterns)} kinds of tensors: {', '.join(patterns)}"
        missing = "a family contract that names it, and a weight_map for its tensors"
        yield Row("family", arch, tensors, (), "", missing)
    else:
        yield Row("family", arch, "the model", (family.id, family.weight_map), "", "")
    known = {q.id.split("/")[1]: q.id for q in knowledge.all("quant", Quant)}
    by_format: dict[str, list[str]] = {}
    for name, tensor in model.tensors.items():
        by_format.setdefault(tensor.format.name, []).append(name)
    for format_, names in sorted(by_format.items()):
        used = f"{len(names)} tensors, the first {names[0]}"
        contracts = (known[format_],) if format_ in known else ()
        missing = "" if contracts else f"a quant contract with the type_id of GGUF's {format_}"
        yield Row("format", format_, used, contracts, "", missing)


def _op_rows(module: ModuleOp, ctx: CompilerContext) -> Iterator[Row]:
    """A row for each op, its weight's format and the target, over all kernels that have it."""
    target = f"{LANGUAGE}:{host_isa(ctx.knowledge)}"
    bodies = _bodies(module, ctx)
    found: dict[tuple[str, str], list[kernel.FuncOp]] = {}
    for func in all_of(module, kernel.FuncOp):
        for op in list(func.semantics.block.ops)[:-1]:
            found.setdefault((op.name, _format_of(func)), []).append(func)
    for (name, format_), kernels in sorted(found.items()):
        contracts = _contracts(name, format_, module, ctx.knowledge)
        states = {bodies(func) for func in kernels}
        body = next(s for s in ("none", "unverified", "verified") if s in states)
        yield Row(
            name,
            f"{format_ or 'no weight'}, {target}",
            ", ".join(dict.fromkeys(func.sym_name.data for func in kernels)),
            contracts,
            body,
            _missing(contracts, body),
        )


def _format_of(func: kernel.FuncOp) -> str:
    """Formats of the packed weights of a kernel."""
    weights = [t for t in func.function_type.inputs if isinstance(t, TensorType)]
    names = [
        t.element_type.format.data for t in weights if isinstance(t.element_type, infer.QuantType)
    ]
    return ", ".join(dict.fromkeys(names))


def _contracts(op: str, format_: str, module: ModuleOp, knowledge: Knowledge) -> tuple[str, ...]:
    """Contracts in use in the module that speak of an op on a format."""
    imported = [
        o for o in module.ops if isinstance(o, infer.FormatOp | infer.LayoutOp | infer.PathOp)
    ]
    unused = {o.contract.data for o in imported if isinstance(o, infer.FormatOp)} - {
        f"quant/{name}" for name in format_.split(", ")
    }
    used = {o.contract.data for o in imported} - unused
    return tuple(c.id for c in contracts_of(op, knowledge) if c.id in used)


def _missing(contracts: tuple[str, ...], body: str) -> str:
    gaps = []
    if not any(id_.startswith("numeric_path/") for id_ in contracts):
        gaps.append("a numeric_path that says how it rounds")
    if body == "none":
        gaps.append("a body: no contract has one and no rule lowers it")
    return "; ".join(gaps)


def _bodies(module: ModuleOp, ctx: CompilerContext) -> Callable[[kernel.FuncOp], str]:
    """Whether a kernel's rule-based body has evidence on this machine."""
    rules, lowered = RuleProvider(ctx.knowledge), set[str]()
    for func in all_of(module, kernel.FuncOp):
        if all(type(op) in LOWERINGS for op in list(func.semantics.block.ops)[:-1]):
            body = rules.propose(func, module)
            func.properties["body"] = ArrayAttr([StringAttr(line) for line in body.lines])
            func.properties["target"] = StringAttr(body.target)
            lowered.add(func.sym_name.data)
    store = EvidenceStore(cache_dir() / EVIDENCE)
    keys = kernel_keys(module, find_compiler(), ctx.knowledge) if lowered else {}

    def state(func: kernel.FuncOp) -> str:
        name = func.sym_name.data
        if name not in lowered:
            return "none"
        return "verified" if store.lookup(keys[name]).verdict else "unverified"

    return state
