"""Finds where a target is defined, for reports that point at a line: nothing is imported or run.

A file is read as text; that of `package.module:name` is looked for as Python would, without importing its packages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path


@dataclass(frozen=True)
class Definition:
    """A place in a source file.

    Args:
        path: of the file; from the working directory, with forward slashes, where it lies below, else absolute.
        line: from 1.
    """

    path: str
    line: int

    @property
    def is_below(self) -> bool:
        """Whether the file lies below the working directory, as files of the project under test do."""
        return not Path(self.path).is_absolute()


def find_definition(target: str) -> Definition | None:
    """Return the line of a target's `def`, `class`, assignment or import.

    Args:
        target: `path/to/file.py:name`, `package.module:name`, with dots in the name for attributes of classes.

    Returns:
        The line of the innermost part of the name that the file defines, line 1 if it defines none; None where the
        source file is missing or cannot be read.

    >>> find_definition("attention_core.worker.definition:find_definition").path.endswith("definition.py")
    True
    >>> find_definition("nowhere:attention") is None
    True
    """
    where, _, name = target.rpartition(":")
    path = Path(where) if where.endswith(".py") else _find_module(where)
    if path is None:
        return None
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    line, body = 1, tree.body
    for part in name.partition(",")[0].strip().split("."):
        found = next((node for node in _statements(body) if part in _names(node)), None)
        if found is None:
            break
        line, body = found.lineno, found.body if isinstance(found, ast.ClassDef) else []
    return Definition(_from_here(path), line)


def _find_module(name: str) -> Path | None:
    """The source file of a module, without importing the packages around it."""
    places: Iterable[str] | None = None
    origin = None
    parts = name.split(".")
    for n in range(len(parts)):
        try:
            spec = PathFinder.find_spec(".".join(parts[: n + 1]), None if places is None else list(places))
            if spec is None and n == 0:
                spec = PathFinder.find_spec(parts[0], [""])
        except (ImportError, ValueError, OSError):
            return None
        if spec is None:
            return None
        origin, places = spec.origin, spec.submodule_search_locations or []
    return Path(origin) if origin is not None and origin.endswith(".py") else None


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, the last first, since the last definition counts; those under `if` and `try` too."""
    for node in reversed(list(body)):
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            handlers = [
                s for child in ast.iter_child_nodes(node) if isinstance(child, ast.ExceptHandler) for s in child.body
            ]
            yield from _statements([*inner, *handlers])


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return set()


def _from_here(path: Path) -> str:
    absolute = path.resolve()
    here = Path.cwd().resolve()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()
