"""Units of quantities, as data: the spec language and its dialect share them."""

from __future__ import annotations

UNITS: dict[str, tuple[str, int]] = {
    "tokens": ("tokens", 1),
    "B": ("bytes", 1),
    "KiB": ("bytes", 1 << 10),
    "MiB": ("bytes", 1 << 20),
    "GiB": ("bytes", 1 << 30),
    "kB": ("bytes", 10**3),
    "MB": ("bytes", 10**6),
    "GB": ("bytes", 10**9),
    "us": ("time", 1),
    "ms": ("time", 10**3),
    "s": ("time", 10**6),
    "min": ("time", 60 * 10**6),
    "h": ("time", 3600 * 10**6),
    "%": ("share", 1),
    "MB/s": ("bandwidth", 10**6),
    "GB/s": ("bandwidth", 10**9),
    "TB/s": ("bandwidth", 10**12),
    "tokens/s": ("throughput", 1),
    "requests/s": ("rate", 1),
    "lines": ("lines", 1),
    "J/token": ("energy", 1),
    "$/Mtoken": ("cost", 1),
    "$/h": ("price", 1),
}
"""unit: (kind of quantity, how many of its base unit); the base unit of a kind comes first, save
that of bandwidth, which is B/s."""

COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
"""Operators that compare; beside them `~` states a typical value."""
