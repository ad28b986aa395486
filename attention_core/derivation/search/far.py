"""A search at values of extreme size.

Values far out: towards infinity, towards the ends of intervals and towards 0, in steps that grow like a tower, and
around every number that the claim names. Slow growth such as log(1 + e^x) shows nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.cases.generate import Completion, NoCase, completion, domain
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise
from attention_core.derivation.lowering.spaces import constants

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site
    from attention_core.derivation.records import Finding

EXACT = (10, 40, 100, 400, 1_400, 4_000, 14_000)  # powers of two that are tried as rationals
OPEN = (60_000, 10**6, 10**9, 10**12, 10**20, 2**100, 2**1_000, 2**30_000)  # ... and enclosed, of free numbers alone
NAMED_BITS = 20_000  # of a number in the claim
NAMED = 24
SINGLE = 4  # entries that go out alone
SITES = 2
NODES = 400  # of one site
WORK = 60_000  # operations at one site
SHARE = 0.05  # of a step's time, as the last resort


class Power:
    """A power of two with a sign, enclosed at any precision, as a leaf's value; shown as it is written."""

    def __init__(self, exponent: int, sign: int = 1) -> None:
        self.exponent, self.sign = exponent, sign

    def __call__(self) -> arb:
        """The value."""
        return arb((self.sign, self.exponent))

    def __str__(self) -> str:
        size = abs(self.exponent)
        inner = str(size) if size < 10**24 else f"(2^{size.bit_length() - 1})"
        return f"{'-' if self.sign < 0 else ''}2^{'-' if self.exponent < 0 else ''}{inner}"


def far(problem: Problem) -> Finding | None:
    """Search far out at the smallest tuples; the finding if a case refutes."""
    if problem.moves or problem.claim.op == "->":
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    named = _collect_numbers(problem)
    small = problem.tuples.small()
    for env in (small[:1] + small[-1:])[:SITES]:
        try:
            site = problem.site(env)
            if site is not None and (found := _at(problem, site, named, end)):
                return found
        except (TooLarge, Unsettled):
            continue
    return None


def _collect_numbers(problem: Problem) -> list[fmpq]:
    """The numbers of the claim, and what is next to them, twice and squared."""
    found: dict[tuple[int, int], fmpq] = {}
    numbers = constants(problem.context, [problem.claim], highest=2**NAMED_BITS)
    for size in sorted((abs(fmpq(v.numerator, v.denominator)) for v in numbers), reverse=True):
        for value in (2 * size, size + 1, size - 1, size, size / 2, size * size):
            found[int(value.p), int(value.q)] = value
    return list(found.values())[:NAMED]


def _at(problem: Problem, site: Site, named: list[fmpq], end: float) -> Finding | None:
    if not site.plan.entries or len(site.order) > NODES:
        return None
    made = completion(site.plan)
    if made is None:
        return None
    work = 0
    for values in _points(problem, made, named):
        if time.process_time() > end or work > WORK:
            return None
        work += len(site.order)
        try:
            case = made.case(values)
            outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
        except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError, OverflowError):
            continue
        if outcome.holds is False:
            problem.tally.far = True
            return refutation(problem, site, case, outcome)
    return None


def _points(problem: Problem, made: Completion, named: list[fmpq]) -> Iterator[dict[int, Any]]:
    """Assignments of the free entries, those least far out first."""
    free = [n for n in made.free if not made.plan.entries[n][0].values]
    bases = list(islice(_bases(problem, made), 2))
    levels: list[Any] = [*EXACT, *(OPEN if not made.steps else ())]
    for base in bases:
        for node in free[:SINGLE]:
            for value in named:
                yield {**base, node: value}
                yield {**base, node: -value}
        for value in named:
            yield {**base, **dict.fromkeys(free, value)}
            yield {**base, **dict.fromkeys(free, -value)}
    for level in levels:
        for base in bases:
            ends = {n: _ends(made, n, base, level) for n in free}
            for chosen in _choose_ends(free, ends):
                yield {**base, **chosen}


def _choose_ends(free: Sequence[int], ends: dict[int, list[Any]]) -> Iterator[dict[int, Any]]:
    """Entries at their ends: all alike, one alone, the first few in every way."""
    for k in range(max((len(e) for e in ends.values()), default=0)):
        yield {n: ends[n][min(k, len(ends[n]) - 1)] for n in free if ends[n]}
    for node in free[:SINGLE]:
        yield from ({node: value} for value in ends[node])
    if 2 <= len(free) <= 3:
        for values in islice(product(*(ends[n] for n in free)), 64):
            yield dict(zip(free, values, strict=True))
    elif len(free) > 3:
        for first, rest in product(range(4), range(4)):
            if first < len(ends[free[0]]) and all(rest < len(ends[n]) for n in free[1:]):
                yield {n: ends[n][rest] for n in free[1:]} | {free[0]: ends[free[0]][first]}


def _ends(made: Completion, node: int, base: Case, level: int) -> list[Any]:
    """Values next to the ends of an entry's interval, and next to 0, as near as the level says."""
    symbol, _ = made.plan.entries[node]
    low, high, _, _ = domain(made.plan, symbol, base)
    if low is not None and high is not None:
        step = (high - low) * _power(-level) if level <= EXACT[-1] else None
        return [] if step is None else [high - step, low + step]
    if low is None and high is None:
        return [_power(level), _power(level, -1), _power(-level), _power(-level, -1)]
    sign, edge = (1, low) if low is not None else (-1, high)
    if edge == 0:
        return [_power(level, sign), _power(-level, sign)]
    if level > EXACT[-1]:
        return [_power(level, sign)]
    return [edge + _power(level, sign), edge + _power(-level, sign)]


def _power(exponent: int, sign: int = 1) -> Any:
    """A power of two: exact as long as that is short."""
    if abs(exponent) > EXACT[-1]:
        return Power(exponent, sign)
    return fmpq(sign * 2**exponent) if exponent >= 0 else fmpq(sign, 2**-exponent)


def _bases(problem: Problem, made: Completion) -> Iterator[dict[int, Any]]:
    """Plain cases to go out from: ones where that is allowed, and a drawn one."""
    ones: dict[int, Any] = dict.fromkeys(made.free, fmpq(1))
    try:
        case = made.case(ones)
        yield {n: case[n] for n in made.free} if not made.steps else ones
    except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        pass
    for seed in range(2):
        _, case_ = problem.case(made.plan, 7001 + seed)
        if case_ is not None and not any(callable(case_[n]) for n in made.free):
            yield {n: case_[n] for n in made.free}


__all__ = ["Power", "far"]
