r"""Probabilities of events: `\Pr(X \le a)`, `\Pr(a < X \le b)`, `\Pr(X \le x, Y \le y)`.

With numbers a and b that are not random, P(a < X <= b) is P(X <= b) - P(X <= a) where that is positive, else 0. An
event of several parts is averaged as the product of their indicators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.latex.syntax import Chain
from attention_core.derivation.terms.terms import SCALAR, Term, negative, product, scalar_function

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOT_BELOW = {"<": "<=", "<=": "<"}
"""What has to be taken from P(X <= b): X at a itself belongs to `a <= X` and not to `a < X`."""


def expect(body: Term) -> Term:
    """E[body], entry by entry."""
    return Term("expect", (body,), body.type)


def probability(elab: Elaborator, events: tuple[Chain, ...]) -> Term:
    """The probability that all of some relations hold.

    Args:
        elab: The elaborator.
        events: The relations.

    Raises:
        Unreadable: One of them does not relate numbers.
    """
    if len(events) == 1 and (found := _of_interval(elab, events[0])) is not None:
        return found
    parts = [one for chain in events for one in _indicators(elab, chain)]
    joint = parts[0]
    for part in parts[1:]:
        joint = product(joint, part)
    return expect(joint)


def _indicators(elab: Elaborator, chain: Chain) -> list[Term]:
    """The indicators of the relations of a chain."""
    if chain.alone or not set(chain.ops) <= set(COMPARISONS):
        raise elab.fail(r"write a probability as \Pr[X \le a]")
    sides = [elab.term(one) for one in chain.exprs]
    if len(chain.ops) > 1 and not all(one.type.scalar for one in sides):
        raise elab.fail("an event compares numbers")
    return [
        Term("indicator", (left, right), SCALAR, op)
        for left, op, right in zip(sides, chain.ops, sides[1:], strict=False)
    ]


def _of_interval(elab: Elaborator, chain: Chain) -> Term | None:
    """The probability that a number lies between two others that are not random; None of another event."""
    if len(chain.ops) != 2 or not (set(chain.ops) <= {"<", "<="} or set(chain.ops) <= {">", ">="}):
        return None
    (low, inner, high), (first, last) = (elab.term(one) for one in chain.exprs), chain.ops
    if first in (">", ">="):
        low, high, first, last = high, low, _TURNED[last], _TURNED[first]
    if any(_is_random(elab, one) for one in (low, high)) or not all(one.type.scalar for one in (low, inner, high)):
        return None
    below = expect(Term("indicator", (inner, high), SCALAR, last))
    before = expect(Term("indicator", (inner, low), SCALAR, _NOT_BELOW[first]))
    return scalar_function("relu", Term("add", (below, negative(before)), SCALAR))


def _is_random(elab: Elaborator, term: Term) -> bool:
    """Whether a term is made of anything with a law."""
    known = elab.context.symbols
    names = {str(one.data) for one in term.walk() if one.op in ("leaf", "member")}
    return any(name in known and known[name].law is not None for name in names)


__all__ = ["COMPARISONS", "expect", "probability"]
