r"""Equations with an integral on one side that is infinite: $\int_{-\infty}^\infty e^{z^2/2} \, dz = \sqrt{2 \pi}$.

Where what is integrated changes its sign, or a factor may be 0, nothing is said: then the integral may be meant in
another way, as by its principal value.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.records import Evidence, Finding, Verdict
from attention_core.derivation.terms.terms import Term

_NUMBERS = frozenset(["const", "pi", "sqrt", "exp", "mul", "div", "neg", "pow", "int"])


def compare_infinite(problem: Problem) -> Finding | None:
    """REFUTED where one side of an equation is an infinite integral and the other a number; None elsewhere.

    Args:
        problem: A problem with an integral that is infinite.
    """
    sides = (problem.claim.left, problem.claim.right)
    integrals = [[part for part in side.walk() if part.op in ("integral", "series", "limit")] for side in sides]
    if problem.claim.op != "=" or problem.hypotheses or all(integrals) or not any(integrals):
        return None
    side, name = (sides[0], "left") if integrals[0] else (sides[1], "right")
    if not _is_infinite(side):
        return None
    text = f"the {name} side is infinite, since what is integrated does not fall towards an infinite end"
    return Finding(Verdict.REFUTED, Evidence(f"{text}; the other side is a number"))


def _is_infinite(side: Term) -> bool:
    """Whether a side is an integral, alone or inside another, times numbers that are not 0."""
    while side.op in ("neg", "mul", "div", "integral"):
        if side.op == "integral" and side.args[0].op != "integral":
            return True
        inner = [one for one in side.args[: 1 if side.op == "integral" else None] if not _is_plain_number(one)]
        if len(inner) != 1 or (side.op == "div" and inner[0] is not side.args[0]):
            return False
        side = inner[0]
    return False


def _is_plain_number(term: Term) -> bool:
    """Whether a term is put together from numbers, and is not 0 by being written so."""
    return all(part.op in _NUMBERS and (part.op != "const" or Fraction(part.data) != 0) for part in term.walk())


__all__ = ["compare_infinite"]
