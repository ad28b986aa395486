"""Factorials and binomial coefficients at sizes far up: exact while their digits are few, else enclosed."""

from __future__ import annotations

from math import comb, factorial

from flint import arb, fmpq

from attention_core.derivation.graph.numbers import Value, exact
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.search.huge import Env, Huge, handles
from attention_core.derivation.terms.terms import Term

WRITTEN_OUT = 3000  # factors of a number that is kept exactly
LARGEST = 10**12


def _whole(at: Huge, term: Term, env: Env) -> int:
    value: Value = at.number(term, env)
    if not exact(value) or value.q != 1 or not 0 <= value <= LARGEST:
        raise Unsupported
    return int(value)


@handles("factorial")
def _factorial(at: Huge, term: Term, env: Env) -> Value:
    n = _whole(at, term.args[0], env)
    return fmpq(factorial(n)) if n <= WRITTEN_OUT else arb(n + 1).gamma()


@handles("binom")
def _binom(at: Huge, term: Term, env: Env) -> Value:
    n, k = (_whole(at, one, env) for one in term.args)
    if k > n:
        return fmpq(0)
    if min(k, n - k) <= WRITTEN_OUT:
        return fmpq(comb(n, k))
    return (arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()).exp()


OPS = frozenset({"factorial", "binom"})
"""What is added here to the table of `huge`."""
