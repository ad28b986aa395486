"""Certified contradictions among hypotheses, and among sizes.

Why hypotheses cannot be met, with a certificate: bounds that leave no value, equations whose one side is positive.
Finding nothing is not a certificate; then the answer is '' and the verdict UNDECIDED.

Conditions among sizes and indices alone that nothing satisfies are found by elimination of one variable after the
other. Whole numbers are rounded on the way, so that 2 n = 7 is seen; what stays open is not called impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import floor, gcd, lcm

from flint import fmpq

from attention_core.derivation.algebra.normal import Facts, Normal, is_nonnegative, is_zero
from attention_core.derivation.algebra.ratios import TooComplex
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, evaluate, sign_of
from attention_core.derivation.lowering.plans import CasePlan, Constraint
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.terms.terms import Relation, Size, Term


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


MAX_ROWS = 300
Row = tuple[tuple[tuple[str, int], ...], int]  # sum of coefficient * name + constant >= 0
Linear = dict[str, Fraction]  # "" is the constant


def no_sizes(tuples: Tuples) -> bool:
    """Whether it is certain that no sizes and indices satisfy the conditions among them.

    Source: Fourier and Motzkin's elimination over the rationals, each row rounded for whole numbers (Gomory).
    """
    rows = {row for row in _rows(tuples) if row is not None}
    for name in [*tuples.indices, *tuples.sizes]:
        if any(not terms and constant < 0 for terms, constant in rows):
            return True
        above = [r for r in rows if dict(r[0]).get(name, 0) > 0]
        below = [r for r in rows if dict(r[0]).get(name, 0) < 0]
        rows = {r for r in rows if not dict(r[0]).get(name, 0)}
        if len(rows) + len(above) * len(below) > MAX_ROWS:
            return False
        rows |= {_eliminate(a, b, name) for a, b in product(above, below)}
    return any(not terms and constant < 0 for terms, constant in rows)


def _rows(tuples: Tuples) -> Iterator[Row | None]:
    for name in tuples.sizes:
        yield (((name, 1),), -1)
    for name in tuples.indices:
        symbol = tuples.context.symbols[name]
        assert symbol.lowest is not None and symbol.highest is not None
        own: Linear = {name: Fraction(1)}
        low, high = _of_size(symbol.lowest), _of_size(symbol.highest)
        yield None if low is None else _row(_less(own, low))
        yield None if high is None else _row(_less(high, own))
    for relation in tuples.conditions:
        yield from _of_relation(relation)


def _of_relation(relation: Relation) -> Iterator[Row | None]:
    left, right = linear(relation.left), linear(relation.right)
    if left is None or right is None or relation.where:
        return
    if relation.op in (">=", ">", "="):
        yield _row(_less(left, right), strict=relation.op == ">")
    if relation.op in ("<=", "<", "="):
        yield _row(_less(right, left), strict=relation.op == "<")


def _less(left: Linear, right: Linear) -> Linear:
    return {n: left.get(n, Fraction(0)) - right.get(n, Fraction(0)) for n in {*left, *right}}


def _row(form: Linear, strict: bool = False) -> Row:
    """A row of whole coefficients without common factor; `>` among whole numbers is at least one more."""
    scale = lcm(*(c.denominator for c in form.values()))
    whole = {n: int(c * scale) for n, c in form.items()}
    constant = whole.pop("", 0) - (1 if strict else 0)
    terms = {n: c for n, c in whole.items() if c}
    common = gcd(*terms.values()) if terms else 1
    return tuple(sorted((n, c // common) for n, c in terms.items())), floor(Fraction(constant, common))


def _eliminate(above: Row, below: Row, name: str) -> Row:
    up, down = dict(above[0])[name], -dict(below[0])[name]
    names = {n for n, _ in (*above[0], *below[0])}
    form = {n: Fraction(dict(above[0]).get(n, 0) * down + dict(below[0]).get(n, 0) * up) for n in names}
    return _row({**form, "": Fraction(above[1] * down + below[1] * up)})


def _of_size(size: Size) -> Linear | None:
    out: Linear = {}
    for monomial, c in size.terms:
        if monomial and (len(monomial) > 1 or monomial[0][1] != 1):
            return None
        out[monomial[0][0] if monomial else ""] = c
    return out


def linear(term: Term) -> Linear | None:
    """A term among sizes and indices as a linear form, None if it is none."""
    if term.op == "const":
        return {"": Fraction(term.data)}
    if term.op == "int":
        return {str(term.data): Fraction(1)}
    if term.op == "size":
        return _of_size(term.data)
    parts = [linear(a) for a in term.args]
    if any(p is None for p in parts):
        return None
    forms = [p for p in parts if p is not None]
    if term.op == "neg":
        return _less({}, forms[0])
    if term.op == "add":
        total: Linear = {}
        for form in forms:
            total = _less(total, _less({}, form))
        return total
    if term.op == "mul" and len(forms) == 2:
        number, form = forms if not forms[0].keys() - {""} else forms[::-1]
        return None if number.keys() - {""} else {n: c * number.get("", Fraction(0)) for n, c in form.items()}
    if term.op == "div" and not forms[1].keys() - {""} and forms[1].get(""):
        return {n: c / forms[1][""] for n, c in forms[0].items()}
    return None
