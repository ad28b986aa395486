r"""Roots at which strict relations fail.

A strict inequality, or one with \ne, between polynomials in one number fails at a real root of their difference,
which need not be rational: (x^2 - 2)^2 > 0. That both sides are equal there needs no evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq, fmpz_poly

from attention_core.derivation.cases.admissible import NoCase, require
from attention_core.derivation.cases.counterexamples import case_values, describe_counterexample
from attention_core.derivation.graph.compare import format_value
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Imprecise, evaluate, exact, precision
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site

MOST = 8


class RealRoot:
    """One real root of a polynomial, enclosed at the precision of the moment."""

    def __init__(self, poly: fmpz_poly, place: int) -> None:
        self.poly, self.place = poly, place

    def __call__(self) -> arb:
        """The root."""
        return real_roots(self.poly)[self.place]


def real_roots(poly: fmpz_poly) -> list[arb]:
    """The real roots, each once, from below; a root whose imaginary part is exactly 0 is certainly real."""
    found = [root.real for root, _ in poly.complex_roots() if root.imag == 0]
    return sorted(found, key=lambda r: float(r.mid()))


def equal_at_root(problem: Problem, site: Site, leaf: int, coefficients: Sequence[fmpq]) -> Finding | None:
    """The finding if a root of the difference, given by its coefficients, is admitted by the hypotheses."""
    from flint import fmpq_poly

    poly = fmpz_poly(list(fmpq_poly(list(coefficients)).numer()))
    for place in range(min(MOST, len(real_roots(poly)))):
        case: dict[int, Any] = {leaf: RealRoot(poly, place)}
        try:
            with precision(256):
                require(site.plan, case, everywhere=True)
                sides = evaluate(site.low.graph, list(site.pairs[0]), case, site.order)
        except (NoCase, Undefined, Imprecise, TooLarge):
            continue
        at = format_value(next((s for s in sides if exact(s)), sides[0]))
        example = Counterexample(case_values(problem, site, case), at, at, "")
        text = f"{describe_counterexample(problem.claim.op, example)}, a root of their difference"
        return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)
    return None


__all__ = ["RealRoot", "equal_at_root", "real_roots"]
