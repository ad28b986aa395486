r"""Steps whose shapes fit entry by entry alone: a number beside an array of entries, `\exp(z) \exp(w)` of two columns.

Many authors write so of functions that act on entries. It refutes nothing that the shapes do not fit.
"""

from __future__ import annotations

import re

from attention_core.derivation.elaborate.calls import ENTRYWISE
from attention_core.derivation.elaborate.products_by_entries import BY_ENTRIES
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import SLOPE, Call, Times
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Finding

_NUMBER_BESIDE_ARRAY = re.compile(r"and a number cannot be|a number and an? ")


def find_entries_meant(step: Step, found: Finding) -> str:
    """What to say of shapes that do not fit, where entries may be meant; '' elsewhere.

    Args:
        step: The step.
        found: What was found of it.
    """
    if found.counterexample is not None:
        return ""
    if BY_ENTRIES in found.evidence.text:
        return "write \\odot, or a quotient of entries, if a function of entries is meant"
    if not _NUMBER_BESIDE_ARRAY.search(found.evidence.text):
        return ""
    nodes = [node for side in (step.left, step.right) for node in walk(side)]
    by_entries = any(
        isinstance(one, Call) and (one.function in ENTRYWISE or one.function.startswith(SLOPE)) for one in nodes
    )
    by_entries = by_entries or any(isinstance(one, Times) and "o" in one.ops for one in nodes)
    return (
        "a number may be meant in each entry of the array: write \\mathbf{1}, or 'Sums are broadcast.'"
        if by_entries
        else ""
    )


__all__ = ["find_entries_meant"]
