"""Numbers sum_i q_i sqrt(n_i) e^{r_i} with rational q, square-free n, and r a sum of rational multiples of roots.

Sums of rational multiples of sqrt(n) e^r, exactly: what 1/sqrt(h) and fixed scores bring into expansions.
Roots of different square-free numbers are independent over the rationals, and exponentials of different algebraic
numbers over the algebraic ones (Lindemann and Weierstrass), so that zero is recognised.
"""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq, fmpz

MAX_BITS = 160
MAX_TERMS = 16
Exponent = tuple[tuple[int, Any], ...]  # sorted (square-free number, rational factor)
Key = tuple[int, Exponent]


class Roots:
    """At least one true root or exponential occurs; what is rational comes back as `fmpq`."""

    def __init__(self, table: dict[Key, fmpq]) -> None:
        self.table = table

    def ball(self) -> arb:
        """An enclosure at the precision of the moment."""
        total = arb(0)
        for (n, exponent), q in self.table.items():
            inner = sum((arb(r) * arb(m).sqrt() for m, r in exponent), arb(0))
            total += arb(q) * arb(n).sqrt() * inner.exp()
        return total

    def __add__(self, other: Any) -> Any:
        table = _table(other)
        if table is None:
            return self.ball() + other
        out = dict(self.table)
        for key, q in table.items():
            out[key] = out.get(key, fmpq(0)) + q
        return _build_sum(out)

    def __mul__(self, other: Any) -> Any:
        table = _table(other)
        if table is None:
            return self.ball() * other
        out: dict[Key, fmpq] = {}
        for (n, a), q in self.table.items():
            for (m, b), r in table.items():
                common = int(fmpz(n).gcd(fmpz(m)))
                key = n * m // common**2, _add_exponents(a, b)
                out[key] = out.get(key, fmpq(0)) + q * r * common
        return _build_sum(out)

    def __neg__(self) -> Roots:
        return Roots({key: -q for key, q in self.table.items()})

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Roots):
            return self * (1 / other)
        return self * (1 / other if isinstance(other, arb) else fmpq(1) / other)

    def __rtruediv__(self, other: Any) -> Any:
        if len(self.table) == 1:
            (((n, exponent), q),) = self.table.items()
            return Roots({(n, tuple((m, -r) for m, r in exponent)): 1 / (q * n)}) * other
        return other / self.ball()

    def __pow__(self, whole: int) -> Any:
        result: Any = fmpq(1)
        for _ in range(whole):
            result = self * result
        return result

    def __str__(self) -> str:
        return str(self.ball().str(8, radius=False))


def _table(value: Any) -> dict[Key, fmpq] | None:
    if isinstance(value, Roots):
        return value.table
    return {(1, ()): fmpq(value)} if isinstance(value, fmpq | int) else None


def _add_exponents(a: Exponent, b: Exponent) -> Exponent:
    table = dict(a)
    for n, q in b:
        table[n] = table.get(n, fmpq(0)) + q
    return tuple(sorted((n, q) for n, q in table.items() if q != 0))


def _build_sum(table: dict[Key, fmpq]) -> Any:
    kept = {key: q for key, q in table.items() if q != 0}
    if not kept:
        return fmpq(0)
    if set(kept) == {(1, ())}:
        return kept[1, ()]
    found = Roots(kept)
    return found if len(kept) <= MAX_TERMS else found.ball()


def square_root(value: fmpq) -> Any:
    """The root of a rational number that is not negative, exactly where its factors are found."""
    if value == 0:
        return fmpq(0)
    whole = int(value.p * value.q)  # sqrt(p / q) = sqrt(p q) / q
    if whole.bit_length() > MAX_BITS:
        return arb(value).sqrt()
    outside, inside = 1, 1
    for prime, power in fmpz(whole).factor():
        outside *= int(prime) ** (power // 2)
        inside *= int(prime) ** (power % 2)
    return _build_sum({(inside, ()): fmpq(outside, int(value.q))})


def exponential(value: Any) -> Any:
    """e to a rational number or to a sum of roots, exactly; None of anything else."""
    table = _table(value)
    if table is None or any(exponent for _, exponent in table):
        return None
    return _build_sum({(1, tuple(sorted((n, q) for (n, _), q in table.items() if q != 0))): fmpq(1)})


def logarithm(value: Any) -> Any:
    """The logarithm of e^r with a known r; None of anything else."""
    if not isinstance(value, Roots) or len(value.table) != 1:
        return None
    (((n, exponent), q),) = value.table.items()
    return _build_sum({(m, ()): r for m, r in exponent}) if n == 1 and q == 1 else None
