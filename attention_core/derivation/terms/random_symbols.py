"""Random symbols as ordinary ones, and what their laws ask of their parameters."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.terms.context import Distribution, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, Term, integer

MAX_SUPPORT = 2000


def derive_conditions(law: Distribution, line: int) -> list[Relation]:
    """What the parameters of a law must satisfy."""
    zero, one = integer(0), integer(1)
    p = law.parameters
    if law.name == "bernoulli":
        return [Relation(p[0], ">=", zero, line), Relation(p[0], "<=", one, line)]
    if law.name == "geometric":
        return [Relation(p[0], ">", zero, line), Relation(p[0], "<=", one, line)]
    if law.name == "uniform":
        return [Relation(p[0], "<", p[1], line)]
    if law.name == "categorical" and all(t.type.scalar for t in p):
        total = Term("add", p, SCALAR) if len(p) > 1 else p[0]
        return [*(Relation(t, ">=", zero, line) for t in p), Relation(total, "=", one, line)]
    if law.name == "normal":
        spread = _factor_of_identity(p[1])
        return [Relation(spread, ">=", zero, line)] if spread is not None and spread.op != "const" else []
    return []


def every_outcome(symbol: Symbol) -> Symbol:
    """A random symbol outside expectations as an ordinary one: the claim is about every value that it can take.

    Of an interval the ends are left out, as they have probability 0.
    """
    law = symbol.law
    assert law is not None
    if law.name == "normal":
        return symbol
    if law.name == "uniform" and not law.index:
        low, high = law.parameters
        return replace(symbol, lower=(low, True), upper=(high, True))
    known = [value for p in law.parameters if (value := _constant(p)) is not None]
    if len(known) == len(law.parameters):
        if law.name == "bernoulli" and 0 < known[0] < 1:
            return replace(symbol, values=(0, 1))
        if law.name == "categorical" and min(known) > 0:
            return replace(symbol, values=tuple(range(1, len(known) + 1)))
        if law.name == "range" and known[1] - known[0] < MAX_SUPPORT:
            return replace(symbol, values=tuple(range(int(known[0]), int(known[1]) + 1)))
    raise Unsettled(
        f"{symbol.name} is random and stands outside \\mathbb{{E}}, \\operatorname{{Var}} and \\Pr: its outcomes are "
        "known for normal and uniform laws, and for laws on finitely many values whose probabilities are numbers"
    )


def _constant(term: Term) -> Fraction | None:
    """The number of a term without symbols."""
    if term.op == "const":
        return Fraction(term.data)
    parts = [_constant(a) for a in term.args]
    if term.op == "div" and len(parts) == 2 and parts[0] is not None and parts[1]:
        return parts[0] / parts[1]
    return None


def _factor_of_identity(term: Term) -> Term | None:
    """s of s or s I, where it is seen to be that."""
    if term.type.scalar:
        return term
    if term.op == "mul" and term.args[0].type.scalar and term.args[1].op == "eye":
        return term.args[0]
    return None


def is_random(symbol: Symbol | None) -> bool:
    """Whether a symbol is random."""
    return symbol is not None and symbol.law is not None
