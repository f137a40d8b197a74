"""The eight prompts that engines and references are compared on: varied, short, fixed for good.

A prompt is text as the model sees it: the chat prompt carries its ChatML markers written out, and
is the only one whose special tokens are parsed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """A named prompt; `special` says whether markers such as `<|im_start|>` become their tokens."""

    name: str
    text: str
    special: bool = False


PROMPTS = (
    Prompt(
        "code",
        'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n    if n < 2:\n'
        "        return n\n",
    ),
    Prompt(
        "unicode",
        "Ünïcödé test: naïve café — “smart quotes”, π ≈ 3.14, ∑ x² → ∞, 😀👩\u200d💻 and",
    ),
    Prompt("digits", "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144,"),
    Prompt(
        "chat",
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nWhy is the sky blue? Answer in two sentences.<|im_end|>\n"
        "<|im_start|>assistant\n",
        special=True,
    ),
    Prompt(
        "prose",
        "The old lighthouse stood at the end of the pier, and every evening its keeper climbed the "
        "narrow stairs to",
    ),
    Prompt("list", "Three things to pack for a hike in the mountains:\n1. Water\n2."),
    Prompt("json", '{"name": "Ada", "age": 36, "languages": ["English", "French"], "address": {'),
    Prompt(
        "multilingual", "English: Good morning. Français : Bonjour. Deutsch: Guten Morgen. Español:"
    ),
)
