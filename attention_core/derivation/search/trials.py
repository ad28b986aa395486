"""The cases that are tried at one tuple of sizes and indices.

Cases at one site: drawn, compared, and for an inequality altered a little from where it is tightest.
The first that refutes ends the search; the others are counted.

An equation that agrees to 64 bits may still be false: 1 + e^{-100} = 1. A few of its cases are compared once more
with far more bits, where nothing has proved it.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace

from attention_core.derivation.cases.counterexamples import describe, refutation, shrink_and_report
from attention_core.derivation.cases.generate import NoCase, draw
from attention_core.derivation.cases.problem import Best, Problem, Site, is_outsized
from attention_core.derivation.graph.choices import SPARSE, Choices, alter
from attention_core.derivation.graph.compare import Outcome, compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import MAX_PRECISION, Case, Imprecise, exact
from attention_core.derivation.limits.expander import TOO_WIDE
from attention_core.derivation.lowering.integral_forms import diverges, loses_a_value
from attention_core.derivation.proofs.all_sizes import equal_here, identical, is_proved_everywhere
from attention_core.derivation.records import Finding


def search_cases(problem: Problem, site: Site, count: int, share: int = 0) -> Finding | None:
    """Cases at one site, for an inequality `share` altered ones as well; the finding if one refutes."""
    constant = not any(site.low.graph.ops[n] == "leaf" for n in site.order)
    if constant or not site.plan.entries:
        count = min(count, 2 if site.plan.entries else 1)
    elif not problem.tuples.sizes:
        count *= 6
    if site.plan.modes is SPARSE:
        count *= 6
    if problem.moves and problem.tally.cases > 24:
        count = min(count, 2)
    before, best = problem.tally.cases, Best()
    too_large: TooLarge | None = None
    for number in range(count):
        if time.process_time() > problem.deadline:
            break
        choices, case = problem.case(site.plan, problem.effort.seed * 1_000_003 + number)
        if case is None or choices is None:
            if problem.tally.cases == before and number:
                break
            continue
        try:
            found = _judge(problem, site, choices, case, best)
        except TooLarge as error:  # the other values may be smaller: x^(2^20) is 1 at x = -1
            too_large = error
            continue
        if found:
            return found
    if too_large is not None:
        _note_values(problem, site, too_large, problem.tally.cases > before)
    if problem.claim.op in ("<", "<=", ">", ">=") and not constant:
        found = _climb(problem, site, share, best)
        if found is not None:
            return found
    if problem.tally.cases > before:
        problem.tally.tuples.append(site.env)
    return None


def _note_values(problem: Problem, site: Site, error: TooLarge, compared: bool) -> None:
    """Note that other values were too large. Raises: the error, where no case was compared."""
    if not compared:
        raise error
    where = f" at {describe(site.env)}" if site.env else ""
    if not problem.tally.too_large:
        problem.tally.notes.append(f"other values{where} were too large: {error}")
    problem.tally.too_large = True


def compare_sides(problem: Problem, site: Site, case: Case) -> Outcome:
    """The comparison at one case; where balls cannot tell, exact forms are tried before more bits are spent."""
    op, deadline = problem.claim.op, problem.deadline
    outcome = compare(site.low.graph, site.pairs, op, case, site.order, most=512)
    if (
        outcome.holds is None
        and op in ("=", "<=", ">=")
        and (is_proved_everywhere(problem) or identical(site, deadline, op) or equal_here(site, case, op, deadline))
    ):
        return replace(outcome, holds=True)
    if outcome.holds is None:
        outcome = compare(site.low.graph, site.pairs, op, case, site.order, start=1024)
    return outcome


def _judge(problem: Problem, site: Site, choices: Choices, case: Case, best: Best) -> Finding | None:
    """One case: the finding if it refutes; else it is counted."""
    try:
        outcome = compare_sides(problem, site, case)
    except Undefined as error:
        problem.tally.undefined += 1
        problem.tally.why = str(error)
        problem.tally.lost = problem.tally.lost or loses_a_value(site.low.integrals, case)
        if site.low.integrals and diverges(site.low.integrals, case):
            problem.tally.divergent.append(_numbers(site, case))
        return None
    if outcome.holds is None and outcome.note == TOO_WIDE and any(callable(v) for v in case.values()):
        problem.tally.enclosed += 1  # limits are decided at rational values of the other symbols
        return None
    if outcome.holds is None:
        if not outcome.note and is_outsized(site, case):
            problem.tally.outsized += 1  # smaller values decide as well, and say more
            return None
        problem.tally.unclear, problem.tally.note = site.env, outcome.note
    elif not outcome.holds:
        return shrink_and_report(problem, site, choices.made)
    else:
        best.add(choices.made, outcome.slack)
    if site.low.integrals:
        problem.tally.convergent.append(_numbers(site, case))
    problem.tally.add(outcome)
    return None


def _numbers(site: Site, case: Case) -> dict[str, float]:
    """The values of the symbols that are numbers at a case."""
    plain = {node: symbol for node, (symbol, _) in site.plan.entries.items() if symbol.kind == "array"}
    scalar = {node: symbol for node, symbol in plain.items() if symbol.type is not None and symbol.type.scalar}
    return {symbol.name: float(case[node]) for node, symbol in scalar.items() if exact(case[node])}


def _climb(problem: Problem, site: Site, steps: int, best: Best) -> Finding | None:
    """For an inequality: go on from the tightest cases, altering a few choices at a time.

    Where the sides are equal in every case (a mean of one number) nothing is tighter than the rest: the steps
    are left to other sizes.
    """
    rng = random.Random(problem.effort.seed * 1_000_003 + len(problem.sites))  # other steps at every tuple
    for step in range(steps):
        if time.process_time() > problem.deadline or (start := best.start(step)) is None:
            break
        problem.tally.altered += 1
        choices = Choices(replay=alter(start, rng))
        try:
            case = draw(site.plan, choices)
        except (NoCase, Undefined, ZeroDivisionError, TooLarge):
            continue
        if found := _judge(problem, site, choices, case, best):
            return found
    return None


SITES, CASES = 8, 3
SHORT = 60  # operations of a step that is compared with still more bits
SHARPEST = 4 * MAX_PRECISION
NODES = 2_000
SHARE = 0.05  # of a step's time, as the last resort


def sharpen(problem: Problem) -> Finding | None:
    """Compare a few cases with many bits; the finding if one refutes."""
    if problem.claim.op not in ("=", "<=", ">=") or problem.moves or not problem.tally.bits:
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    sites = [site for site in problem.sites.values() if site is not None and len(site.order) <= NODES]
    for site in sites[:: max(1, len(sites) // SITES)]:
        bits = SHARPEST if len(site.order) <= SHORT else MAX_PRECISION
        for number in range(CASES):
            if time.process_time() > end:
                return None
            _, case = problem.case(site.plan, problem.effort.seed * 1_000_003 + number)
            if case is None:
                break
            try:
                outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=bits, start=bits)
            except (Undefined, Imprecise, TooLarge):
                continue
            if outcome.holds is False:
                return refutation(problem, site, case, outcome)
    return None
