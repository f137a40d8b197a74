"""Target `engine`: a planned program as a folder that runs without metainfer.

Prints and packs; every decision was taken before. The same module, model and compiler give the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.program import Facts, engine_header, has_ring, model_source
from metainfer.codegen.c.sources import isa_name, kernel_files, kernel_keys, kernel_object
from metainfer.codegen.c.toolchain import Compiler
from metainfer.codegen.host.emit import HostFacts, emit_host
from metainfer.codegen.weights import packed_file, place, weights_id
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import engine, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import all_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import isa_of
from metainfer.models.checkpoint import located
from metainfer.models.template import chat_template
from metainfer.models.tensors import Checkpoint
from metainfer.models.tokenizer import tokenizer_facts, tokenizer_json
from metainfer.reports import Report
from metainfer.sealed import digest_beside


@dataclass(frozen=True)
class Engine:
    """What was written: the package, its files by path below the folder, and its ids.

    `features` are those of the host: `codegen.host.emit.FEATURES`.
    """

    package: str
    files: Mapping[str, bytes]
    weights: Path
    build_id: str
    keys: Mapping[str, str]
    context: int
    features: Set[str]


def program_of(module: ModuleOp) -> engine.ProgramOp:
    """The module's one planned program."""
    programs = all_of(module, engine.ProgramOp)
    if len(programs) != 1 or programs[0].arena is None:
        raise error("the engine target needs: run plan-memory first")
    return programs[0]


def emit_engine(
    module: ModuleOp,
    model: Checkpoint,
    digest: str,
    compiler: Compiler,
    knowledge: Knowledge,
    report: Report,
) -> Engine:
    """All files of the engine but the weights, which stay in the cache until they are placed."""
    program = program_of(module)
    keys = kernel_keys(module, compiler, knowledge)
    _check_keys(module, keys)
    package = program.package.data
    tokens = tokenizer_facts(model.metadata)
    identity = weights_id(program, module, digest)
    host_facts = _host_facts(program, model)
    host = emit_host(host_facts)
    sources = {
        **{Path(p).name: t for p, t in host.items() if p.endswith((".c", ".h"))},
        **kernel_files(module),
        "model.c": model_source(program, module),
    }
    facts = Facts(
        build_id=_hash([identity, compiler.identity, *map(str, sorted(sources.items()))])[:16],
        weights_id=identity,
        vocab=_vocab(program),
        eos_ids=tokens.eos_ids,
        cpu_features=isa_of(knowledge, isa_name(module)).features,
    )
    sources["engine.h"] = engine_header(program, facts)
    report("compiling")
    library = engine_library(sources, module, compiler, knowledge)
    with located(model):
        tokenizer = tokenizer_json(model.metadata)
    files = {path: text.encode() for path, text in host.items()}
    files |= {f"{package}/{name}": text.encode() for name, text in sources.items()}
    files[f"{package}/engine.so"] = library.read_bytes()
    files[f"{package}/tokenizer.json"] = tokenizer.encode()
    report("packing weights")
    packed = packed_file(program, module, model, identity, notice=compiler.notice)
    context, features = _context(program), host_facts.features
    return Engine(package, files, packed, facts.build_id, keys, context, features)


def _check_keys(module: ModuleOp, keys: Mapping[str, str]) -> None:
    """A key in the module is a claim; it must be the one that the text hashes to."""
    for func in all_of(module, kernel.FuncOp):
        name = func.sym_name.data
        if func.key is None or func.key.data != keys[name]:
            raise error(f"kernel @{name} does not have the key of its body: run fill-kernels")


def engine_library(
    sources: Mapping[str, str], module: ModuleOp, compiler: Compiler, knowledge: Knowledge
) -> Path:
    """`engine.so` of C files by name: one object each; kernels keep theirs, that the gate ran."""
    flags = isa_of(knowledge, isa_name(module)).flags
    headers = {n: t for n, t in sources.items() if n.endswith(".h")}
    objects = [kernel_object(module, compiler, knowledge)]
    for name in sorted(sources):
        if name.endswith(".c") and name != "kernels.c":
            # The runtime must start on any CPU, to refuse the wrong ones.
            own = flags if name == "model.c" else ()
            objects.append(compiler.object(sources[name], headers, name, own))
    return compiler.link(objects)


def _host_facts(program: engine.ProgramOp, model: Checkpoint) -> HostFacts:
    runtime = next(op for op in program.body.block.ops if isinstance(op, engine.RuntimeOp))
    words = {f.data.removeprefix("sampling.") for f in runtime.features} - {"greedy"}
    template = chat_template(model.metadata)
    facts = tokenizer_facts(model.metadata)
    names = model.metadata["tokenizer.ggml.tokens"]
    assert isinstance(names, list)
    return HostFacts(
        name=program.package.data,
        features=frozenset(words | ({"chat"} if template else set())),
        bos_id=facts.bos_id if facts.add_bos else None,
        chat_template=template,
        bos_token="" if facts.bos_id is None else str(names[facts.bos_id]),
        eos_token=str(names[facts.eos_ids[0]]) if facts.eos_ids else "",
        ring=has_ring(program),
    )


def _vocab(program: engine.ProgramOp) -> int:
    buffers = {b.sym_name.data: b for b in program.body.block.ops if isinstance(b, engine.BufferOp)}
    entry = next(op for op in program.body.block.ops if isinstance(op, engine.EntryOp))
    return int(sizes(buffers[entry.logits.root_reference.data].type)[-1])


def _context(program: engine.ProgramOp) -> int:
    slabs = [op for op in program.body.block.ops if isinstance(op, engine.StateOp)]
    return slabs[0].context.value.data


def _hash(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def write_engine(built: Engine, folder: Path, inputs: Mapping[str, str]) -> None:
    """Write every file below `folder`, with `manifest.json` over all of them and their `inputs`."""
    for path, data in built.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    place(built.weights, folder / "weights.bin")
    digests = {p: hashlib.sha256(d).hexdigest() for p, d in sorted(built.files.items())}
    packed = digest_beside(built.weights)
    assert packed is not None, "packed_file has compared or written it"
    digests["weights.bin"] = packed
    manifest = {
        "build_id": built.build_id,
        "features": sorted(built.features),
        "inputs": inputs,
        "files": digests,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
