r"""Identities of averages that hold for any joint law: $\operatorname{Var}(X + Y)$ by variances and a covariance.

Both sides are multiplied out as polynomials in numbers and in averages of their monomials. Averages are linear, and an
average inside of another one is a constant. Every number counts as random, so what is equal then is equal whatever
depends on what, as long as the averages exist.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.terms.terms import Relation, Term

MAX_MONOMIALS = 200
Atom = tuple[str, ...]  # a number, or "E" and the names of an average's monomial
Monomial = tuple[Atom, ...]
Polynomial = dict[Monomial, Fraction]


def holds_for_any_law(claim: Relation) -> bool:
    """Whether both sides of an equation between averages of numbers are the same for any joint law.

    Args:
        claim: The typed claim.
    """
    if claim.op != "=" or claim.over or claim.where:
        return False
    sides = (claim.left, claim.right)
    if not any(term.op == "expect" for side in sides for term in side.walk()):
        return False
    left, right = (_expand(side) for side in sides)
    return left is not None and left == right


def _expand(term: Term) -> Polynomial | None:
    """A term as a polynomial, None where it is none of numbers and their averages."""
    if not term.type.scalar and term.type.kind != "zero":
        return None
    if term.op == "const":
        return {(): Fraction(term.data)} if term.data else {}
    if term.op == "leaf":
        return {((str(term.data),),): Fraction(1)}
    if term.op not in ("add", "neg", "mul", "expect"):
        return None
    parts = [_expand(one) for one in term.args]
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return None
    if term.op == "expect":
        return _average(known[0]) if len(known) == 1 else None
    if term.op == "neg":
        return {key: -value for key, value in known[0].items()}
    out = known[0]
    for one in known[1:]:
        out = _add(out, one) if term.op == "add" else _multiply(out, one)
        if len(out) > MAX_MONOMIALS:
            return None
    return out


def _add(left: Polynomial, right: Polynomial) -> Polynomial:
    out = dict(left)
    for key, value in right.items():
        out[key] = out.get(key, Fraction(0)) + value
    return {key: value for key, value in out.items() if value}


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for one, factor in left.items():
        out = _add(out, {tuple(sorted((*one, *other))): factor * value for other, value in right.items()})
    return out


def _average(body: Polynomial) -> Polynomial:
    """The average of a polynomial, with the averages in it as constants."""
    out: Polynomial = {}
    for monomial, factor in body.items():
        fixed = [one for one in monomial if len(one) > 1]
        random = [one[0] for one in monomial if len(one) == 1]
        inside = [("E", *random)] if random else []
        out = _add(out, {tuple(sorted((*fixed, *inside))): factor})
    return out
