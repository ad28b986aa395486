"""Certified contradictions among hypotheses.

Why hypotheses cannot be met, with a certificate: bounds that leave no value, equations whose one side is positive.
Finding nothing is not a certificate; then the answer is '' and the verdict UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from attention_core.derivation.algebra.normal import Facts, Normal, is_nonnegative, is_zero
from attention_core.derivation.algebra.ratios import TooComplex
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, evaluate, sign_of
from attention_core.derivation.lowering.plans import CasePlan, Constraint


def impossible(plan: CasePlan) -> str:
    """A contradiction among the constraints at one tuple of sizes, in words."""
    for c in plan.constraints:
        if not c.leaves:
            try:
                (value,) = evaluate(plan.low.graph, [c.difference], {}, c.order)
                if not COMPARE[c.op](sign_of(value)):
                    return "a hypothesis between constants is false"
            except (Undefined, Imprecise, TooLarge):
                continue
    return _two_values(plan) or _empty_interval(plan) or _never_zero(plan)


def _two_values(plan: CasePlan) -> str:
    """One quantity that would equal two numbers, such as a length of 1 and of 2."""
    values: dict[int, fmpq] = {}
    for c in (*plan.constraints, *plan.checks):
        for node, other in ((c.left, c.right), (c.right, c.left)):
            value = plan.low.graph.value(other)
            if c.op == "=" and value is not None and values.setdefault(node, value) != value:
                return f"one quantity would be {values[node]} and {value}"
    return ""


def _empty_interval(plan: CasePlan) -> str:
    """A symbol whose constant bounds leave no value."""
    for node, (symbol, _) in plan.entries.items():
        low: list[tuple[fmpq, bool]] = []
        high: list[tuple[fmpq, bool]] = []
        for bound, ends in ((symbol.lower, low), (symbol.upper, high)):
            if bound is not None and bound[0].op == "const":
                ends.append((fmpq(bound[0].data.numerator, bound[0].data.denominator), bound[1]))
        for c in plan.constraints:
            line = _line(plan, c, node)
            if line is None or c.op == "!=":
                continue
            slope, offset = line
            if c.op == "=" or slope > 0:
                high.append((-offset / slope, c.op == "<"))
            if c.op == "=" or slope < 0:
                low.append((-offset / slope, c.op == "<"))
        for a, open_a in low:
            for b, open_b in high:
                if a > b or (a == b and (open_a or open_b)):
                    return f"{symbol.name} would lie above {a} and below {b}"
    return ""


def _line(plan: CasePlan, c: Constraint, node: int) -> tuple[fmpq, fmpq] | None:
    """Slope and offset of a constraint on this leaf alone, by its normal form; None if it is not linear."""
    if c.leaves != {node}:
        return None
    try:
        form = Normal(plan.low.graph, [c.difference], Facts(), {}, float("inf"))
        top, bottom = form.of(c.difference)
    except (TooComplex, OverflowError, ZeroDivisionError, TooLarge):
        return None
    if not bottom.is_constant() or top.total_degree() != 1 or form.atoms:
        return None
    slope, offset = fmpq(0), fmpq(0)
    for monomial, coefficient in zip(top.monoms(), top.coeffs(), strict=True):
        if any(monomial):
            slope = coefficient
        else:
            offset = coefficient
    return slope, offset


def _never_zero(plan: CasePlan) -> str:
    """An equation whose difference is positive everywhere, such as x^2 + 1 = 0."""
    for c in plan.constraints:
        if c.op != "=":
            continue
        for node in (c.difference, plan.low.graph.neg(c.difference)):
            try:
                form = Normal(plan.low.graph, [node], Facts(plan.collect_facts().nonnegative), {}, float("inf"))
                top, bottom = form.of(node)
            except (TooComplex, OverflowError, ZeroDivisionError, TooLarge, ArithmeticError):
                continue
            constant = next((v for m, v in zip(top.monoms(), top.coeffs(), strict=True) if not any(m)), fmpq(0))
            if bottom.is_constant() and constant > 0 and form.is_positive(top):
                return "the two sides of an equation among them differ by something positive"
    return ""


def is_never_defined(graph: Graph, order: Sequence[int], given: Facts, sized: bool = False) -> bool:
    """Whether a node is undefined at every value: 1 over 0, the root of a negative, the logarithm of no positive.

    `sized` says that constants come from sizes as well: then they show nothing.
    """
    for node in order:
        op = graph.ops[node]
        if sized and not graph.leaves([node]):
            continue
        if op == "inv" and is_zero(graph, [graph.args[node][0]], given):
            return True
        if op == "log" and is_nonnegative(graph, graph.neg(graph.args[node][0]), given):
            return True
        if op == "sqrt":
            above = graph.sub(graph.neg(graph.args[node][0]), graph.const(fmpq(1, 10**6)))
            if is_nonnegative(graph, above, given):
                return True
    return False


__all__ = ["impossible", "is_never_defined"]
