"""The source of an adapter as a program of its own, for counterexamples that run without this package.

Read with `ast`, never imported: the kernel table stays light and cannot drift from the code that runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = f"{__package__}."  # how the adapters name each other

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def standalone(module: str, name: str) -> str:
    """The part of an adapter module that `name` needs, under the name `attention`.

    Args: module, a file of this folder without `.py`; name, a function in it.
    Returns: imports (this package's own left out), what the function refers to, the function, and
        `attention = name`. Comments, docstrings and annotations are left out.
    Raises: KeyError where the module defines no such name.
    Example:
        >>> standalone("torch_sdpa", "flash").splitlines()[-1]
        'attention = flash'
    """
    statements = list(_statements(module))
    defined = {_name(n): Plain().visit(n) for n in statements if isinstance(n, Definition)}
    wanted = _find_needed_names(name, defined)
    body = [node for own, node in defined.items() if own in wanted]
    used = {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name)}
    lines = [_import_line(n, used) for n in statements if isinstance(n, ast.Import | ast.ImportFrom)]
    text = [*dict.fromkeys(filter(None, lines)), *(ast.unparse(node) for node in body), f"attention = {name}"]
    return "\n".join(text)


def _statements(module: str) -> Iterator[ast.stmt]:
    """A module's top-level statements, after those of the adapters of this folder that it imports."""
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        # An optional import stands in a `try` whose handler says what is missing.
        for inner in node.body if isinstance(node, ast.Try) else [node]:
            if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith(HERE):
                yield from _statements((inner.module or "").removeprefix(HERE))
            else:
                yield inner


def _name(node: Definition) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) else ""


def _find_needed_names(name: str, defined: dict[str, Any]) -> set[str]:
    """`name` and every definition that it refers to, directly or not."""
    wanted, ahead = {name}, [defined[name]]
    while ahead:
        for node in ast.walk(ahead.pop()):
            if isinstance(node, ast.Name) and node.id in defined and node.id not in wanted:
                wanted.add(node.id)
                ahead.append(defined[node.id])
    return wanted


def _import_line(node: ast.Import | ast.ImportFrom, used: set[str]) -> str:
    """The import of the used names, or "" (also for this package and `__future__`, of no use outside)."""
    origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    kept = [a for a in node.names if (a.asname or a.name).split(".")[0] in used]
    if not kept or origin.split(".")[0] in ("attention_core", "__future__"):
        return ""
    return ast.unparse(ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(origin, kept, 0))


class Plain(ast.NodeTransformer):
    """Takes docstrings and annotations away."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function without its docstring and types."""
        self.generic_visit(node)
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter without its type."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """`x: T = y` as `x = y`."""
        self.generic_visit(node)
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)
