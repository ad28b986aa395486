"""Sizes that are written in a target: whole numbers in the source of what it is and of what it uses beside it.

A block, a chunk, a page, or the end of a table is a number in the source, and code goes wrong on one side of it. The
source is parsed and never run. What is read: the function or class itself, the names of its own package that it uses,
at any depth, and their constants and defaults. A target without a source in Python has none.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

LEAST, MOST = 5, 1024
"""Sizes below are among those of any run, sizes beyond too dear for one."""
MOST_SIZES = 8
"""So many are given: those nearest to the target first, of these the largest."""
MOST_SOURCE = 1 << 19
"""Characters of a module that is parsed."""
MOST_NAMES = 200
"""Names that are followed."""
MOST_STATEMENTS = 4096
"""Statements of modules whose sizes and names are remembered."""
MOST_BITS = 64
"""Of a number that an expression may make."""
FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift, ast.Pow: operator.pow,
}  # fmt: skip
"""What two written numbers may be joined by."""

Defined = dict[str, list[ast.stmt]]


def written_sizes(target: Any) -> list[int]:
    """The sizes written in a target, ascending; none where its source cannot be read.

    Example:
        >>> def blockwise(query, block=1 << 5):
        ...     return query[:block]
        >>> written_sizes(blockwise)
        [32]
    """
    found: dict[int, int] = {}
    with suppress(Exception):  # a target's attributes may do anything
        for part in target if isinstance(target, tuple) else (target,):
            for depth, size in _sizes_of(part):
                found.setdefault(size, depth)
    nearest = sorted(found, key=lambda size: (found[size], -size))
    return sorted(nearest[:MOST_SIZES])


def _sizes_of(target: Any) -> Iterator[tuple[int, int]]:
    """Every size of a target, with how many names lie between."""
    bound: list[Any] = []
    while isinstance(target, functools.partial):
        bound += [*target.args, *target.keywords.values()]
        target = target.func
    yield from ((0, value) for value in bound if is_size(value))
    target = _unwrap(target)
    module, name = sys.modules.get(target.__module__), target.__qualname__.partition(".")[0]
    own = _definitions(module) if module is not None else {}
    if module is None or name not in own:
        lines, _ = inspect.getsourcelines(target)
        yield from ((0, size) for node in ast.parse(textwrap.dedent("".join(lines))).body for size in _numbers(node))
        return
    yield from _follow(module, name)


def _unwrap(target: Any) -> Any:
    """The function or class that a target is, or is an object of."""
    target = getattr(target, "_torchdynamo_orig_callable", target)
    target = getattr(target, "fn", target) if type(target).__module__.startswith("triton") else target
    if inspect.ismethod(target):
        target = type(target.__self__) if not inspect.isclass(target.__self__) else target.__self__
    if inspect.isfunction(target):
        return inspect.unwrap(target)
    return target if inspect.isclass(target) else type(target)


def _follow(module: ModuleType, name: str) -> Iterator[tuple[int, int]]:
    """The sizes of a definition and of all that it uses of its own package, breadth first."""
    waiting, seen = deque([(module, name, 0)]), {(module.__name__, name)}
    while waiting and len(seen) < MOST_NAMES:
        module, name, depth = waiting.popleft()
        nodes = _definitions(module).get(name)
        if nodes is None:  # it is imported, or not there at all
            value = vars(module).get(name)
            if is_size(value):
                yield depth, value
            elsewhere = sys.modules.get(getattr(value, "__module__", None) or "")
            if elsewhere is None or not _are_together(module, elsewhere):
                continue
            places = [(elsewhere, str(getattr(value, "__name__", "")))]
        else:
            for node in nodes:
                yield from ((depth, size) for size in _numbers_of(node))
            places = [place for node in nodes for place in _find_places(module, node)]
        for where, what in places:
            if (where.__name__, what) not in seen:
                seen.add((where.__name__, what))
                waiting.append((where, what, depth + 1))


def _are_together(one: ModuleType, other: ModuleType) -> bool:
    """Whether two modules belong to one package, or are files of one folder."""
    root = one.__name__.partition(".")[0] == other.__name__.partition(".")[0]
    files = getattr(one, "__file__", None), getattr(other, "__file__", None)
    return root or (None not in files and Path(str(files[0])).parent == Path(str(files[1])).parent)


def _find_places(module: ModuleType, node: ast.AST) -> Iterator[tuple[ModuleType, str]]:
    """The names that a statement uses: of its module, and of modules of its package."""
    for name, attribute in _names_in(node):
        if not attribute:
            yield module, name
            continue
        other = vars(module).get(name)
        if isinstance(other, ModuleType) and _are_together(module, other):
            yield other, attribute


@functools.lru_cache(maxsize=MOST_STATEMENTS)
def _names_in(node: ast.AST) -> tuple[tuple[str, str], ...]:
    """The names in a statement, each with "", and the attributes of names as (name, attribute)."""
    names: list[tuple[str, str]] = []
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            names.append((each.id, ""))
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            names.append((each.value.id, each.attr))
    return tuple(dict.fromkeys(names))


def _definitions(module: ModuleType) -> Defined:
    """Name -> the statements at the top of a module that define it; empty where its source cannot be read."""
    return _parse(str(getattr(module, "__file__", None) or ""))


@functools.lru_cache(maxsize=64)
def _parse(path: str) -> Defined:
    found: Defined = {}
    if not path.endswith(".py"):
        return found
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        text = Path(path).read_text(encoding="utf-8")
        for node in ast.parse(text).body if len(text) <= MOST_SOURCE else ():
            for name in _names(node):
                found.setdefault(name, []).append(node)
    return found


def _names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines; those of every branch of an `if` or `try`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
    elif isinstance(node, ast.If | ast.Try | ast.With):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                yield from _names(inner)


@functools.lru_cache(maxsize=MOST_STATEMENTS)
def _numbers_of(node: ast.AST) -> tuple[int, ...]:
    """The sizes among the numbers of a statement of a module, which many targets may share."""
    return tuple(dict.fromkeys(_numbers(node)))


def _numbers(node: ast.AST) -> Iterator[int]:
    """The sizes among the numbers of a statement, of products and powers the whole alone."""
    value = _fold(node)
    if value is not None:
        if LEAST <= abs(value) <= MOST:
            yield abs(value)
        return
    for inner in ast.iter_child_nodes(node):
        yield from _numbers(inner)


def _fold(node: ast.AST) -> int | None:
    """The whole number that an expression of written numbers is; None of anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _fold(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in FOLDED:
        return None
    left, right = _fold(node.left), _fold(node.right)
    if left is None or right is None or max(left.bit_length(), right.bit_length()) > MOST_BITS:
        return None
    if isinstance(node.op, ast.LShift | ast.Pow) and not 0 <= right <= MOST_BITS:
        return None
    with suppress(ArithmeticError):
        return FOLDED[type(node.op)](left, right)
    return None


def is_size(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number of the range."""
    return type(value) is int and LEAST <= value <= MOST
