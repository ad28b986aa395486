"""Words below a step in another section: they are about that section, unless they point back or are about all of it.

What stands above all titles, or in an abstract or another section that introduces, is about what follows.
"""

from __future__ import annotations

import re
import sys

from attention_core.derivation.reading.sections import points_back
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.terms.context import Caveat

ABOUT_ALL = re.compile(
    r"\b(?:caveats?|limitations?|remarks?|notes?|assum\w+|disclaimers?|scope|restrictions?|settings?|conditions?|"
    r"hypothes[ie]s|conventions?|notations?|preliminar\w+|appendi\w+|footnotes?|erratum|errata|fine print)\b",
    re.IGNORECASE,
)
"""Titles of sections that are written for others."""
_PAST = re.compile(
    r"\b(?:assumed|supposed|used|taken|considered|treated|ignored|restricted|derived|showed|shown|proved|computed|did|"
    r"was|were|had|been)\b",
    re.IGNORECASE,
)
"""Of what has been done above: "We assumed that all weights are equal."."""


_INTRODUCES = re.compile(
    r"\b(?:abstract|summary|overview|introduction|introductory|intro|outline|preview|at a glance|main results?|"
    r"tl\W?dr|in short)\b",
    re.IGNORECASE,
)
"""Titles of sections about the whole text."""


def is_of_later_section(step: Step, words: Caveat | FarWords) -> bool:
    """Whether a sentence stands in another section below a step, and does not point back or speak of the whole text.

    Args:
        step: The step.
        words: The sentence.
    """
    titles = [one for one in step.far_words if one.title and step.line < one.line <= words.line]
    if any(ABOUT_ALL.search(one.words) for one in titles) or _introduces(step):
        return False
    return bool(titles) and not _looks_back(words.quote)


def list_words(step: Step) -> list[FarWords]:
    """The words of a document that may be about a step: all but those of sections below it.

    Args:
        step: The step.
    """
    if _introduces(step):
        return list(step.far_words)
    below = [one for one in step.far_words if one.title and step.line < one.line]
    first = min((one.line for one in below), default=sys.maxsize)
    all_ = min((one.line for one in below if ABOUT_ALL.search(one.words)), default=sys.maxsize)
    return [one for one in step.far_words if not first <= one.line < all_ or _looks_back(one.quote)]


def _introduces(step: Step) -> bool:
    """Whether a step stands above all titles, or in a section that introduces."""
    around = [one for one in step.far_words if one.title and one.line <= step.line < one.until]
    return not around or any(_INTRODUCES.search(one.words) for one in around)


def _looks_back(sentence: str) -> bool:
    return bool(_PAST.search(sentence)) or points_back(sentence)


__all__ = ["ABOUT_ALL", "is_of_later_section", "list_words"]
