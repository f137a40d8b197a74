"""Every word of the language and what may follow it, as data.

A new section, key or unit is a line here. A word that is listed belongs to the language: it is
parsed, typed and unit-checked. Whether something can be built from it is the business of `support`.
"""

from __future__ import annotations

from collections.abc import Mapping

from metainfer.ir.units import COMPARISONS
from metainfer.spec.measures import MEASURES
from metainfer.spec.vocabulary import Key, Section

DTYPES = ("f32", "f16", "bf16", "int8", "fp8")
FORMATS = tuple("f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k".split())
"""Formats that a checkpoint can store a tensor in; each has a contract in `ckb/quant`."""
SCHEMES = ("w4a16", "w8a16", "w8a8", "fp8")
"""Schemes that quantise anew."""


def _flag(doc: str, name: str) -> Key:
    return Key("flag", doc, name, operators=())


def _fact(doc: str, name: str) -> Key:
    return Key("number", doc, f"{name} == 32", operators=COMPARISONS)


def _tokens(doc: str, name: str, operators: tuple[str, ...] = ("<=", "~")) -> Key:
    return Key(
        "number", doc, f"{name} {operators[-1]} 512 tokens", operators=operators, quantity="tokens"
    )


def _number(doc: str, name: str) -> Key:
    return Key("number", doc, f"{name} <= 4", operators=("<=", "~"))


def _most(doc: str, name: str) -> Key:
    return Key("number", doc, f"{name} <= 4", operators=("<=",))


def _bytes(doc: str, name: str) -> Key:
    return Key("number", doc, f"{name} <= 64 MiB", operators=("<=",), quantity="bytes")


def _count(doc: str, name: str) -> Key:
    return Key("count", doc, f"{name} 2")


def _dtype(doc: str, name: str) -> Key:
    return Key("word", doc, f"{name} f16", words=DTYPES)


EXPECT = Section(
    "block",
    "Assertions on the model: compiling fails where one does not hold.",
    {
        "arch": Key(
            "word",
            "Family of the model, as its file names it.",
            "arch == llama",
            operators=("==", "!="),
        ),
        "layers": _fact("Number of blocks.", "layers"),
        "hidden": _fact("Width of the residual stream.", "hidden"),
        "ffn_dim": _fact("Inner width of the feed-forward.", "ffn_dim"),
        "q_heads": _fact("Number of query heads.", "q_heads"),
        "kv_heads": _fact("Number of key and value heads.", "kv_heads"),
        "head_dim": _fact("Width of a head.", "head_dim"),
        "vocab": _fact("Number of tokens in the vocabulary.", "vocab"),
        "max_context": _fact("Positions that the model was made for.", "max_context"),
        "window": _fact("Keys that a layer with a window sees.", "window"),
        "experts": _fact("Number of experts of a layer that routes.", "experts"),
    },
    op="expect",
)

TOKENIZER = Section(
    "block",
    "Where the tokenizer and the chat template come from.",
    {
        "from": Key(
            "word", "The tokenizer: the model's, or a file.", "from model", words=("model",),
            text=True,
        ),
        "template": Key(
            "word", "The chat template: the model's, none, or a file.", "template none",
            words=("model", "none"), text=True,
        ),
        "bos": Key(
            "word", "Whether a begin token is put first: as the model says, or never.",
            "bos auto", words=("auto", "never"),
        ),
    },
    prefix="tokenizer",
)  # fmt: skip

TARGET = Section(
    "block",
    "The machine that the engine runs on.",
    {
        "isa": Key(
            "word", "Instruction set of the CPU; `auto` takes that of this machine.", "isa auto",
            words=("auto", "avx2", "avx512_vnni"), devices=("cpu",),
        ),
        "threads": Key("count", "Threads to compute with.", "threads 2", devices=("cpu",)),
        "cores": Key("number", "Cores of the machine.", "cores 2", devices=("cpu",)),
        "arch": Key("word", "Architecture of the GPU.", "arch sm_90", devices=("cuda",)),
        "devices": Key("number", "GPUs of the machine.", "devices 1", devices=("cuda",)),
        "memory": Key("number", "Memory of the device.", "memory 16 GiB", quantity="bytes"),
        "bandwidth": Key(
            "number", "What the memory delivers.", "bandwidth 40 GB/s", quantity="bandwidth",
            fractional=True,
        ),
        "price": Key(
            "number", "What the machine costs; a bound on `cost` needs it.", "price 0.5 $/h",
            quantity="price", fractional=True,
        ),
    },
    operands=("cpu", "cuda"),
    operand="a device",
)  # fmt: skip

WORKLOAD = Section(
    "block",
    "Demands: with `<=` the engine serves every value up to the bound, `~` is a typical value.",
    {
        "context": _tokens("Prompt and generated tokens of a sequence together.", "context"),
        "batch": _number("Sequences that are computed at once.", "batch"),
        "concurrency": _number("Requests that are in flight at once.", "concurrency"),
        "prompt": _tokens("Tokens of a prompt.", "prompt"),
        "output": _tokens("Tokens that are generated for a prompt.", "output"),
        "prefix": _tokens("Tokens that all prompts begin with.", "prefix", ("~",)),
        "rate": Key(
            "number", "Requests that arrive.", "rate ~ 4 requests/s", operators=("<=", "~"),
            quantity="rate", fractional=True,
        ),
    },
    op="demand",
    exclusive=(("concurrency", "rate"),),
)  # fmt: skip

QUANTIZE = Section(
    "block",
    "Number formats: a pin leaves the planner no choice.",
    {
        "weights": Key(
            "word",
            "Format of the weights: as the file has them, one format, or a scheme.",
            "weights w4a16 { group 64 }",
            words=("as_stored", *FORMATS, *SCHEMES),
            options={
                "group": Key("count", "Weights that share a scale.", "group 64"),
                "zero": Key(
                    "word", "Whether zero is in the middle of the range.", "zero symmetric",
                    words=("symmetric", "asymmetric"),
                ),
            },
            with_options=SCHEMES,
            exceptions=FORMATS,
        ),
        "acts": _dtype("Activations between kernels.", "acts"),
        "accumulate": _dtype("Sums inside a kernel.", "accumulate"),
        "softmax": _dtype("Scores and weights of attention.", "softmax"),
        "kv": _dtype("Keys and values that are kept.", "kv"),
    },
)  # fmt: skip

PARALLEL = Section(
    "block",
    "How the work is divided between devices or processes.",
    {
        "tensor": _count("Ranks that share every layer.", "tensor"),
        "pipeline": _count("Ranks that have layers of their own.", "pipeline"),
        "expert": _count("Ranks that have experts of their own.", "expert"),
    },
)

SCHEDULE = Section(
    "block",
    "How requests are cut into steps.",
    {"step": _tokens("Tokens of one step; a longer prompt is cut.", "step", ("==", "<="))},
    prefix="schedule",
)

SAMPLING = Section(
    "block",
    "Ways to choose the next token; what is not listed is off.",
    {
        "greedy": _flag("The likeliest token.", "greedy"),
        "temperature": _flag("Sharper or flatter probabilities.", "temperature"),
        "top_k": _flag("Only the K likeliest tokens.", "top_k"),
        "top_p": _flag("Only the likeliest tokens that have this probability.", "top_p"),
        "min_p": _flag("Only tokens near the likeliest.", "min_p"),
        "penalties": _flag("Tokens that are there already become less likely.", "penalties"),
        "logit_bias": _flag("Scores that a request adds.", "logit_bias"),
        "seed": _flag("The same seed gives the same answer.", "seed"),
        "n": _most("Answers to one prompt.", "n"),
    },
    prefix="sampling",
)

SERVE = Section(
    "block",
    "A surface that answers requests, and what it offers; what is not listed is off.",
    {
        "chat": _flag("Messages through the chat template.", "chat"),
        "completions": _flag("Text that is continued.", "completions"),
        "embeddings": _flag("Vectors for texts.", "embeddings"),
        "tokenize": _flag("Tokens of a text.", "tokenize"),
        "stream": _flag("Tokens as they come.", "stream"),
        "json_schema": _flag("Answers that a schema admits.", "json_schema"),
        "stop": _most("Texts that end an answer.", "stop"),
        "logprobs": _most("Likeliest tokens to tell with each token.", "logprobs"),
        "queue": _most("Requests that wait; one more is turned away.", "queue"),
        "timeout": Key(
            "number", "Time that a request may take.", "timeout 60 s", quantity="time"
        ),
        "too_long": Key(
            "word", "What happens to a prompt beyond the context.", "too_long refuse",
            words=("refuse", "cut"),
        ),
        "health": _flag("An address that says whether the engine is up.", "health"),
        "metrics": _flag("Counters and times in a text format.", "metrics"),
        "drain": Key(
            "number", "Time that running requests have when the server ends.", "drain 10 s",
            quantity="time",
        ),
        "api_key": Key(
            "text", "Name of the environment variable with the key.", 'api_key "ENGINE_KEY"'
        ),
        "bind": Key("text", "Address and port.", 'bind "127.0.0.1:8080"'),
    },
    operands=("openai", "cli", "library"),
    operand="a surface",
    prefix="serve",
)  # fmt: skip

CACHE = Section(
    "block",
    "What is kept between requests.",
    {
        "prefix": _bytes("Keys and values of prompts that begin alike.", "prefix"),
        "sliding": Key(
            "word", "Layers with a window keep no more than it: as the model says, or never.",
            "sliding model", words=("model", "never"),
        ),
    },
    prefix="cache",
)  # fmt: skip

SPECULATE = Section(
    "block",
    "Guessing tokens ahead; the answer stays the same.",
    {
        "ngram": Key("number", "Tokens that are looked up.", "ngram 3"),
        "draft": Key("number", "Tokens that are guessed.", "draft 4"),
    },
    operands=("prompt_lookup",),
    operand="a method",
    prefix="speculate",
)

ADAPTERS = Section(
    "block",
    "Low-rank changes to the weights.",
    {"merge": Key("texts", "Files to add to the weights.", 'merge "a.safetensors"')},
    prefix="adapters",
)

DETERMINISM = Section(
    "block",
    "What must not change an answer's bits.",
    {
        "batch_invariant": _flag(
            "Which other requests run at the same time; this always holds.", "batch_invariant"
        ),
        "seeded": _flag("Anything but the seed, where tokens are sampled.", "seeded"),
        "same_isa": _flag("Which machine with the instruction set runs it.", "same_isa"),
    },
    prefix="determinism",
)

KERNELS = Section(
    "block",
    "Who may write kernels, and what that may cost.",
    {
        "from": Key(
            "words", "Authors, in order: contracts, a language model, rules.", "from ckb, llm",
            words=("ckb", "llm", "rules"),
        ),
        "budget": Key(
            "amounts", "Most tokens and time for a language model.", "budget 200k tokens, 10 min",
            operators=("==", "<="), quantities=("tokens", "time"),
        ),
    },
    prefix="kernels",
)  # fmt: skip

ARTEFACT = Section(
    "block",
    "What the engine is written in and what it needs.",
    {
        "backend": Key(
            "word", "Language of the kernels.", "backend c", words=("c", "triton", "torch")
        ),
        "dependencies": Key(
            "words", "All that the engine may need to run.", "dependencies python, tokenizers",
            words=("libc", "python", "numpy", "tokenizers", "jinja2", "torch", "triton"),
        ),
    },
    prefix="artefact",
)  # fmt: skip

VERIFY = Section(
    "block",
    "How much is checked before an engine is accepted.",
    {
        "layers": Key("word", "Layers to compare with the reference.", "layers all",
                      words=("all", "ends")),
        "generated": _tokens("Greedy tokens to compare with the reference.", "generated",
                             ("==", ">=")),
    },
    prefix="verify",
)  # fmt: skip

SECURITY = Section(
    "block",
    "Bounds on input that is not trusted.",
    {
        "request": _bytes("Largest request that is read.", "request"),
        "model_file": _bytes("Largest model file that is read.", "model_file"),
    },
    prefix="security",
)

SECTIONS: Mapping[str, Section] = {
    "model": Section("text", "The checkpoint: a package file, a local file or a random model."),
    "sha256": Section("text", "Digest of the whole model file, right after the model."),
    "expect": EXPECT,
    "tokenizer": TOKENIZER,
    "target": TARGET,
    "workload": WORKLOAD,
    "degrade": Section(
        "degrade",
        "Values that a demand may shrink to where it cannot be met, in order of preference.",
        operands=("context", "batch"),
        operand="a demand",
    ),
    "require": Section(
        "block",
        "Guarantees: where one cannot be given, there is no engine.",
        MEASURES,
        op="require",
    ),
    "want": Section(
        "block",
        "Wishes: where one is not met, the build warns and records by how much.",
        MEASURES,
        op="want",
    ),
    "prefer": Section(
        "objectives",
        "Objectives; a later one decides only where the earlier ones are equal.",
    ),
    "quantize": QUANTIZE,
    "parallel": PARALLEL,
    "schedule": SCHEDULE,
    "sampling": SAMPLING,
    "serve": SERVE,
    "cache": CACHE,
    "speculate": SPECULATE,
    "adapters": ADAPTERS,
    "determinism": DETERMINISM,
    "kernels": KERNELS,
    "artefact": ARTEFACT,
    "verify": VERIFY,
    "security": SECURITY,
}

LOADS: Mapping[str, Key] = {
    name: WORKLOAD.keys[name] for name in ("prompt", "output", "context", "batch", "concurrency")
}
"""What may stand after `@`."""

DEGRADABLE: Mapping[str, Key] = {name: WORKLOAD.keys[name] for name in SECTIONS["degrade"].operands}


def sections_with(word: str) -> list[str]:
    """Sections that have `word` as a key."""
    return [name for name, section in SECTIONS.items() if word in section.keys]


def key_of(keys: Mapping[str, Key], word: str) -> Key | None:
    """The key that `word` names, with an aspect or without: `itl.p95` is a form of `itl`."""
    return keys.get(word.split(".", 1)[0])
