"""The cases that are tried at one tuple of sizes and indices.

Cases at one site: drawn, compared, and for an inequality altered a little from where it is tightest.
The first that refutes ends the search; the others are counted.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from attention_core.derivation.cases.admissible import Case, NoCase
from attention_core.derivation.cases.counterexamples import refuted
from attention_core.derivation.cases.generate import draw
from attention_core.derivation.cases.sites import Site, outsized
from attention_core.derivation.cases.tally import Best
from attention_core.derivation.graph.choices import Choices, altered
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.limits.evaluate import TOO_WIDE
from attention_core.derivation.records import Finding

if TYPE_CHECKING:
    from attention_core.derivation.decision.decide import Decider


def tried(decider: Decider, site: Site, count: int, share: int = 0) -> Finding | None:
    """Cases at one site, for an inequality `share` altered ones as well; the finding if one refutes."""
    constant = not any(site.low.graph.ops[n] == "leaf" for n in site.order)
    if constant or not site.plan.entries:
        count = min(count, 2 if site.plan.entries else 1)
    elif not decider.tuples.sizes:
        count *= 6
    if decider.moves and decider.tally.cases > 24:
        count = min(count, 2)
    before, best = decider.tally.cases, Best()
    for number in range(count):
        if time.process_time() > decider.deadline:
            break
        choices, case = decider.case(site.plan, decider.effort.seed * 1_000_003 + number)
        if case is None or choices is None:
            if decider.tally.cases == before and number:
                break
            continue
        if found := _judge(decider, site, choices, case, best):
            return found
    if decider.claim.op in ("<", "<=", ">", ">=") and not constant:
        found = _climb(decider, site, share, best)
        if found is not None:
            return found
    if decider.tally.cases > before:
        decider.tally.tuples.append(site.env)
    return None


def _judge(decider: Decider, site: Site, choices: Choices, case: Case, best: Best) -> Finding | None:
    """One case: the finding if it refutes; else it is counted."""
    try:
        outcome = decider.outcome(site, case)
    except Undefined as error:
        decider.tally.undefined += 1
        decider.tally.why = str(error)
        return None
    if outcome.holds is None and outcome.note == TOO_WIDE and any(callable(v) for v in case.values()):
        decider.tally.enclosed += 1  # limits are decided at rational values of the other symbols
        return None
    if outcome.holds is None:
        if not outcome.note and outsized(site, case):
            decider.tally.outsized += 1  # smaller values decide as well, and say more
            return None
        decider.tally.unclear, decider.tally.note = site.env, outcome.note
    elif not outcome.holds:
        return refuted(decider, site, choices.made)
    else:
        best.add(choices.made, outcome.slack)
    decider.tally.add(outcome)
    return None


def _climb(decider: Decider, site: Site, steps: int, best: Best) -> Finding | None:
    """For an inequality: go on from the tightest cases, altering a few choices at a time.

    Where the sides are equal in every case (a mean of one number) nothing is tighter than the rest: the steps
    are left to other sizes.
    """
    rng = random.Random(decider.effort.seed * 1_000_003 + len(decider.sites))  # other steps at every tuple
    for step in range(steps):
        if time.process_time() > decider.deadline or (start := best.start(step)) is None:
            break
        decider.altered -= 1
        choices = Choices(replay=altered(start, rng))
        try:
            case = draw(site.plan, choices)
        except (NoCase, Undefined, ZeroDivisionError, TooLarge):
            continue
        if found := _judge(decider, site, choices, case, best):
            return found
    return None
