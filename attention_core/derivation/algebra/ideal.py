"""Reduction modulo the declared identities.

Declared identities as polynomials known to be 0: a Groebner basis as far as it goes, and reduction modulo it.
Every reduction stays in the ideal, so reaching 0 is sound even where the basis was cut short.
"""

from __future__ import annotations

from math import lcm
from typing import Any

from flint import Ordering, fmpq, fmpz_mpoly_ctx, fmpz_mpoly_vec

LIMITS = (160, 240, 160)  # polynomials in the basis, terms of one, bits of a coefficient
Poly = Any


class Ideal:
    """The identities `polys`, given in the ring `ring` (flint.fmpq_mpoly_ctx)."""

    def __init__(self, ring: Any, polys: list[Poly]) -> None:
        self.ring = ring
        names = [*ring.names(), "marker"]
        self.whole = fmpz_mpoly_ctx.get(names, Ordering.degrevlex)
        self.marker = len(names) - 1
        started = [self.integral(p, 0)[0] for p in polys]
        started = [p for p in started if not p.is_zero()]
        self.basis: Any = None
        if started:
            basis = fmpz_mpoly_vec(started, self.whole)
            self.basis = basis.buchberger_naive(limits=LIMITS)[0] if len(started) <= 40 else basis

    def integral(self, poly: Poly, marker: int) -> tuple[Any, int]:
        """The polynomial times the common denominator, plus that times `marker`, over the integers."""
        terms = list(zip(poly.monoms(), poly.coeffs(), strict=True))
        scale = lcm(1, *(int(c.q) for _, c in terms))
        table = {(*m, 0): int(c.p) * (scale // int(c.q)) for m, c in terms}
        if marker:
            table[(*(0,) * self.marker, 1)] = scale
        return self.whole.from_dict(table), scale

    def reduce(self, poly: Poly) -> Poly:
        """A polynomial equal to `poly` wherever the identities hold; 0 if the basis shows that it is 0."""
        if self.basis is None or poly.is_zero() or poly.is_constant():
            return poly
        whole, _ = self.integral(poly, 1)
        rest = whole.reduction_primitive_part(self.basis)
        scale, table = fmpq(0), {}
        for monomial, c in zip(rest.monoms(), rest.coeffs(), strict=True):
            if monomial[self.marker]:
                scale = fmpq(c)
            else:
                table[monomial[:-1]] = fmpq(c)
        if scale == 0:
            return poly
        return self.ring.from_dict({m: c / scale for m, c in table.items()}) if table else self.ring.constant(0)
