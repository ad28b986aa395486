r"""Approximate relations as exact claims.

What an approximate sign claims: an error bound (`within`), a limit (`as`), or a factor (`margin` for \gg).
Without one of these it claims nothing that could be checked, and the step says what to add.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.claims.limit_claims import limit_claim
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.syntax import Chain, Expr, Frac, Group, Minus, Num, Plus, Sup, Times, Unreadable
from attention_core.derivation.reading.domains import domain_of
from attention_core.derivation.terms.shapes import fit, join_types, negative, product
from attention_core.derivation.terms.terms import Relation, ShapeMismatch, Term

if TYPE_CHECKING:
    from attention_core.derivation.reading.steps import Step


def claim(step: Step, elab: Elaborator, left: Term, right: Term) -> Relation:
    """The exact claim of an approximate step."""
    if step.op in (">>", "<<"):
        return _factor(step, elab, Relation(left, step.op, right, step.line))
    if step.option("within"):
        return _bound(step, elab, Relation(left, "~", right, step.line))
    if step.option("as"):
        return limit_claim(step, elab, left, right)
    message = r"\approx claims nothing by itself: write '% within: <bound>' or '% as: S \to \infty' above it"
    raise Unreadable(message, step.line)


def premise(step: Step, relation: Relation) -> Relation:
    """The left side of an implication, its approximate signs made exact by the same options."""
    if relation.op in (">>", "<<", "~"):
        elab = Elaborator(step.context, {name: None for name, _, _ in relation.over}, step.line)
        exact = _bound(step, elab, relation) if relation.op == "~" else _factor(step, elab, relation)
        return replace(exact, over=relation.over, where=relation.where)
    return relation


def _factor(step: Step, elab: Elaborator, relation: Relation) -> Relation:
    if not step.option("margin"):
        raise Unreadable(r"\gg needs a factor: write '% margin: 10' above the step", step.line)
    written = parse_expression(step.option("margin"), step.line)
    number = _number(written)
    if number is not None and number < 1:
        raise Unreadable(
            f"'% margin: {step.option('margin')}' is below 1, so that \\gg would not even say 'greater'", step.line
        )
    factor = elab.term(written)
    large, small = (relation.left, relation.right) if relation.op == ">>" else (relation.right, relation.left)
    if not join_types(large.type, small.type, "compared").scalar:
        raise ShapeMismatch(f"{large.type} has no order: compare entries or norms")
    return Relation(large, ">=", product(factor, small), step.line)


def _number(expr: Expr) -> Fraction | None:
    """The value of a written number, None of what is not written with numerals alone."""
    match expr:
        case Num(value):
            return value
        case Minus(body) | Group("(", (Chain((body,), ()),)):
            inner = _number(body)
            return -inner if inner is not None and isinstance(expr, Minus) else inner
        case Plus(terms):
            found = [_number(one) for one in terms]
            return None if None in found else sum((one for one in found if one is not None), Fraction(0))
        case Frac(top, bottom):
            return _quotient(_number(top), _number(bottom))
        case Times(factors, ops):
            result = _number(factors[0])
            for op, factor in zip(ops, factors[1:], strict=True):
                other = _number(factor)
                if op == "/":
                    result = _quotient(result, other)
                else:
                    result = None if result is None or other is None else result * other
            return result
        case Sup(base, exponent):
            low, high = _number(base), _number(exponent)
            whole = high is not None and high.denominator == 1 and abs(high) <= 64
            return low ** int(high) if low and high is not None and whole else None
    return None


def _quotient(top: Fraction | None, bottom: Fraction | None) -> Fraction | None:
    return top / bottom if top is not None and bottom else None


def _bound(step: Step, elab: Elaborator, relation: Relation) -> Relation:
    if not step.option("within"):
        raise Unreadable(r"\approx needs a bound here: write '% within: <bound>' above the step", step.line)
    bound = elab.term(parse_expression(step.option("within"), step.line))
    if not bound.type.scalar:
        raise Unreadable("the bound after 'within' is a number", step.line)
    kind = join_types(relation.left.type, relation.right.type, "compared")
    sides = fit(relation.left, kind), negative(fit(relation.right, kind))
    gap = Term("magnitudes", (Term("add", sides, kind),), kind)
    return Relation(gap, "<=", Term("filled", (bound,), kind), step.line)


def membership(step: Step, elab: Elaborator) -> Relation:
    """`x \\in [0, 1]^n` as a step: the shape fits, and every entry lies in the interval."""
    left, domain = elab.term(step.left), domain_of(elab, step.right)
    if domain.kind != "array" or domain.type is None or domain.values:
        raise Unreadable("as a step, \\in is understood with \\mathbb{R}, its powers, and intervals", step.line)
    flat = domain.type.column and left.type.vector and left.type.transpose == domain.type
    if left.type != domain.type and not flat and left.type.kind != "zero":
        raise ShapeMismatch(f"{left.type} is not {domain.type}")
    inside = left
    for bound, op in ((domain.lower, "max"), (domain.upper, "min")):
        if bound is not None:
            if bound[1]:
                raise Unreadable(
                    "as a step, \\in is understood with closed intervals: write x > 0 for an open end", step.line
                )
            inside = Term("clip", (inside, bound[0]), left.type, op)
    return Relation(left, "=", inside, step.line)
