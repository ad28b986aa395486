r"""Chains that come back to where they began, and whose middle says something by one change alone.

$a + b = a - b = b + a$ claims that a sign does not matter, and $x + 1 + y = x + y = y + 1 + x$ that a full turn does
not: without the change the author would have written one formula three times. So the change is meant, and the document
says why, or its field knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from attention_core.derivation.decision.trivial_sides import is_rearranged, list_signs
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Derivative, Expr, Name, Sub
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
_SLOPE = re.compile(r"\\frac\{d |\\partial|\\nabla")
MOST_SIDES = 20  # of a chain that are looked at: one that comes back has no end
OTHER = {"left": "right", "right": "left"}


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
                yield from ((side, one) for side in OTHER if getattr(one, OTHER[side]) == getattr(step, side))


def is_short(side: Expr) -> bool:
    """Whether a side of a chain is a symbol alone, whose value the chain may say.

    Args:
        side: The side.
    """
    return isinstance(side, Name | Sub)


def returns(step: Step, changed: Step) -> bool:
    """Whether a false step is in a chain that comes back, and says no more than what a change of it takes away.

    Args:
        step: A step that is false as it was read.
        changed: The step with the one change that makes it hold.
    """
    return any(returns_beside(step, changed, side, neighbour) for side, neighbour in list_neighbours(step))


def goes_on(step: Step, decide: Decide) -> bool:
    """Whether a step goes on from a relation in front of it that holds: its author calculates, and solves nothing.

    So does an author whose chain begins with a derivative and is none further on: `f'(x) = g'(x)` may be solved.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    in_front = [peer for side, peer in list_neighbours(step) if side == "left"]
    if any(decide(one, ()).verdict in GOOD for one in in_front):
        return True
    before, after = (_list_sides(step, side) for side in ("left", "right"))
    return bool(in_front) and _is_slope(before[-1]) and not any(map(_is_slope, (step.left, *after)))


def _list_sides(step: Step, side: str) -> list[Expr]:
    """The sides of a chain from one side of a step on, to its first or its last."""
    sides: list[Expr] = []
    one: Step | None = step
    while one is not None and len(sides) < MOST_SIDES:
        sides.append(getattr(one, side))
        one = next((peer for shared, peer in list_neighbours(one) if shared == side), None)
    return sides


def _is_slope(side: Expr) -> bool:
    """Whether a side has a derivative in it."""
    return any(isinstance(one, Derivative) for one in walk(side)) or bool(_SLOPE.search(to_latex(side)))


def returns_beside(step: Step, changed: Step, side: str, neighbour: Step) -> bool:
    """Whether a step and one of its neighbours come back, and say no more than what a change takes away.

    They do if they are one formula but for an order, once changed, or if what both have in front and behind has two or
    more terms with the other sign between.

    Args:
        step: A step that is false as it was read.
        changed: The step with the one change that makes it hold.
        side: The side of the step that it shares with the neighbour.
        neighbour: The relation beside it in the chain.
    """
    ends = (getattr(step, OTHER[side]), getattr(neighbour, side))
    if is_rearranged(*ends) and is_rearranged(changed.left, changed.right):
        return True
    first, last = map(list_signs, ends)
    between = list_signs(getattr(step, side))
    if first != last or sorted(term for _, term in first) != sorted(term for _, term in between):
        return False
    return len([one for one in between if one not in first]) > 1


def repeats(step: Step, changed: Step, side: str, neighbour: Step) -> bool:
    """Whether a changed side of a step is what stands beside it in the chain, once more.

    Args:
        step: A step that is false as it was read.
        changed: The step with the one change that makes it hold.
        side: The side that is changed, and that it shares with the neighbour.
        neighbour: The relation beside it in the chain.
    """
    mended = getattr(changed, side)
    return any(one == mended for one in (getattr(step, OTHER[side]), getattr(neighbour, side)))


__all__ = ["OTHER", "goes_on", "is_short", "list_neighbours", "repeats", "returns", "returns_beside"]
