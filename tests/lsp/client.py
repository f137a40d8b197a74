"""A small editor: talks to the language server over its standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

Message = dict[str, Any]
ROOT = Path(__file__).parents[2]


class Editor:
    """One server process with one client; use it as a context manager."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "metainfer.lsp"]
        self._server = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._number = 0
        self.versions: dict[str, int] = {}

    def __enter__(self) -> Editor:
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.notify("initialized", {})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.code = self._server.wait(timeout=30)
        else:
            self._server.kill()
        for pipe in (self._server.stdin, self._server.stdout, self._server.stderr):
            if pipe is not None:
                pipe.close()

    # --- documents ---

    def open(self, uri: str, text: str) -> list[Message]:
        """Open a document; its diagnostics."""
        self.versions[uri] = 1
        item = {"uri": uri, "languageId": "mispec", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return self.diagnostics(uri)

    def change(self, uri: str, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Replace a range, lines and columns from 0, without waiting for an answer."""
        self.versions[uri] += 1
        span = {"start": _position(start), "end": _position(end)}
        document = {"uri": uri, "version": self.versions[uri]}
        changes = [{"range": span, "text": text}]
        params = {"textDocument": document, "contentChanges": changes}
        self.notify("textDocument/didChange", params)

    def diagnostics(self, uri: str) -> list[Message]:
        """The diagnostics of the document's newest version, when they come."""

        def fits(message: Message) -> bool:
            params = message.get("params") or {}
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params["uri"] == uri
                and params.get("version") == self.versions[uri]
            )

        found: list[Message] = self._wait(fits)["params"]["diagnostics"]
        return found

    def ask(self, what: str, uri: str, line: int, col: int) -> Any:
        """The answer to `textDocument/WHAT` at a position, from 0."""
        params = {"textDocument": {"uri": uri}, "position": _position((line, col))}
        return self.request(f"textDocument/{what}", params)

    # --- messages ---

    def request(self, method: str, params: object) -> Any:
        """The result of a request; raises where the server answers with an error."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        answer = self._wait(lambda message: message.get("id") == number)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Message) -> None:
        assert self._server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _wait(self, fits: Callable[[Message], bool]) -> Message:
        while True:
            message = self._receive()
            if fits(message):
                return message

    def _receive(self) -> Message:
        assert self._server.stdout is not None and self._server.stderr is not None
        length = 0
        while line := self._server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError(self._server.stderr.read().decode(errors="replace"))
        message: Message = json.loads(self._server.stdout.read(length))
        return message


def _position(at: tuple[int, int]) -> Message:
    return {"line": at[0], "character": at[1]}
