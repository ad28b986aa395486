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
from attention_core.derivation.latex.syntax import Big, Num
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.claimed_sides import is_stated_above
from attention_core.derivation.reading.densities import (
    exchanges_states,
    may_be_cross_entropies,
    names_entropies,
    shows_laws,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.values_of_laws import LAWS, NAME
from attention_core.derivation.records import GOOD, Finding, Verdict

_KERNELS = compile_quick(
    r"\b(?:detailed balance|reversib\w+|stationar\w+|transition (?:kernels?|matri\w+|probabilit\w+)|metropolis|"
    r"markov chains?|random walks?|mcmc)\b",
    re.IGNORECASE,
)

_ENTROPIES = compile_quick(r"\b(?:entrop(?:y|ies)|mutual information)\b", re.IGNORECASE)
_OTHER_ENTROPIES = compile_quick(
    r"\b(?:quantum|qubits?|von neumann|r[eé]nyi|tsallis|(?:min|max|collision)[- ]entrop\w+|"
    r"kolmogorov (?:complexit\w+|sinai)|topological entrop\w+|density (?:matri\w+|operators?))\b",
    re.IGNORECASE,
)
"""Words beside which H(X) may be the entropy of a state, or of another order."""
_CROSS = compile_quick(r"\bcross[- ]?entrop\w+\b", re.IGNORECASE)
NEAR = 3  # lines around a step whose words are about its letters, whatever they name
_NO_LAWS = compile_quick(r"\b(?:un-?normali[sz]ed|not normali[sz]ed|polynomials?)\b", re.IGNORECASE)


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
    if not shows_laws(step) and _may_be_functions(step):
        return found
    other = judge(step.tables)
    normed = any(isinstance(side, Num) for side in (step.left, step.right))  # a number alone says what a law sums to
    if _is_slip(other) and not normed:
        return replace(
            other, evidence=replace(other.evidence, text=f"with its laws as probabilities: {other.evidence.text}")
        )
    if other.verdict not in GOOD:
        return _with_likely_slip(found, other)
    sums = any(isinstance(one, Big) for side in (step.tables.left, step.tables.right) for one in walk(side))
    verdict = Verdict.AGREES if sums else other.verdict
    values = ", over finitely many values" if sums else ""
    text = f"with its laws as probabilities{values}: {other.evidence.text}"
    return replace(other, verdict=verdict, evidence=replace(other.evidence, text=text))


def _with_likely_slip(found: Finding, by_tables: Finding) -> Finding:
    """The finding, with the one change that makes a step hold with its laws as probabilities, if there is one."""
    slip = str(by_tables.evidence.figures.get("slip", ""))
    if not slip:
        return found
    return replace(found, evidence=replace(found.evidence, figures={**found.evidence.figures, "slip": slip}))


def _is_slip(found: Finding) -> bool:
    """Whether one other sign or number makes a step hold; a constant too many may be that of laws without a norm."""
    slip = str(found.evidence.figures.get("slip", ""))
    return found.verdict is Verdict.REFUTED and bool(slip) and not slip.startswith("without")


def _speaks_of_entropies(step: Step) -> bool:
    """Whether a document says what H and I are, and of no other entropy."""
    words = [one.words for one in step.far_words]
    if not any(map(_ENTROPIES.search, words)) or any(map(_OTHER_ENTROPIES.search, words)):
        return False
    return not may_be_cross_entropies(step) or not any(map(_CROSS.search, words))


def _may_be_functions(step: Step) -> bool:
    """Whether a document says what p(x) is, or that it is something else than a law."""
    known = step.context
    laws = LAWS & set(NAME.findall(step.text))
    if any((one in known.symbols and one not in known.inferred) or is_stated_above(known, one) for one in laws):
        return True
    words = [one for one in step.far_words if _NO_LAWS.search(one.words)]
    return any(abs(one.line - step.line) <= NEAR or laws & set(NAME.findall(one.quote)) for one in words)


__all__ = ["read_by_tables"]
