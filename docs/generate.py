"""Writes the generated pages: `python docs/generate.py`; with `--check` it only says what differs.

`metainfer-opt.md` and the guides keep their prose and get the output of their commands;
`dialects.md` and `passes.md` come from the definitions.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from console import with_output  # noqa: E402
from language import language_page  # noqa: E402
from reference import dialects_page, passes_page  # noqa: E402


def guides() -> dict[str, str]:
    """The guides by file name."""
    return {
        f"guides/{path.name}": with_output(path.read_text(encoding="utf-8"), DOCS / "examples")
        for path in sorted((DOCS / "guides").glob("*.md"))
    }


def pages() -> dict[str, str]:
    """Every other generated page by file name."""
    prose = (DOCS / "metainfer-opt.md").read_text(encoding="utf-8")
    return {
        "metainfer-opt.md": with_output(prose, DOCS / "examples"),
        "dialects.md": dialects_page(),
        "passes.md": passes_page(),
        "language.md": language_page((DOCS / "language.md").read_text(encoding="utf-8")),
    }


def main() -> int:
    """Write all pages, or name those that are stale; 1 if there are any."""
    stale = []
    for name, text in (pages() | guides()).items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    print("\n".join(f"stale: {name}" for name in stale) or "all pages are current")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
