"""`python -m metainfer.lsp`: serve one editor over standard input and output."""

from __future__ import annotations

import sys


def main() -> int:
    """Serve until the editor leaves; 1 without the extra that the server needs."""
    try:
        from metainfer.lsp.server import serve
    except ModuleNotFoundError as missing:
        if missing.name not in ("pygls", "lsprotocol"):
            raise
        print("the language server needs: pip install 'metainfer[lsp]'", file=sys.stderr)
        return 1
    serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
