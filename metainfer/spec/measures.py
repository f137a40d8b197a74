"""What can be promised of a finished engine: the keys of `require` and `want`."""

from __future__ import annotations

from collections.abc import Mapping

from metainfer.spec.vocabulary import PERCENTILES, Key


def _bytes(doc: str, name: str) -> Key:
    return Key("number", doc, f"{name} <= 64 MiB", operators=("<=",), quantity="bytes")


def _latency(doc: str, name: str, load: str) -> Key:
    return Key(
        "number",
        doc,
        f"{name}.p95 <= 25 ms @ {load}",
        operators=("<=",),
        quantity="time",
        aspects=PERCENTILES,
        load="must",
    )


MEASURES: Mapping[str, Key] = {
    "memory": _bytes("Peak resident memory of the serving process and its children.", "memory"),
    "weights": _bytes("Packed weights.", "weights"),
    "kv": _bytes("Keys and values of all sequences at their bound.", "kv"),
    "workspace": _bytes("Buffers between kernels.", "workspace"),
    "disk": _bytes("The engine's folder.", "disk"),
    "source": Key(
        "number", "Generated source.", "source <= 2500 lines", operators=("<=",), quantity="lines"
    ),
    "startup": Key(
        "number", "From the start of the process to the first request.", "startup <= 1 s",
        operators=("<=",), quantity="time",
    ),
    "ttft": _latency("Time to the first token.", "ttft", "prompt 512"),
    "itl": _latency("Time between two tokens.", "itl", "context 1024"),
    "e2e": _latency("Time of a whole request.", "e2e", "prompt 512, output 128"),
    "throughput": Key(
        "number", "Tokens generated for one user or for all, or prompt tokens read, in a second.",
        "throughput.user >= 60 tokens/s @ context 1024",
        operators=(">=",), quantity="throughput", fractional=True,
        aspects=("user", "total", "prefill"), load="may",
    ),
    "kl": Key(
        "number", "Mean divergence of the next token's distribution, in nats.",
        "kl <= 0.02 vs reference", operators=("<=",), fractional=True, versus=True,
    ),
    "top1": Key(
        "number", "How often the likeliest token is the reference's.",
        "top1 >= 97 % vs reference", operators=(">=",), quantity="share", fractional=True,
        versus=True,
    ),
    "perplexity": Key(
        "number", "Perplexity on a text, divided by the reference's.",
        "perplexity <= 1.02 vs reference", operators=("<=",), fractional=True, versus=True,
    ),
    "greedy": Key(
        "number", "Greedy tokens that are exactly the reference's.",
        "greedy >= 64 tokens vs reference", operators=(">=",), quantity="tokens", versus=True,
    ),
    "energy": Key(
        "number", "Energy of a token.", "energy <= 5 J/token", operators=("<=",),
        quantity="energy", fractional=True, load="may",
    ),
    "cost": Key(
        "number", "Price of a million tokens.", "cost <= 0.4 $/Mtoken", operators=("<=",),
        quantity="cost", fractional=True, load="may",
    ),
}  # fmt: skip
