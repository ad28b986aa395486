"""Fast evaluation of a graph at many points.

A graph at many points at once in float64, to look for cases that are worth an exact comparison.
Nothing is decided here: what looks like a violation is compared again in exact or ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attention_core.derivation.graph.nodes import Graph

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, np.dtype[np.float64]]
else:
    Column = Any

KNOWN = frozenset({
    "const", "leaf", "add", "mul", "inv", "powi", "pow", "exp", "log", "abs", "sign", "sqrt", "max", "min", "sin",
    "cos", "floor", "ceil", "pi", "indicator",
})  # fmt: skip


def is_supported(graph: Graph, order: Sequence[int]) -> bool:
    """Whether every operation among these nodes has a form here."""
    return all(graph.ops[n] in KNOWN for n in order)


def columns(graph: Graph, order: Sequence[int], leaves: Mapping[int, Column]) -> dict[int, Column]:
    """The value of each node at every point, `nan` where it is not defined.

    `leaves` gives each leaf of the order its values; `order` has arguments first; every operation is `supported`.
    """
    import numpy as np

    values: dict[int, Column] = {}
    with np.errstate(all="ignore"):
        for node in order:
            op, data = graph.ops[node], graph.data[node]
            if op == "const":
                values[node] = np.asarray(number(data))
            elif op == "leaf":
                values[node] = leaves[node]
            else:
                values[node] = _apply(op, [values[a] for a in graph.args[node]], data)
    return values


def number(value: Any) -> float:
    """A rational as a float, an infinity where it is too large."""
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _apply(op: str, args: list[Any], data: Any) -> Any:
    import numpy as np

    first: Any = args[0] if args else None
    if op in ("add", "mul", "max", "min"):
        combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[op]
        total = first
        for other in args[1:]:
            total = combine(total, other)
        return total
    if op == "inv":
        return np.where(first == 0, np.nan, 1 / first)
    if op in ("powi", "pow"):
        return first ** float(data) if op == "powi" else first ** args[1]
    if op == "pi":
        return np.float64(np.pi)
    if op == "log":
        return np.where(first > 0, np.log(first), np.nan)
    if op == "indicator":
        with np.errstate(all="ignore"):
            gap = first - args[1]
        return {"=": gap == 0, "!=": gap != 0, "<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[data] * 1.0
    plain: Any = getattr(np, op)
    return plain(first)
