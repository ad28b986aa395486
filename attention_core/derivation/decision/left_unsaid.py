r"""What a step leaves unsaid that no reading of its symbols gives: how far a sum goes, and which changes are zero.

A sum without a range goes as far as its terms do. Where an index in it is shifted, `\sum_i x_i w_{t + i}`, the ends of
the sums on both sides differ or terms beyond them are zero, and the document does not say which. A differential `d e`
of what is defined as `y - W x` has the changes of y, W and x in it. Where a step writes some of them alone, its author
holds the others fixed.
"""

from __future__ import annotations

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.latex.syntax import Big, Minus, Name, Plus, Sub
from attention_core.derivation.reading.step import Step


def leaves_something_unsaid(step: Step) -> bool:
    """Whether a step depends on the ends of a sum, or on changes, that it does not write.

    Args:
        step: A step that is false as it was read.
    """
    return _shifts_open_sum(step) or _has_unwritten_changes(step)


def _has_unwritten_changes(step: Step) -> bool:
    """Whether a differential of the step has those of symbols in it that are not written."""
    changes = {name for name in collect_symbols(step) if name.startswith("d ")}
    return bool(changes - set().union(*map(all_names, step.formulas())))


def _shifts_open_sum(step: Step) -> bool:
    """Whether an index of a sum without a range is shifted in a subscript."""
    for node in (one for side in (step.left, step.right) for one in walk(side)):
        if not isinstance(node, Big) or node.op != "sum" or node.above is not None:
            continue
        letters = {one.exprs[0].text for one in node.below if one.alone and isinstance(one.exprs[0], Name)}
        if any(_is_shifted(one, letters) for part in walk(node.body) if isinstance(part, Sub) for one in walk(part)):
            return True
    return False


def _is_shifted(node: object, letters: set[str]) -> bool:
    if not isinstance(node, Plus):
        return False
    terms = [one.body if isinstance(one, Minus) else one for one in node.terms]
    return any(isinstance(one, Name) and one.text in letters for one in terms)


__all__ = ["leaves_something_unsaid"]
