"""Sizes by their names: what a condition over them may speak of, by contract, and the condition itself.

Values are parsed as data: a small arithmetic of sizes. Nothing is evaluated as code.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attention_core.declaration.errors import TargetError

ATTENTION = ("attention", "attention-lse", "batch-invariant")
"""The contracts whose targets are called as f(query, key, value, ...)."""
OF_ATTENTION = ("n_q", "n_kv", "d", "d_v", "H", "H_kv")
NAMES: Mapping[str, tuple[str, ...]] = {
    "attention": OF_ATTENTION, "attention-lse": OF_ATTENTION, "mask-builder": ("n_q", "n_kv", "size", "B"),
    "heads": ("B", "n", "H", "d", "E"), "multi-head": ("B", "n", "H", "H_kv", "d", "E"),
    "rotary": ("B", "H", "n", "d"), "bias": ("H", "n_q", "n_kv"), "position-table": ("n", "d"),
    "kv-cache": ("B", "H", "H_kv", "n", "d"), "self-attention": ("B", "n", "H", "d", "E"),
    "self-attention-steps": ("B", "n", "H", "d", "E"), "merge": ("parts", "B", "H", "n", "d"),
    "paged": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v", "page"),
    "varlen": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v"),
    "linear-attention": ("B", "H", "n", "d", "d_v"),
    "mla": ("B", "n_q", "n_kv", "H", "r", "d", "d_rope", "d_v"),
    "quantised": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v"),
    "block-mask": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v", "q_block", "k_block"),
    "tree-mask": ("B", "n", "context", "H", "H_kv", "d", "d_v"),
    "topk-index": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v", "topk", "block"),
    "indexer": ("B", "n_q", "n_kv", "H", "d", "topk"),
    "variant-attention": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v"),
    "cross-cache": ("B", "n_q", "n_kv", "H", "H_kv", "d", "d_v"),
    "batch-invariant": OF_ATTENTION,
}  # fmt: skip
"""The sizes that a condition may speak of, by contract."""
_ANY_SIZE = tuple(dict.fromkeys(name for names in NAMES.values() for name in names))
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


_ASSIGNS = re.compile(r"\s*(?<![<>=!:])=(?!=)\s*")
FIT_BLOCKS = "d in (16, 32, 64)"
"""Head sizes that a kernel's blocks fit, as far as it asks for powers of two."""


class SizeCondition:
    """A condition over the sizes of a case, such as `d % 8 == 0 and n_q <= n_kv`.

    Comparisons, `and`, `or`, `not`, + - * // %, whole numbers, tuples of them, and n_q, n_kv, d, d_v, H, H_kv in this
    order, or the sizes of another contract by name.

    Example:
        >>> SizeCondition("d % 8 == 0 and H == H_kv")(5, 7, 16, 16, 4, 4), SizeCondition("n > 2")(B=1, n=2)
        (True, False)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[tuple[tuple[str, int], ...], bool] = {}
        try:
            self.tree = ast.parse(text, mode="eval").body
            self._value(
                self.tree, dict.fromkeys(_ANY_SIZE, 8) | dict(zip(OF_ATTENTION, (2, 3, 8, 8, 4, 2), strict=True))
            )
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else error
            equal = _ASSIGNS.sub(" == ", text[:80])
            how = f"write == for equal sizes, as in {equal!r}, in" if _ASSIGNS.search(text) else "write"
            raise TargetError(
                f"sizes={text[:80]!r} is not understood ({reason}): {how} a condition over {', '.join(OF_ATTENTION)}"
            ) from None
        except ZeroDivisionError:
            raise TargetError(f"sizes={text!r} divides by zero") from None

    def __call__(self, *sizes: int, **named: int) -> bool:
        names = named or dict(zip(OF_ATTENTION, sizes, strict=True))
        key = tuple(names.items())
        if key not in self._known:
            try:
                self._known[key] = bool(self._value(self.tree, names))
            except ZeroDivisionError:  # at these sizes it says nothing, so they are not among those it names
                self._known[key] = False
            except ValueError as error:
                raise TargetError(f"sizes={self.text!r}: {error}; there are: {', '.join(names)}") from None
        return self._known[key]

    def check_names(self, known: Sequence[str], of: str) -> None:
        """Refuse names that are not among the sizes of a contract.

        Raises:
            TargetError: one is not.
        """
        unknown = [n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id not in known]
        if unknown:
            raise TargetError(f"sizes={self.text!r}: {of} has no size {unknown[0]!r}, but: {', '.join(known)}")

    def _value(self, node: ast.expr, names: Mapping[str, int]) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.Tuple):
            return tuple(self._value(e, names) for e in node.elts)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = self._value(node.left, names), self._value(node.right, names)
            if not isinstance(left, int) or not isinstance(right, int):
                raise ValueError("arithmetic is for whole numbers")
            return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            value = self._value(node.operand, names)
            return (not value) if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BoolOp):
            values = [self._value(v, names) for v in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.Compare):
            left, result = self._value(node.left, names), True
            for op, right_node in zip(node.ops, node.comparators, strict=True):
                if type(op) not in _BINARY:
                    raise ValueError(f"{type(op).__name__} is not allowed")
                right = self._value(right_node, names)
                holds = bool(_BINARY[type(op)](left, right))
                result = result and holds
                left = right
            return result
        if isinstance(node, ast.Name):
            raise ValueError(f"no size is called {node.id!r}")
        raise ValueError(f"{type(node).__name__} is not allowed")


ALIKE = "n_q == n_kv and d == d_v and H == H_kv"
"""Sizes of query, key and value that one array can hold."""


def alike(condition: Any) -> Any:
    """A condition over sizes, and that query, key and value are of one shape.

    Example:
        >>> alike(SizeCondition("d == 8"))(5, 5, 8, 8, 2, 2), alike(SizeCondition("d == 8"))(5, 7, 8, 8, 2, 2)
        (True, False)
        >>> alike(None).text == alike(alike(None)).text
        True
    """
    if condition is None:
        return SizeCondition(ALIKE)
    text = getattr(condition, "text", None)
    if text is None:  # a predicate of the caller's own
        same = SizeCondition(ALIKE)
        return lambda *sizes, **named: same(*sizes, **named) and condition(*sizes, **named)
    return condition if ALIKE in text else SizeCondition(f"{ALIKE} and ({text})")
