"""Proof of equations at all sizes.

An equation holds for all sizes and values if the generic entry of the difference reduces to 0.
What hypotheses say enters before: which indices differ, and which inner products are declared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.proofs.indexed import (
    ENDS,
    Atom,
    CannotProve,
    Index,
    Poly,
    Range,
    Rule,
    Sums,
    constant,
    delta,
    is_zero,
    plus,
    scale,
)
from attention_core.derivation.proofs.indexed_entries import Entries
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Relation, Term

RULE = "index normal form: linear sums, contracted indices, exponentials, declared inner products"
SHARE = 3 / 8  # of a step's time, for one attempt


def holds_at_all_sizes(
    context: Context, claim: Relation, hypotheses: Sequence[Relation], tuples: Tuples, seconds: float = 8.0
) -> bool:
    """Whether the generic entry of left - right reduces to 0; `seconds` is the time of the step."""
    if claim.op != "=":
        return False
    before = ENDS.set(time.process_time() + SHARE * seconds)
    try:
        entries = entries_under(context, hypotheses, tuples)
        kind = claim.left.type
        i = entries.free(kind.rows) if kind.kind == "matrix" else 1
        j = entries.free(kind.cols) if kind.kind == "matrix" else 1
        left, right = entries.entry(claim.left, i, j, {}), entries.entry(claim.right, i, j, {})
        return is_zero(plus(left, scale(right, Fraction(-1))))
    except (CannotProve, RecursionError, ZeroDivisionError, KeyError):
        return False
    finally:
        ENDS.reset(before)


def entries_under(context: Context, hypotheses: Sequence[Relation], tuples: Tuples) -> Entries:
    """The entries of terms where the hypotheses hold."""
    ranges: dict[Index, Range] = {}
    apart: set[frozenset[Index]] = set()
    for name in tuples.indices:
        symbol = context.symbols[name]
        ranges[name] = (str(symbol.lowest), str(symbol.highest))
    for relation in hypotheses:
        if relation.op == "!=" and relation.left.op == "int" and relation.right.op == "int" and not relation.over:
            apart.add(frozenset((relation.left.data, relation.right.data)))
    sums = Sums(ranges, apart, [])
    sums.rules += [rule for r in hypotheses if (rule := product_rule(sums, r)) is not None]
    return Entries(context, tuples, sums)


def product_rule(sums: Sums, relation: Relation) -> Rule | None:
    """A hypothesis about inner products as a rule on sum_k x_k.. y_k.."""
    product, value = relation.left, relation.right
    if relation.op != "=" or product.op != "matmul" or value.op not in ("eye", "zeros", "const") or relation.where:
        return None
    left, right = product.args
    first, second = _side(left, True), _side(right, False)
    if first is None or second is None:
        return None
    extent = ("1", str(left.type.cols))

    def apply(a: Atom, b: Atom, index: Index) -> Poly | None:
        if (a[1], b[1]) != (first[0], second[0]) or sums.ranges.get(index) != extent:
            return None
        if a[2][first[1]] != index or b[2][second[1]] != index:
            return None
        i, j = a[2][1 - first[1]], b[2][1 - second[1]]
        if index in (i, j):
            return None
        if value.op == "eye":
            return delta(i, j, sums.apart)
        return constant(value.data) if value.op == "const" else {}

    return apply


def _side(term: Term, left: bool) -> tuple[str, int] | None:
    """Name of the array in a factor, and at which of its two positions the product sums."""
    turned = term.op == "transpose"
    inner = term.args[0] if turned else term
    if inner.op != "leaf":
        return None
    return inner.data, (1 if left else 0) if not turned else (0 if left else 1)
