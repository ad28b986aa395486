"""Expressions about random variables.

Expectations, variances, covariances and probabilities as terms: `expect` holds what is averaged.
Variances and covariances are unfolded into expectations here, so that later stages know one operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Call
from attention_core.derivation.terms.shapes import negative, product, transpose
from attention_core.derivation.terms.terms import SCALAR, Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def expect(body: Term) -> Term:
    """E[body], entry by entry."""
    return Term("expect", (body,), body.type)


def expectation(elab: Elaborator, expr: Call) -> Term:
    r"""`\mathbb{E}[X]`, `\operatorname{Var}[X]`, `\operatorname{Cov}[X, Y]`, `\Pr[X \le a]`."""
    if expr.sub and not _all_random(elab, expr):
        raise elab.fail(f"a subscript of {expr.function} is not understood: the average runs over all that is random")
    if expr.function == "Pr":
        chain = expr.args[0]
        if len(expr.args) != 1 or len(chain.ops) != 1 or chain.ops[0] not in COMPARISONS:
            raise elab.fail(r"write a probability as \Pr[X \le a]")
        left, right = (elab.term(e) for e in chain.exprs)
        return expect(Term("indicator", (left, right), SCALAR, chain.ops[0]))
    args = [elab.chain_term(a) for a in expr.args]
    if expr.function == "E" and len(args) == 1:
        return expect(args[0])
    if expr.function == "Var" and len(args) == 1:
        return covariance(args[0], args[0])
    if expr.function == "Cov" and len(args) in (1, 2):
        return covariance(args[0], args[-1])
    raise elab.fail(f"{expr.function} has the wrong number of arguments")


def _all_random(elab: Elaborator, expr: Call) -> bool:
    r"""Whether the subscript of `\mathbb{E}_{x, y}` names all that is random in what is averaged."""
    names = {symbol_name(chain.exprs[0]) for chain in expr.sub if chain.alone}
    symbols = elab.context.symbols
    if len(names) != len(expr.sub) or not all(n in symbols and symbols[n].law is not None for n in names):
        return False
    terms = [elab.term(e) for chain in expr.args for e in chain.exprs]
    used = {t.data for term in terms for t in term.walk() if t.op in ("leaf", "member")}
    return {n for n in used if symbols[n].law is not None} <= names


def covariance(x: Term, y: Term) -> Term:
    """E[x y^T] - E[x] E[y]^T; of a row its transpose is taken first, so that the result is a matrix."""
    x, y = (t if t.type.scalar or t.type.column else transpose(t) for t in (x, y))
    joint = expect(product(x, transpose(y)))
    apart = product(expect(x), transpose(expect(y)))
    return Term("add", (joint, negative(apart)), joint.type if joint.type.kind != "zero" else integer(1).type)
