"""Terms in sizes and indices alone, at many tuples at once, in float64.

A sum over a range whose terms depend on its own index alone is one running sum for all tuples together, so that every
size up to many thousands can be looked at. Nothing is decided here: what looks false is compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.graph.numbers import Column
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.terms.terms import Size, Term

LONGEST = 2_000_000  # terms of all sums together
Columns = Mapping[str, Column]
TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class TermColumns:
    """Values of terms where `columns` gives each size and index a column of whole numbers."""

    def __init__(self) -> None:
        self.left = LONGEST

    def of(self, term: Term, at: Columns) -> Any:
        """The value at every tuple; `nan` where it is not defined.

        Raises:
            Unsupported: the term has an operation that is not understood here.
            TooLarge: its sums have too many terms.
        """
        if term.op == "reduce":
            return self._reduce(term, at)
        if term.op == "const":
            return np.float64(float(term.data))
        if term.op == "int":
            if term.data not in at:
                raise Unsupported
            return at[term.data]
        if term.op == "size":
            return size_column(term.data, at)
        if not term.args and term.op != "pi":
            raise Unsupported
        args = [self.of(a, at) for a in term.args]
        rule = RULES.get(term.op)
        if rule is None or not term.type.scalar:
            raise Unsupported
        return rule(*args)

    def holds(self, test: Term, at: Columns) -> Any:
        """Where a condition holds."""
        if test.op == "all":
            found: Any = True
            for part in test.args:
                found = found & self.holds(part, at)
            return found
        left, right = (self.of(a, at) for a in test.args)
        return TESTS[test.data](left, right)

    def _reduce(self, term: Term, at: Columns) -> Any:
        op, name = term.data
        if op not in COMBINE or not term.type.scalar:
            raise Unsupported
        count = len(next(iter(at.values())))
        first, last = (np.broadcast_to(np.rint(self.of(a, at)), (count,)).astype(np.int64) for a in term.args[:2])
        inside = frozenset().union(*(names_in(a) for a in term.args[2:]))
        if inside <= {name} and (first == first[0]).all():
            return self._running(term, int(first[0]), last)
        lengths = np.maximum(last - first + 1, 0)
        self._spend(int(lengths.sum()))
        rows = np.repeat(np.arange(count), lengths)
        starts = np.cumsum(lengths) - lengths
        inner = {n: c[rows] for n, c in at.items()}
        inner[name] = (np.arange(len(rows)) - starts[rows] + first[rows]).astype(float)
        values = self._terms(term, inner) if len(rows) else np.zeros(0)
        combine, _, empty = COMBINE[op]
        found = np.full(count, empty)
        combine.at(found, rows, values)
        return found

    def _running(self, term: Term, first: int, last: Any) -> Any:
        """The sums, products or extremes of one sequence up to each of some places."""
        length = max(0, int(last.max()) - first + 1)
        self._spend(length)
        _, running, empty = COMBINE[term.data[0]]
        values = self._terms(term, {term.data[1]: np.arange(first, first + length, dtype=float)}) if length else []
        sums = np.concatenate([[empty], running(values)]) if length else np.array([empty])
        return sums[np.clip(last - first + 1, 0, length)]

    def _terms(self, term: Term, at: Columns) -> Any:
        count = len(next(iter(at.values())))
        values = np.broadcast_to(self.of(term.args[2], at), (count,)).astype(float)
        for test in term.args[3:]:
            values = np.where(self.holds(test, at), values, COMBINE[term.data[0]][2])
        return values

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLarge("sums with too many terms")


def size_column(size: Size, at: Columns) -> Any:
    """A polynomial in sizes at every tuple."""
    total: Any = 0.0
    for monomial, c in size.terms:
        part: Any = float(c)
        for name, power in monomial:
            if name not in at:
                raise Unsupported
            part = part * at[name] ** float(power)
        total = total + part
    return total


def names_in(term: Term) -> frozenset[str]:
    """The sizes and indices that occur in a term."""
    found: set[str] = set()
    for part in term.walk():
        found |= {part.data} if part.op == "int" else part.data.symbols() if part.op == "size" else set()
    return frozenset(found)


def _where_positive(value: Any) -> Any:
    return np.where(np.asarray(value) > 0, value, np.nan)


def _inverse(value: Any) -> Any:
    return np.where(np.asarray(value) == 0, np.nan, 1.0 / np.where(np.asarray(value) == 0, 1.0, value))


COMBINE: dict[str, tuple[Any, Any, float]] = {
    "sum": (np.add, np.cumsum, 0.0),
    "prod": (np.multiply, np.cumprod, 1.0),
    "max": (np.maximum, np.maximum.accumulate, -np.inf),
    "min": (np.minimum, np.minimum.accumulate, np.inf),
}
RULES: dict[str, Callable[..., Any]] = {
    "add": lambda *v: reduce(np.add, v),
    "mul": lambda *v: reduce(np.multiply, v),
    "max": lambda *v: reduce(np.maximum, v),
    "min": lambda *v: reduce(np.minimum, v),
    "neg": np.negative,
    "div": lambda a, b: a * _inverse(b),
    "pow": np.power,
    "sqrt": lambda a: np.sqrt(np.where(np.asarray(a) >= 0, a, np.nan)),
    "log": lambda a: np.log(_where_positive(a)),
    "exp": np.exp,
    "abs": np.abs,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "relu": lambda a: np.maximum(a, 0.0),
    "pi": lambda: np.float64(np.pi),
}


__all__ = ["TermColumns", "names_in", "size_column"]
