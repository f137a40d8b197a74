"""llama.cpp as an oracle: tokens, and logits in float32 arithmetic, through its C interface."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from tests.oracle.gelu import gelu_of_this_build

CONTEXT = 512
"""Positions of the KV cache, and the most tokens of one call."""
F32 = 0  # GGML_TYPE_F32
FLASH_ATTENTION_OFF = 0  # LLAMA_FLASH_ATTN_TYPE_DISABLED


def _drop(_level: int, _text: bytes, _data: ctypes.c_void_p) -> None:
    """Drop a log line of llama.cpp."""


# llama.cpp keeps the pointer, so the callback lives as long as this module.
_QUIET = api.llama_log_callback(_drop)


class Llama:
    """One model file with one sequence. `vocab_only` loads the tokenizer and no weights."""

    def __init__(
        self, path: Path, *, context: int = CONTEXT, threads: int = 1, vocab_only: bool = False
    ) -> None:
        api.llama_log_set(_QUIET, ctypes.c_void_p(0))
        api.llama_backend_init()
        wanted = api.llama_model_default_params()
        wanted.vocab_only = vocab_only
        self._model = api.llama_model_load_from_file(str(path).encode(), wanted)
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        self._vocab = api.llama_model_get_vocab(self._model)
        self.vocab_size: int = api.llama_vocab_n_tokens(self._vocab)
        self._context = None if vocab_only else self._new_context(context, threads)

    def _new_context(self, context: int, threads: int) -> Any:
        """A context whose KV cache is float32 and whose attention is not the fused kind."""
        wanted = api.llama_context_default_params()
        wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = context
        wanted.n_threads = wanted.n_threads_batch = threads
        wanted.type_k = wanted.type_v = F32
        wanted.flash_attn_type = FLASH_ATTENTION_OFF
        made = api.llama_init_from_model(self._model, wanted)
        if not made:
            raise RuntimeError("llama.cpp cannot make a context")
        return made

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of `text`; nothing is added, markers are text unless `special`."""
        raw = text.encode()
        room = len(raw) + 8
        ids = (api.llama_token * room)()
        count = api.llama_tokenize(self._vocab, raw, len(raw), ids, room, False, special)
        if count < 0:
            raise RuntimeError(f"llama.cpp needs {-count} tokens where {room} were expected")
        return list(ids[:count])

    def begin(self) -> list[int]:
        """The token that begins every text, where the model has one."""
        if not api.llama_vocab_get_add_bos(self._vocab):
            return []
        return [int(api.llama_vocab_bos(self._vocab))]

    def reset(self) -> None:
        """Forget everything fed so far."""
        api.llama_memory_clear(api.llama_get_memory(self._context), True)

    def feed(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Append `ids` to the sequence; the logits, (vocab,), after the last of them."""
        tokens = (api.llama_token * len(ids))(*ids)
        self._decode(api.llama_batch_get_one(tokens, len(ids)))
        return self._logits(-1)

    def feed_each(self, ids: Sequence[int], start: int) -> Iterator[NDArray[np.float32]]:
        """Append `ids` from position `start` on in one step; the logits after each of them."""
        batch = api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i] = token, start + i
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
            batch.logits[i] = True
        self._decode(batch)
        api.llama_batch_free(batch)
        for i in range(len(ids)):
            yield self._logits(i)

    def _decode(self, batch: Any) -> None:
        if code := api.llama_decode(self._context, batch):
            raise RuntimeError(f"llama_decode returned {code}")

    def _logits(self, index: int) -> NDArray[np.float32]:
        row = api.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(row, (self.vocab_size,)).copy()


def versions() -> dict[str, str]:
    """The programs behind a recording, with the CPU features that llama.cpp was built to use."""
    names = ("llama-cpp-python", "gguf", "numpy")
    found = {name: version(name) for name in names}
    system = api.llama_print_system_info().decode().strip()
    return {**found, "system": system, "gelu": gelu_of_this_build()}
