r"""A term of a chain that equals neither what stands in front of it nor what stands behind it.

In $A = B' = C$ a hypothesis may make $A = B'$ good, and it makes $B' = C$ good as well if one change of $B'$ makes both
identities. But an author who uses the hypothesis to write $B'$ goes on from there and does not take it back at the next
sign. So a term that is wrong on both sides and right with one change is wrong, whatever words stand farther away. Those
right beside the chain may deny it ("A common mistake is") or say what makes it good ("The rate is constant."), and
words anywhere may give its signs another meaning.

Where another index, exponent or transpose is the change, a usual hypothesis on arrays ($P^2 = P$, of a projection)
still leaves it open: $\|P x\|^2 = x^\top P x = x^\top P^\top P x$ may show what a term is short for.

A bare symbol does not count, since a chain may say what it is ($a_1 = a_2 = \frac{1}{2}$), and neither does a term
between two equal formulas ($P = P^2 = P$), nor one that would repeat what stands beside it without its change
($a + b + c = a - b + c$, see `returning_chains`). Letters in two orders may not commute, and change their sign
where they are exchanged ($a b c = - b a c = b c a$).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.doubts import Decide
from attention_core.derivation.decision.factor_orders import keeps_orders
from attention_core.derivation.decision.given_reasons import has_reasons
from attention_core.derivation.decision.mends import Mend, Search, find_good_mend
from attention_core.derivation.decision.other_arithmetics import equates_numbers
from attention_core.derivation.decision.other_intents import (
    has_infinite_value,
    is_beside,
    is_denied,
    is_of_other_numbers,
)
from attention_core.derivation.decision.other_meanings import (
    find_other_numbers,
    may_calculate_otherwise,
    may_mean_otherwise,
)
from attention_core.derivation.decision.returning_chains import (
    OTHER,
    is_short,
    list_neighbours,
    repeats,
    returns_beside,
)
from attention_core.derivation.decision.slips import (
    ENTRIES,
    SCALES,
    SURE,
    find_usual,
    has_parity,
    is_value,
    loses_symbol,
    operates,
    turns_rest,
    vanishes,
    without_talk,
)
from attention_core.derivation.inference.members import exchanges_indices
from attention_core.derivation.latex.syntax import Expr
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.records import GOOD, Verdict

_SURELY = frozenset({Verdict.PROVED, Verdict.EXACT})


@dataclass(frozen=True)
class WrongTerm:
    """A change of the `side` of a step that makes it and its `neighbour` in the chain hold, both of which are false."""

    mend: Mend
    side: str
    neighbour: Step


def find_wrong_term(step: Step, decide: Decide, search: Search) -> WrongTerm | None:
    """The one change of a side that makes a false step and its neighbour in the chain hold; None for none.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
        search: The time of a step, and where mends are tried first.
    """
    if step.op != "=" or step.context.loose or is_denied(step) or operates(step) or is_of_other_numbers(step):
        return None
    if (
        has_infinite_value(step)
        or may_calculate_otherwise(step)
        or may_mean_otherwise(replace(step, far_words=_near_words(step)))
    ):
        return None
    if keeps_orders(step) or exchanges_indices((step.left, step.right)) or has_reasons(step):
        return None
    if not collect_symbols(step) and find_other_numbers(step) is not None:
        return None
    for side, neighbour in list_neighbours(step):
        equal_ends = getattr(step, OTHER[side]) == getattr(neighbour, side)
        if equal_ends or is_short(getattr(step, side)) or keeps_orders(neighbour):
            continue
        if decide(neighbour, ()).verdict is not Verdict.REFUTED or _differ(step, side, neighbour, search):
            continue
        mend = _mend_both(step, side, neighbour, decide, search)
        if mend is None or _is_meant(step, mend, side, neighbour) or has_parity(step, decide):
            continue
        if mend.kind in SCALES or find_usual(step, decide, is_value) is None:
            return WrongTerm(mend, side, neighbour)
    return None


def find_shared_mend(step: Step, decide: Decide, search: Search) -> WrongTerm | None:
    """The one change of a side that makes a refuted step and its neighbour in the chain hold, for advice.

    Args:
        step: A step that is refuted.
        decide: Decides a step under some more hypotheses.
        search: The time of a step, and where mends are tried first.
    """
    for side, neighbour in list_neighbours(step):
        if decide(neighbour, ()).verdict is Verdict.REFUTED and not _differ(step, side, neighbour, search):
            mend = _mend_both(step, side, neighbour, decide, search)
            if mend is not None:
                return WrongTerm(mend, side, neighbour)
    return None


def _is_meant(step: Step, mend: Mend, side: str, neighbour: Step) -> bool:
    """Whether a chain has nothing to say but for what a change takes away."""
    return repeats(step, mend.step, side, neighbour) or returns_beside(step, mend.step, side, neighbour)


def without_far_words(step: Step, mend: Mend, decide: Decide) -> Step:
    """A step with the words right around it alone that may make good what a mend changes, and no others.

    Args:
        step: A step with a term that is wrong on both sides.
        mend: The change that makes it hold.
        decide: Decides a step under some more hypotheses.
    """
    context = step.context.copy()
    context.caveats = [one for one in context.caveats if is_beside(step, one.line)]
    known = [one for one in step.far_relations if is_beside(step, one.line)]
    words = _near_words(step) if collect_symbols(step) else []  # another arithmetic has to make good both relations
    near = replace(step, context=context, far_words=words, far_relations=known)
    near = without_talk(near, mend, decide)
    if not collect_symbols(step):
        near.context.caveats = [one for one in near.context.caveats if equates_numbers(one)]
    return near


def _near_words(step: Step) -> list[FarWords]:
    return [one for one in step.far_words if is_beside(step, one.line)]


def _differ(step: Step, side: str, neighbour: Step, search: Search) -> bool:
    """Whether what stands in front of a side and behind it in the chain differs: then no change of it mends both."""
    ends: Any = {OTHER[side]: getattr(step, OTHER[side])}
    return search.decide(replace(neighbour, **ends)) is Verdict.REFUTED


def _mend_both(step: Step, side: str, neighbour: Step, decide: Decide, search: Search) -> Mend | None:
    """The change of a side under which a step and its neighbour hold."""
    other = OTHER[side]

    def tells(one: Mend, verdict: Verdict) -> bool:
        if getattr(one.step, other) != getattr(step, other) or turns_rest(step, one):
            return False
        if one.kind in SURE and verdict not in _SURELY:
            return False
        if one.kind in ENTRIES | SURE and loses_symbol(step, one.step):
            return False
        changed: Expr = getattr(one.step, side)
        mended: Any = {other: changed}
        return decide(replace(neighbour, **mended), ()).verdict in GOOD and not vanishes(one.step, search)

    return find_good_mend(step, search, SCALES | ENTRIES | SURE, tells)


__all__ = ["WrongTerm", "find_shared_mend", "find_wrong_term", "without_far_words"]
