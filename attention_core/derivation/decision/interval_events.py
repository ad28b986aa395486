r"""Probabilities of intervals whose ends are in no order: `P(a < X \le b) = F(b) - F(a)` is meant for a <= b.

Such a step is false where a > b, which its author does not mean. It is not refuted by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attention_core.derivation.elaborate.hypotheses import relations_of
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Call, Chain, Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Finding, Verdict
from attention_core.derivation.terms.terms import Relation, ShapeMismatch

Decide = Callable[[Step, Sequence[Relation]], Finding]


def find_order_of_ends(step: Step, decide: Decide) -> str:
    """What to say of a false step that may hold where the ends of its intervals are in order, '' for no such step.

    Args:
        step: The step.
        decide: Decides a step under some more hypotheses.
    """
    ordered = list(dict.fromkeys(_ends_in(step)))
    if not ordered:
        return ""
    try:
        known = [one for chain in ordered for one in relations_of(step.context.copy(), chain, [], step.line)]
        if decide(step, known).verdict is Verdict.REFUTED:
            return ""
    except (Unreadable, ShapeMismatch, Unsettled):
        pass
    formulas = ", ".join(f"${to_latex(one)}$" for one in ordered)
    return f"an event may be meant for {formulas}: write it as an assumption"


def _ends_in(step: Step) -> Iterator[Chain]:
    """The ends of the intervals in the probabilities of a step, as relations that put them in order."""
    for node in (one for side in (step.left, step.right) for one in walk(side)):
        if not isinstance(node, Call) or node.function != "Pr":
            continue
        for event in node.args:
            if len(event.ops) == 2:
                low, high = event.exprs[::2] if event.ops[0] in ("<", "<=") else event.exprs[::-2]
                yield Chain((low, high), ("<=",), (step.line,))


__all__ = ["find_order_of_ends"]
