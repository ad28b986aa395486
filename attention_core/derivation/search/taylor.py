"""Sums over long pieces of a range, each from the Taylor expansion around its middle.

A piece from a to b with middle m: the sum of f(k) is the sum over j < 8 of f^(j)(m) / j! times the power sums of k - m,
which are known in closed form, and a remainder that the eighth derivative on all of [a, b] encloses. So a sum of 10^20
terms is known to many digits, where its largest and smallest terms alone would leave it wide open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from flint import arb, arb_series, ctx, fmpq

from attention_core.derivation.graph.numbers import Value, ball
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.terms.terms import Term

ORDER = 8  # even, so that the remainder has one sign
ONE = arb(1)
Number = Callable[[Term], Value]
Series = Callable[[arb, Number], Any]  # the expansion around a number, with the values of terms without the index


@lru_cache(maxsize=2048)
def power_sum(count: int, exponent: int) -> fmpq:
    """The sum of (k - m)^exponent over `count` whole numbers k with middle m, for an even exponent below 8."""
    n = fmpq(count)
    squares = n * n
    if exponent == 0:
        return n
    if exponent == 2:
        return n * (squares - 1) / 12
    if exponent == 4:
        return n * (squares - 1) * (3 * squares - 7) / 240
    return n * (squares - 1) * (3 * squares * squares - 18 * squares + 31) / 1344


def sum_of_piece(series: Series, low: int, high: int, number: Number) -> arb:
    """Enclose the sum of a term over the values from `low` to `high` of one index.

    Args:
        series: How the summand expands in its index.
        low: The first value.
        high: The last value.
        number: The value of a term in which the index does not occur.

    Raises:
        Unsupported: the sum has no finite enclosure here.
    """
    count = high - low + 1
    middle, half = fmpq(low + high, 2), fmpq(count - 1, 2)
    whole = arb(low).union(arb(high))
    before = ctx.cap
    try:
        ctx.cap = ORDER
        near = _coefficients(series(arb(middle), number), ORDER)
        ctx.cap = ORDER + 1
        last = _coefficients(series(whole, number), ORDER + 1)[ORDER]
    finally:
        ctx.cap = before
    found = arb(0)
    for power in range(0, ORDER, 2):
        found += near[power] * arb(power_sum(count, power))
    rest = last * arb(half**ORDER * count)
    found += rest.union(arb(0))
    if not found.is_finite():
        raise Unsupported
    return found


def _coefficients(series: Any, count: int) -> list[arb]:
    known = arb_series(series).coeffs()
    return [*known, *[arb(0)] * (count - len(known))][:count]


def expand(term: Term, name: str, free: Callable[[Term], Any]) -> Series:
    """How a term expands in an index around a number, or around all numbers of a ball at once: found once for a sum.

    Args:
        term: The summand.
        name: The index.
        free: The names in a term.

    Raises:
        Unsupported: the summand is not a smooth function that is understood here.
    """
    if term.op == "int" and term.data == name:
        return lambda at, number: arb_series([at, ONE])
    if name not in free(term):
        return lambda at, number: arb_series([ball(number(term))])
    if term.op == "pow" and name not in free(term.args[1]):
        base, to = expand(term.args[0], name, free), term.args[1]
        return lambda at, number: _power(base(at, number), number(to))
    rule = RULES.get(term.op)
    if rule is None:
        raise Unsupported
    parts = [expand(a, name, free) for a in term.args]
    return lambda at, number: rule(*[part(at, number) for part in parts])


def _power(base: Any, to: Value) -> Any:
    if isinstance(to, fmpq) and to.q == 1:
        whole = int(to.p)
        if abs(whole) > 64:
            raise Unsupported
        return base**whole if whole >= 0 else 1 / base**-whole
    _require_positive(base)
    return (base.log() * arb_series([ball(to)])).exp()


def _require_positive(series: Any) -> None:
    first = series.coeffs()
    if not first or not first[0] > 0:
        raise Unsupported


def _log(series: Any) -> Any:
    _require_positive(series)
    return series.log()


def _sqrt(series: Any) -> Any:
    _require_positive(series)
    return series.sqrt()


def _total(*parts: Any) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


RULES: Mapping[str, Callable[..., Any]] = {
    "add": _total,
    "neg": lambda a: -a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: (_log(a) * b).exp(),
    "sqrt": _sqrt,
    "exp": lambda a: a.exp(),
    "log": _log,
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
}


__all__ = ["Series", "expand", "power_sum", "sum_of_piece"]
