"""A package index on this machine whose one wheel never arrives whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WHEEL = "slow_model-1.0-py3-none-any.whl"
WHEEL_BYTES = 50_000_000


@dataclass
class SlowIndex:
    """`environment` makes pip ask it; `asked` is set once some of the wheel has been sent."""

    port: int
    asked: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self) -> dict[str, str]:
        """Settings for pip, whatever its configuration on this machine."""
        return {
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": f"http://127.0.0.1:{self.port}/simple",
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
            "PIP_NO_INDEX": "",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }


@contextmanager
def slow_index() -> Iterator[SlowIndex]:
    """An index for the length of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    index = SlowIndex(server.server_address[1])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith(".whl"):
                self._wheel()
                return
            page = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
            self._head("text/html", len(page))
            self.wfile.write(page)

        def _wheel(self) -> None:
            self._head("application/octet-stream", WHEEL_BYTES)
            try:
                self.wfile.write(b"P" * 1_000_000)
                index.asked.set()
                index.over.wait()
            except OSError:
                return  # the client has left

        def _head(self, kind: str, length: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield index
    finally:
        index.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
