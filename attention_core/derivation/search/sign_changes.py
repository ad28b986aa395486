r"""Zeros that no number of ours hits: $e^x + x \ne 0$ and $(\cos x - x)^2 > 0$ fail at an irrational point.

Of one real variable a continuous function that changes its sign has a zero in between. So a step that says that a
difference is never zero is refuted by an interval: the signs at its ends are certain, and on all of it ball arithmetic
evaluates every part of the step by continuous operations alone.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

from flint import arb, fmpq

from attention_core.derivation.cases.admissible import NoCase
from attention_core.derivation.cases.generate import Completion, completion
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, ball, evaluate, precision, sign_of
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site

CONTINUOUS = frozenset(
    {"const", "leaf", "add", "mul", "inv", "powi", "pow", "exp", "log", "sqrt", "abs", "max", "min", "pi", "sin", "cos",
     "erf", "erfc"}
)  # fmt: skip
GRID = [fmpq(k, 4) for k in range(-80, 81)] + [fmpq(sign * k) for k in (50, 100, 1000) for sign in (-1, 1)]
HALVINGS = 60
BITS = 256
SITES = 3


def search_sign_changes(problem: Problem) -> Finding | None:
    """Look for an interval with a zero; the finding if one refutes."""
    if problem.claim.op not in ("!=", "<", ">") or problem.moves:
        return None
    sites = [one for one in problem.sites.values() if one is not None and len(one.pairs) == 1]
    for site in sites[:SITES]:
        entries = site.plan.entries.values()
        made = completion(site.plan) if len(entries) == 1 else None
        if made is None or made.steps or len(made.free) != 1 or any(symbol.values for symbol, _ in entries):
            continue
        if any(site.low.graph.ops[node] not in CONTINUOUS for node in site.order):
            continue
        if time.process_time() < problem.deadline and (found := _search(problem, site, made)):
            return found
    return None


def _search(problem: Problem, site: Site, made: Completion) -> Finding | None:
    signs = [(at, sign) for at in sorted(GRID) if (sign := _sign(problem, site, made, at))]
    for (low, before), (high, after) in pairwise(signs):
        if before * after < 0:
            ends = _narrow(problem, site, made, low, high, before)
            if _is_continuous(site, made, *ends):
                return _finding(problem, site, made, *ends)
    return None


def _values(site: Site, made: Completion, roots: list[int], at: fmpq | arb) -> list[fmpq | arb]:
    (leaf,) = made.free
    with precision(BITS):
        return evaluate(site.low.graph, roots, {leaf: at})


def _sign(problem: Problem, site: Site, made: Completion, at: fmpq) -> int:
    """The sign of what must not be zero at an admissible point; 0 where it is not known."""
    (leaf,) = made.free
    try:
        made.case({leaf: at})
        left, right = _values(site, made, _sides(problem, site), at)
        with precision(BITS):
            return sign_of(left - right)
    except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return 0


def _sides(problem: Problem, site: Site) -> list[int]:
    """What must differ: the two sides, or the base of an even power and 0."""
    ((left, right),) = site.pairs
    if problem.claim.op == "!=":
        return [left, right]
    power, zero = (left, right) if problem.claim.op == ">" else (right, left)
    return [_base(site.low.graph, power), zero] if _is_zero(site.low.graph, zero) else [left, right]


def _base(graph: Graph, node: int) -> int:
    even = graph.ops[node] == "powi" and graph.data[node] % 2 == 0 and graph.data[node] > 0
    return graph.args[node][0] if even else node


def _is_zero(graph: Graph, node: int) -> bool:
    return graph.ops[node] == "const" and graph.data[node] == 0


def _narrow(problem: Problem, site: Site, made: Completion, low: fmpq, high: fmpq, before: int) -> tuple[fmpq, fmpq]:
    """A shorter interval with the same signs at its ends."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        sign = _sign(problem, site, made, middle)
        if sign == 0:
            break
        low, high = (middle, high) if sign == before else (low, middle)
    return low, high


def _is_continuous(site: Site, made: Completion, low: fmpq, high: fmpq) -> bool:
    """Whether each part of the step is defined on all of an interval, and so is a continuous function there.

    Intervals of declarations hold between their points; all other hypotheses are compared on all of the interval.
    """
    more = [c for c in (*site.plan.constraints, *site.plan.checks) if c.leaves]
    try:
        with precision(BITS):
            whole = arb(low).union(arb(high))
        found = _values(site, made, [*site.pairs[0], *(c.difference for c in more)], whole)
        with precision(BITS):
            holds = all(COMPARE[c.op](sign_of(value)) for c, value in zip(more, found[2:], strict=True))
        return holds and all(ball(one).is_finite() for one in found)
    except (Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return False


def _finding(problem: Problem, site: Site, made: Completion, low: fmpq, high: fmpq) -> Finding:
    (symbol, _) = site.plan.entries[made.free[0]]
    near = [f"{float(end.p) / float(end.q):.15g}" for end in (low, high)]
    between = near[0] if near[0] == near[1] else f"between {near[0]} and {near[1]}"
    close = {name: value for name, value in site.env.items() if name in problem.close}
    left, right = (
        ball(one).str(12, radius=False) for one in _values(site, made, list(site.pairs[0]), (low + high) / 2)
    )
    text = (
        f"both sides are equal at one {symbol.name} near {near[0]}: their difference changes its sign there, and is "
        "continuous"
    )
    example = Counterexample({**close, symbol.name: between}, left, right)
    return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)


__all__ = ["search_sign_changes"]
