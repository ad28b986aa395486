r"""A term of a chain that equals neither what stands in front of it nor what stands behind it.

In $A = B' = C$ a hypothesis may make $A = B'$ good, and it makes $B' = C$ good as well if one change of $B'$ makes both
identities. But an author who uses the hypothesis to write $B'$ goes on from there and does not take it back at the next
sign. So a term that is wrong on both sides and right with one change is wrong, whatever the words around the chain
say, but for those that deny it ("A common mistake is") or give its signs another meaning.

A bare symbol is no such term, since a chain may say what it is ($a_1 = a_2 = \frac{1}{2}$), and neither is one between
two equal formulas ($P = P^2 = P$).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from attention_core.derivation.decision.doubts import Decide
from attention_core.derivation.decision.mends import Mend, Search, find_good_mend
from attention_core.derivation.decision.other_intents import is_denied, is_of_other_numbers
from attention_core.derivation.decision.other_meanings import may_calculate_otherwise
from attention_core.derivation.decision.slips import ENTRIES, SCALES, SURE, loses_symbol, operates, vanishes
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.inference.members import exchanges_indices
from attention_core.derivation.latex.syntax import Expr, Name, Sub
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict

_SURELY = frozenset({Verdict.PROVED, Verdict.EXACT})
_OTHER = {"left": "right", "right": "left"}


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
    if step.op != "=" or step.context.loose or is_denied(step) or may_calculate_otherwise(step) or operates(step):
        return None
    if is_of_other_numbers(step) or exchanges_indices((step.left, step.right)):
        return None
    for side, neighbour in list_neighbours(step):
        if decide(neighbour, ()).verdict is not Verdict.REFUTED:
            continue
        mend = _mend_both(step, side, neighbour, decide, search)
        if mend is not None:
            return WrongTerm(mend, side, neighbour)
    return None


def list_neighbours(step: Step) -> Iterator[tuple[str, Step]]:
    """The equations next to a step in its chain, each with the side of the step that it shares.

    Args:
        step: The step.
    """
    if not step.chained:
        return
    of_chain = (one for one in step.peers if isinstance(one, Step) and one.chained and one.of is step.of)
    for peer in of_chain:
        for one in (peer, peer.tables):
            if one is not None and one.op == "=":
                yield from ((side, one) for side in _OTHER if _share(step, one, side))


def without_words(step: Step, decide: Decide) -> Step:
    """A step without the words around it, but for the relations that make it good.

    Args:
        step: A step with a term that is wrong on both sides.
        decide: Decides a step under some more hypotheses.
    """

    def makes_good(formula: str) -> bool:
        return bool(formula) and verdict_under(step, formula, decide) in GOOD

    context = step.context.copy()
    context.caveats = [one for one in context.caveats if makes_good(one.formula)]
    known = [one for one in step.far_relations if makes_good(one.formula)]
    return replace(step, context=context, far_words=[], far_relations=known)


def _share(step: Step, peer: Step, side: str) -> bool:
    """Whether a side of a step is the other side of another one, stands for no symbol, and not between equal sides."""
    other = _OTHER[side]
    shared = getattr(step, side)
    if isinstance(shared, Name | Sub) or getattr(peer, other) != shared:
        return False
    return bool(getattr(step, other) != getattr(peer, side))


def _mend_both(step: Step, side: str, neighbour: Step, decide: Decide, search: Search) -> Mend | None:
    """The change of a side under which a step and its neighbour hold."""
    other = _OTHER[side]

    def tells(one: Mend, verdict: Verdict) -> bool:
        if getattr(one.step, other) != getattr(step, other):
            return False
        if one.kind in SURE and verdict not in _SURELY:
            return False
        if one.kind in ENTRIES | SURE and loses_symbol(step, one.step):
            return False
        changed: Expr = getattr(one.step, side)
        mended: Any = {other: changed}
        return decide(replace(neighbour, **mended), ()).verdict in GOOD and not vanishes(one.step, search)

    return find_good_mend(step, search, SCALES | ENTRIES | SURE, tells)


__all__ = ["WrongTerm", "find_wrong_term", "list_neighbours", "without_words"]
