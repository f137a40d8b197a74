"""What GGUF files leave to their reader: pre-tokenizers by name, end tokens, byte letters.

A GGUF file names its pre-tokenizer (`tokenizer.ggml.pre`) and says nothing more; the patterns are
those of the models' own `tokenizer.json` in the form that llama.cpp uses, which is the reference.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PreTokenizer:
    """How text is cut into words before merging.

    The `patterns` (Oniguruma) apply one after the other, each to the pieces left by the one before;
    what a pattern does not match stays as a piece. `ignore_merges`: a word that is in the
    vocabulary is one token, whatever the merges say. `add_bos`: the default when the file has no
    `tokenizer.ggml.add_bos_token`.
    """

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    add_bos: bool = False


_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Spelled out instead of `(?i:...)`, which would also take the long s for an s.
_CONTRACTION = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN2 = _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + _REST
_LLAMA3 = _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + _REST

PRE_TOKENIZERS = {
    "gpt-2": PreTokenizer((_GPT2,)),
    "smollm": PreTokenizer((r"\p{N}", _GPT2)),
    "qwen2": PreTokenizer((_QWEN2,)),
    "llama-bpe": PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True),
}

END_TEXTS = frozenset(
    """
    <|im_end|> <|endoftext|> <|end_of_text|> <|eot_id|> <|eom_id|> <|end|> <|return|> <|call|>
    <|flush|> <|calls|> <end_of_turn> <end_of_utterance> <EOT> _<EOT> [EOT] [EOS] <eos> <turn|>
    <|tool_response> <｜end▁of▁sentence｜> [e~[
    """.split()
)
"""Tokens that end an answer although files often name only one of them; always special."""

CONTROL_TEXTS = END_TEXTS | frozenset(
    """
    </s>
    <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>
    <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>
    <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>
    <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]
    <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>
    <|file_sep|>
    """.split()
)
"""Control tokens whatever type is stored, as in llama.cpp: the ends and fill-in-the-middle marks.

`</s>` is among them but ends an answer only where the file says so: Gemma's is the HTML tag.
"""

_PRINTABLE = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))


def _byte_letters() -> tuple[str, ...]:
    printable = {byte for part in _PRINTABLE for byte in part}
    others = [byte for byte in range(256) if byte not in printable]
    return tuple(
        chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256)
    )


BYTE_LETTERS = _byte_letters()
"""The letter that stands for each byte in the tokens of byte-level BPE (GPT-2's mapping)."""
