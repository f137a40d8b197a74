"""Holds the one-way imports of metainfer: `python tests/lint/layers.py [PACKAGE_FOLDER]`.

A package imports only from packages on lines below its own, never from one on its own line. The
modules directly in `metainfer/` are at the bottom: all may import them; they import each other.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("driver",),
    ("lsp", "report", "bench"),
    ("agents",),
    ("plan",),
    ("verify",),
    ("codegen",),
    ("passes",),
    ("knowledge", "models"),
    ("interp", "spec"),
    ("ir",),
)
"""Packages of metainfer, from top to bottom."""

_HEIGHT = {name: len(LAYERS) - i for i, line in enumerate(LAYERS) for name in line}


def violations(package: Path) -> list[str]:
    """One `file:line: reason` for every import in `package` (a folder) that breaks the order."""
    return [v for path in sorted(package.rglob("*.py")) for v in _check(path, package)]


def _check(path: Path, package: Path) -> Iterator[str]:
    own = path.relative_to(package).parts
    subject = own[0] if len(own) > 1 else None
    if subject is not None and subject not in _HEIGHT:
        yield f"{path}:1: package '{subject}' is in no layer; give it one in tests/lint/layers.py"
        return
    for line, module in _imports(path, package):
        target = _package_of(module, package)
        if target is None or target == subject:
            continue
        if target not in _HEIGHT:
            yield f"{path}:{line}: imports {module}, which is in no layer"
        elif subject is None:
            yield f"{path}:{line}: a root module imports {module}"
        elif _HEIGHT[target] >= _HEIGHT[subject]:
            relation = "beside" if _HEIGHT[target] == _HEIGHT[subject] else "above"
            yield f"{path}:{line}: {subject} imports {module} from {relation} it"


def _package_of(module: str, package: Path) -> str | None:
    """The package of metainfer that `module` is in; None for a root module or foreign one."""
    parts = module.split(".")
    if parts[0] != package.name or len(parts) == 1:
        return None
    return None if (package / f"{parts[1]}.py").is_file() else parts[1]


def _imports(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of each module that `path` imports anywhere, functions included."""
    folder = [package.name, *path.relative_to(package).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = folder[: len(folder) - level + 1] if level else []
                stem = ".".join([*base, *([module] if module else [])])
                yield from _from_import(node.lineno, stem, names, package)
            case ast.Call(args=[ast.Constant(value=str() as module), *_]) if _imports_by_name(node):
                yield node.lineno, module


def _from_import(
    line: int, stem: str, names: list[ast.alias], package: Path
) -> Iterator[tuple[int, str]]:
    """`from metainfer import x` names the package in its list, every other form in its stem."""
    if stem == package.name:
        modules = [f"{stem}.{alias.name}" for alias in names]
        exists = [m for m in modules if (package / m.split(".")[1]).is_dir()]
        yield from ((line, module) for module in exists)
    else:
        yield line, stem


def _imports_by_name(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else None
    name = call.func.id if isinstance(call.func, ast.Name) else name
    return name in ("import_module", "__import__")


def main() -> int:
    """Print every violation; 1 if there is one."""
    default = Path(__file__).resolve().parents[2] / "metainfer"
    found = violations(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    print("\n".join(found) or "imports point downwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
