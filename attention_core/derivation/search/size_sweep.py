"""Claims about sizes and indices alone, at very many of their tuples: all up to many thousands, where that is cheap.

A claim such as $2^n > n^4 - 70000$ may fail at a few sizes that no ladder meets, and a sum with alternating signs at
every second one. Sizes are looked at in float64, all together; the most promising are compared exactly.
A sum over a range whose terms depend on its own index alone is one running sum for all tuples together.

Two sides that are to differ may meet at few places, far apart. Where their difference is linear or quadratic in one
size, that size is solved for at each value of the other one, in float64. Where it is A m^2 + B n^2 + C with A B < 0,
large solutions are multiples of convergents of the square root of -B / A (Legendre, on Pell's equation). A place
counts only if the sides are equal there exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.graph.numbers import Column
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.records import Finding
from attention_core.derivation.search.huge import Spot
from attention_core.derivation.search.huge_search import Point, judge_point
from attention_core.derivation.terms.terms import Relation, Size, Term

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem


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


def _log_factorial(value: Any) -> Any:
    """log n! from sums of logarithms; `nan` unless n is a whole number from 0 on."""
    places = np.asarray(value, dtype=float)
    whole = (places >= 0) & (places == np.floor(places)) & (places <= LONGEST)
    table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, np.max(np.where(whole, places, 0)) + 2)))])
    return np.where(whole, table[np.where(whole, places, 0).astype(np.int64)], np.nan)


def _binomial(above: Any, below: Any) -> Any:
    """Binomial coefficients of whole numbers from 0 on; beyond floats they are infinite."""
    a, b = np.broadcast_arrays(np.asarray(above, dtype=float), np.asarray(below, dtype=float))
    inside = (b >= 0) & (b <= a)
    safe = np.where(inside, b, 0.0)
    found = np.exp(_log_factorial(a) - _log_factorial(safe) - _log_factorial(np.where(inside, a - b, a)))
    return np.where(inside, found, np.where(a >= 0, 0.0, np.nan))


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
    "tan": np.tan,
    "cot": lambda a: _inverse(np.tan(a)),
    "sec": lambda a: _inverse(np.cos(a)),
    "csc": lambda a: _inverse(np.sin(a)),
    "sinh": np.sinh,
    "cosh": np.cosh,
    "coth": lambda a: _inverse(np.tanh(a)),
    "sech": lambda a: _inverse(np.cosh(a)),
    "csch": lambda a: _inverse(np.sinh(a)),
    "arctan": np.arctan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arsinh": np.arcsinh,
    "arcosh": np.arccosh,
    "artanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "relu": lambda a: np.maximum(a, 0.0),
    "pi": lambda: np.float64(np.pi),
    "factorial": lambda a: np.exp(_log_factorial(a)),
    "binom": lambda a, b: _binomial(a, b),
}


Grid = dict[str, Any]
ALL = {1: (200_000, 20_000, 2_000), 2: (300, 60), 3: (40, 12)}  # tuples up to these, the largest that is not too many
LONG = 40_000  # one size up to here, beside small others
CERTIFIED = 6  # tuples that are compared exactly
EACH = 40_000  # terms of a sum that are taken one by one
SURE = 1e-9  # a gap that float64 calls one
_LEAST = {"!=": -1e-12, "<": 0.0, ">": 0.0}  # gaps that may be one, by relation


def size_sweep(problem: Problem) -> Finding | None:
    """Search many tuples of sizes; the finding if one refutes."""
    names = [*problem.tuples.sizes, *problem.tuples.indices]
    if problem.symbols or problem.moves or problem.claim.op not in TESTS or not 0 < len(names) <= 3:
        return None
    if not problem.tuples.sizes or not problem.claim.left.type.scalar:
        return None
    reached: dict[str, int] = {}
    for columns in _grids(problem, names):
        if time.process_time() > problem.deadline:
            return None
        try:
            gaps = relative_gaps(problem, columns)
        except (Unsupported, KeyError):
            return None
        except (TooLarge, OverflowError, ValueError):
            continue
        failing = np.flatnonzero(gaps >= _LEAST.get(problem.claim.op, SURE))
        if found := certify(problem, columns, gaps, failing):
            return found
        if not reached and not len(failing):  # where float64 sees no difference, it has not seen that they agree
            reached = _reached(problem, columns, np.isnan(gaps))
    problem.tally.swept = reached
    return None


def _reached(problem: Problem, columns: Grid, unseen: Any) -> dict[str, int]:
    """Up to which sizes all tuples were seen; nothing is said where some are missing from the start."""
    highest = {name: int(columns[name].max()) for name in problem.tuples.sizes}
    if not unseen.any():
        return highest
    first = int(np.min(np.max([columns[name][unseen] for name in columns], axis=0))) - 1
    return {name: min(top, first) for name, top in highest.items()} if first > 3 else {}


def _grids(problem: Problem, names: list[str]) -> Iterator[Grid]:
    """Tuples as columns: all up to some size, and one size farther up beside small others."""
    for most in ALL[len(names)]:
        axes = [np.arange(1, most + 1, dtype=float) for _ in names]
        yield dict(zip(names, (a.ravel() for a in np.meshgrid(*axes, indexing="ij")), strict=True))
    if len(names) == 2:
        for way in range(2):
            pair = np.meshgrid(np.arange(1, LONG + 1, dtype=float), np.arange(1, 5, dtype=float), indexing="ij")
            yield dict(zip(names, (a.ravel() for a in pair[:: 1 if way else -1]), strict=True))


def relative_gaps(problem: Problem, columns: Grid) -> Any:
    """How far each tuple is from holding, relatively: above 0 where it fails, minus infinity where it is not a case.

    Where both sides are beyond all floats nothing is seen, which `nan` says.
    """
    at = TermColumns()
    count = len(next(iter(columns.values())))
    good = meets(problem, columns, problem.hypotheses, at)
    with np.errstate(all="ignore"):
        left, right = (at.of(side, columns) for side in (problem.claim.left, problem.claim.right))
        if problem.claim.op in (">", ">="):
            left, right = right, left
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        gap = np.where((left == right) & np.isfinite(left), 0.0, (left - right) / size)
        gap = {"=": np.abs(gap), "!=": -np.abs(gap)}.get(problem.claim.op, gap)
        overflown = good & np.isinf(left) & np.isinf(right)  # two infinities are not two equal numbers
        return np.where(overflown, np.nan, np.where(good & np.isfinite(gap), np.broadcast_to(gap, (count,)), -np.inf))


def meets(problem: Problem, columns: Grid, relations: Sequence[Relation], at: TermColumns | None = None) -> Any:
    """Where some relations hold, and every index is in its range.

    Raises:
        Unsupported: a relation is not about sizes and indices alone.
    """
    at = at or TermColumns()
    good: Any = np.ones(len(next(iter(columns.values()))), dtype=bool)
    with np.errstate(all="ignore"):
        for relation in relations:
            if relation.over or relation.op not in TESTS:
                raise Unsupported
            good &= TESTS[relation.op](at.of(relation.left, columns), at.of(relation.right, columns))
        for name in (n for n in problem.tuples.indices if n in columns):
            symbol = problem.context.symbols[name]
            assert symbol.lowest is not None and symbol.highest is not None
            if {*symbol.lowest.symbols(), *symbol.highest.symbols()} <= columns.keys():
                good &= columns[name] >= size_column(symbol.lowest, columns)
                good &= columns[name] <= size_column(symbol.highest, columns)
    return good


def certify(problem: Problem, columns: Grid, gaps: Any, failing: Any) -> Finding | None:
    """The finding if one of the most promising tuples, and of the smallest that look false, refutes."""
    total = sum(columns[n][failing] for n in problem.tuples.sizes)
    first = failing[np.argsort(total, kind="stable")[: CERTIFIED // 2]]
    worst = failing[np.argsort(-gaps[failing], kind="stable")[: CERTIFIED // 2]]
    for place in dict.fromkeys([*first, *worst]):
        env = {name: int(column[place]) for name, column in columns.items()}
        if found := exactly(problem, env):
            return found
    return None


def exactly(problem: Problem, env: dict[str, int]) -> Finding | None:
    """The finding if one tuple refutes when it is compared exactly."""
    if any(env[n] < 1 for n in problem.tuples.sizes) or not problem.tuples.feasible(env):
        return None
    sizes: dict[str, Any] = {n: env[n] for n in problem.tuples.sizes}
    point = Point(sizes, {n: Spot(env[n], env[n]) for n in problem.tuples.indices}, 0, (0,), ())
    found = judge_point(problem, point) or judge_point(problem, point, each=EACH)
    return found if isinstance(found, Finding) else None


VALUES = 20_000  # of the size that is not solved for
MOST = 24  # places that are compared exactly, of each way
LARGEST = 10**40  # of a solution of Pell's equation
MULTIPLES = (1, 2, 3)
CLOSE = 1e-12


def integer_points(problem: Problem) -> Finding | None:
    """The finding if the sides of a claim with `!=`, `<` or `>` in two sizes meet somewhere."""
    names = problem.tuples.sizes
    if problem.symbols or problem.tuples.indices or len(names) != 2 or problem.claim.op not in ("!=", "<", ">"):
        return None
    try:
        for one, other in (names, names[::-1]):
            for env in _solve(problem, one, other):
                if found := exactly(problem, env):
                    return found
        for m, n in _pell(_form(problem, names)):
            if found := exactly(problem, {names[0]: m, names[1]: n}):
                return found
    except (Unsupported, TooLarge, KeyError, OverflowError, ValueError):
        return None
    return None


def _difference(problem: Problem, columns: dict[str, Any]) -> tuple[Any, Any]:
    """The difference of the sides, and how large they are."""
    at = TermColumns()
    left, right = (at.of(side, columns) for side in (problem.claim.left, problem.claim.right))
    return left - right, np.maximum(np.abs(left), np.abs(right))


def _solve(problem: Problem, one: str, other: str) -> Iterator[dict[str, int]]:
    """Places where the sides meet, the smallest first: `one` is solved for at each value of `other`."""
    values = np.arange(1, VALUES + 1, dtype=float)
    with np.errstate(all="ignore"):
        at = [_difference(problem, {one: np.full_like(values, k), other: values})[0] for k in range(1, 5)]
        a = (at[2] - 2 * at[1] + at[0]) / 2
        b = at[1] - at[0] - 3 * a
        c = at[0] - a - b
        fits = np.abs(16 * a + 4 * b + c - at[3]) <= CLOSE * (np.abs(at[3]) + np.abs(c) + 1)
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
        found = [np.where(a == 0, -c / b, (-b + sign * root) / (2 * a)) for sign in (1, -1)]
    places = []
    for roots in found:
        whole = np.rint(roots)
        good = fits & np.isfinite(roots) & (whole >= 1) & (np.abs(roots - whole) <= 1e-6 * (1 + np.abs(whole) * 1e-6))
        places += list(zip(whole[good], values[good], strict=True))
    if not places:
        return
    ones, others = (np.array(part) for part in zip(*sorted(set(places), key=sum), strict=True))
    with np.errstate(all="ignore"):
        gap, size = _difference(problem, {one: ones, other: others})
    close = np.flatnonzero(np.abs(np.broadcast_to(gap, ones.shape)) <= CLOSE * np.maximum(size, 1))
    for place in close[:MOST]:
        yield {one: int(ones[place]), other: int(others[place])}


def _form(problem: Problem, names: list[str]) -> tuple[int, int] | None:
    """A and B where the difference is A m^2 + B n^2 + C with whole A and B, else None."""
    first = np.array([1, 2, 3, 4, 1, 1, 2, 3, 5], dtype=float)
    second = np.array([1, 1, 1, 1, 2, 3, 2, 3, 7], dtype=float)
    found = np.broadcast_to(_difference(problem, {names[0]: first, names[1]: second})[0], first.shape)
    a, b = (found[1] - found[0]) / 3, (found[4] - found[0]) / 3
    c = found[0] - a - b
    if not np.isfinite(found).all() or (a * first**2 + b * second**2 + c != found).any():
        return None
    return (int(a), int(b)) if a == int(a) and b == int(b) else None


def _pell(form: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """Multiples of the convergents of m / n, where the leading form A m^2 + B n^2 nearly vanishes."""
    if form is None or form[0] * form[1] >= 0:
        return
    below, above = abs(form[0]), abs(form[1])  # m / n is close to the root of above / below = root / below
    square = above * below
    base = isqrt(square)
    if base * base == square:
        return
    p, q, part = 0, below, base // below
    before, now = (1, 0), (part, 1)
    while now[0] < LARGEST:
        for k in MULTIPLES:
            if now[0]:
                yield k * now[0], k * now[1]
        p = part * q - p
        q, rest = divmod(square - p * p, q)
        if rest:
            return
        part = (base + p) // q
        before, now = now, (part * now[0] + before[0], part * now[1] + before[1])


__all__ = [
    "TermColumns",
    "certify",
    "exactly",
    "integer_points",
    "meets",
    "names_in",
    "relative_gaps",
    "size_column",
    "size_sweep",
]
