r"""Definitions whose value the words behind them change: "let $y = w^\top x$ clipped at zero".

What such words do is not read, so the formula alone defines nothing. Words that name what is defined ("be the score"),
give a reason ("for numerical stability") or go on to something else change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attention_core.derivation.words.leftovers import left_over

_CHANGED = (
    r"(?:clipped|clamped|capped|floored|masked|truncated|rounded|thresholded|zeroed|set to|dropped|removed|deleted|"
    r"omitted|left out|ignored|neglected|replaced|padded|quanti[sz]ed|perturbed|corrupted|permuted|shuffled|negated|"
    r"detached)"
)
_CHANGES = re.compile(rf"\b{_CHANGED}\b", re.IGNORECASE)
_ATTACHED = re.compile(
    rf"\s*,?\s*(?:but\s+|and\s+then\s+|and\s+afterwards\s+)?(?:{_CHANGED}|plus|minus|times|modulo|mod|up\s+to|without|"
    r"except|ignoring|followed\s+by|(?:taken|summed|averaged|applied|restricted|evaluated|normali[sz]ed|maximi[sz]ed|"
    r"minimi[sz]ed)\s+(?:over|across|along|on|at|by|to|with)|after\s+\w+ing|divided\s+by|multiplied\s+by)\b|"
    r"\s*,?\s*and\s+then\s+(?:take|apply|add|clip|round|drop|mask|normali[sz]e|subtract|divide|multiply)",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"\s*,?\s*(?:\(|(?:be|is|are|being|denotes?|denoting|as|the|an?|our|its|this|that|i\.e\.|say|namely|called)\b)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\s*(?:[.,;:!?)\u2013\u2014-]|$|(?:and|or|so|then|where|which|since|because|hence|thus|but|we|it|they|he|she|i|you|"
    r"to|by|using|in\s+order|for|if|when|whenever|provided|throughout|from|let|put|set|define|in\s+(?:this|what|the|"
    r"our|practice|general|short))\b)",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\s*,?\s*(?:where|which|and|with)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[^.;:!?]*")
_CASES = re.compile(
    r"\s*(?:,\s*)?for\s+(?:(?:the|all|every|each|any)\s+)?(?:half|part|parts|some|most|many|few|positive|negative|small|large|even|odd|first|last|nonzero|"
    r"non-zero|interior|active)\b",
    re.IGNORECASE,
)


_UNDER = re.compile(
    r"\s*,?\s*(?:(?:only\s+)?(?:if|when|whenever|provided(?:\s+that)?|unless)|or(?:\s+else)?)\s*$", re.IGNORECASE
)
"""Words between a definition and what it holds under, or what it defines instead."""
_RELATES = re.compile(r"[=<>]|\\(?:leq?|geq?|neq?|in|sim)(?![a-zA-Z])")


def find_change(parts: Sequence[str], place: int) -> str:
    """The words behind a definition that may change what it defines, '' where none do.

    Args:
        parts: Prose and formulas in turn, as a `$` cuts them.
        place: The place of the formula.

    Example:
        >>> find_change([r"let ", r"y = w^\\top x", " clipped at zero."], 1)
        'clipped at zero'
        >>> find_change([r"let ", r"y = w^\\top x", " be the clipped score."], 1)
        ''
    """
    behind = parts[place + 1] if place + 1 < len(parts) else ""
    clause = _CLAUSE.match(behind)
    words = clause.group() if clause else ""
    quote = " ".join(words.split()).strip(" ,")
    if not quote:
        return ""
    following = parts[place + 2] if place + 2 < len(parts) and words == behind else "="
    if _ATTACHED.match(words) or _CASES.match(words) or (_UNDER.match(words) and not _RELATES.search(following)):
        return quote
    if _NAMES.match(words):
        return ""
    if _WHERE.match(words) and _CHANGES.search(words):
        return quote
    if _GOES_ON.match(words):
        return ""
    return quote if left_over(("Let ", "$", f" {words}", *_next(parts, place, behind, words))) else ""


def _next(parts: Sequence[str], place: int, behind: str, words: str) -> tuple[str, ...]:
    """The formula right behind the words of a clause, if one is."""
    ends = words != behind or place + 2 >= len(parts)
    return () if ends else (parts[place + 2], "")
