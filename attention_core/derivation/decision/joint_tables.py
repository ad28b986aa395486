r"""Steps about probabilities, decided with joint tables in the place of their laws (see `densities`).

Read as symbols of their own, the values of a law are any numbers, and Bayes' rule is false of these. With tables it
holds. A table has finitely many values and an integral is read as a sum, so what holds AGREES wherever something is
summed, and is never more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Big
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.densities import exchanges_states, names_entropies
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding, Verdict

_KERNELS = compile_quick(
    r"\b(?:detailed balance|reversib\w+|stationar\w+|transition (?:kernels?|matri\w+|probabilit\w+)|metropolis|"
    r"markov chains?)\b",
    re.IGNORECASE,
)

_ENTROPIES = compile_quick(r"\b(?:entrop(?:y|ies)|mutual information)\b", re.IGNORECASE)
_DENSITIES = compile_quick(r"\b(?:differential entrop(?:y|ies)|densit(?:y|ies)|continuous)\b", re.IGNORECASE)


def read_by_tables(step: Step, found: Finding, judge: Callable[[Step], Finding]) -> Finding:
    """The finding on a step that is left open, with joint tables in the place of its laws where these decide it.

    Args:
        step: The step.
        found: What was found of it.
        judge: Gives the verdict on a step.
    """
    if step.tables is None:
        return found
    if exchanges_states(step) and any(_KERNELS.search(one.words) for one in step.far_words):
        return found  # the balance of a chain, which not every chain has
    if names_entropies(step) and not _speaks_of_entropies(step):
        return found
    other = judge(step.tables)
    if other.verdict not in GOOD:
        return found
    sums = any(isinstance(one, Big) for side in (step.tables.left, step.tables.right) for one in walk(side))
    verdict = Verdict.AGREES if sums else other.verdict
    values = ", over finitely many values" if sums else ""
    text = f"with its laws as probabilities{values}: {other.evidence.text}"
    return replace(other, verdict=verdict, evidence=replace(other.evidence, text=text))


def _speaks_of_entropies(step: Step) -> bool:
    """Whether a document says what H and I are; an inequality may be another one for entropies of densities."""
    names = any(_ENTROPIES.search(one.words) for one in step.far_words)
    return names and (step.op == "=" or not any(_DENSITIES.search(one.words) for one in step.far_words))


__all__ = ["read_by_tables"]
