r"""Sentences that say of symbols what they are: "Here $A$ and $B$ are rotation matrices.".

A sentence is a statement where words of `properties`, and words that restrict nothing, are all that it says of its
symbols. With words such as "here" or "is assumed to be" it assumes; without them, and behind "since" or "recall that",
it may also repeat or claim something, so it is an assumption only of symbols of which nothing else is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from attention_core.derivation.reading.properties import properties_in, spell_id_est
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.phrase_patterns import is_joint, is_pattern


@dataclass(frozen=True)
class Statement:
    """What a sentence states, as a text for `Assume`; whether its words assume it, or are a reason for what follows."""

    text: str
    symbols: tuple[str, ...]
    assumes: bool
    reason: bool


_ASSUMING = (
    r"here|below|throughout(?: this (?:section|note|post|page|proof|paper))?|henceforth|hereafter|"
    r"from (?:now|here) on|in (?:what follows|the (?:following|sequel|rest)|"
    r"this (?:section|note|post|page|proof|example|paper|exercise|problem|lecture|chapter|appendix|document|part))|"
    r"by assumption|as usual"
)
_OPENS = re.compile(
    rf"^[\W_]*(?:(?P<assumes>{_ASSUMING})\b,?\s*)?(?P<recall>(?:recall|remember|(?P<note>note))(?: that)?\b\s*)?"
    r"(?P<reason>(?:since|as|because)\b\s*)?(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT = re.compile(
    r"^(?:(?:the|all|both|each|every|our|these|two|three|real|square|given|matri(?:x|ces)|vectors?|numbers?|scalars?|"
    r"keys?|quer(?:y|ies)|values?|weights?|inputs?|scores?|variables?|parameters?|entries|columns?|rows?|labels?|"
    r"targets?|logits?|tokens?|embeddings?)\b\s*)*$",
    re.IGNORECASE,
)
_JOINS = re.compile(r"\s*(?:,|,?\s*and)\s*")
_COPULA = re.compile(
    r"^[\s,]*(?:always\s+)?(?:(?P<assumes>(?:is|are|will be)\s+(?:always\s+|here\s+)?(?:assumed|taken|required|"
    r"supposed|chosen)(?:\s+to)?(?:\s+be)?|denotes?|will(?:\s+always)?\s+be)|is|are|has|have|lies?|sums?|commutes?)\b",
    re.IGNORECASE,
)
_INERT = re.compile(
    r"^[\s,(]*(?:(?:be|is|are|an?|the|all|both|each|of|with|which|that|it|its|they|has|have|having|and|two|three|real|"
    r"arbitrary|given|fixed|some|any|also|assumed|taken|required|supposed|chosen|to|always|will|denotes?|lies?|here|"
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|keys?|quer(?:y|ies)|values?|weights?|variables?|entries|columns?|rows?|"
    r"square|throughout|random|independent|i|e|by (?:assumption|hypothesis))\b[\s,).]*)*$",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^\s*(?:(?:we|one|you|it|this|that) (?:also |then |thus |now |therefore |hence )*(?:(?:may|can|could|will) "
    r"(?:also |then |now )*)?(?:write|get|gets|have|has|obtains?|finds?|see|conclude|follows|holds|becomes|gives|"
    r"yields|reads|simplify|simplifies|know|compute|rewrite)(?: that| this as| it as| to)?)\W*$",
    re.IGNORECASE,
)


@lru_cache(maxsize=2048)
def statement_of(parts: tuple[str, ...], leads: bool = False) -> Statement | None:
    """What a sentence states, None of any other sentence.

    Args:
        parts: Prose and formulas in turn.
        leads: Whether a display follows: only then a reason may stand before it.

    Example:
        >>> statement_of(("Here ", "A", " and ", "B", " are rotation matrices")).symbols
        ('A', 'B')
        >>> statement_of(("Here ", "A", " is a matrix of scores"))
    """
    opened = _OPENS.match(parts[0])
    if len(parts) < 3 or opened is None or not _SUBJECT.match(opened["rest"]):
        return None
    if any(not _JOINS.fullmatch(one) for one in parts[2:-1:2]) or any("=" in one for one in parts[1::2]):
        return None
    predicate = spell_id_est(parts[-1])
    copula = _COPULA.match(predicate)
    if copula is None or (opened["reason"] and not leads) or (opened["note"] and not copula["assumes"]):
        return None
    if opened["reason"]:
        predicate, _, main = predicate.partition(",")
        if not _only_leads(main):
            return None
    mentions = properties_in(predicate, True, False)
    rest = predicate
    for one in mentions:
        rest = rest[: one.start] + " " * (one.end - one.start) + rest[one.end :]
    if not mentions or not _INERT.match(rest):
        return None
    group = "".join(part if place % 2 == 0 else f"${part}$" for place, part in enumerate(("", *parts[1:-1])))
    assumes = bool(opened["assumes"] or copula["assumes"]) and not (opened["recall"] and not opened["note"])
    reason = bool(opened["reason"])
    return Statement(f"{group}{predicate}", parts[1::2], assumes and not reason, reason)


def _only_leads(main: str) -> bool:
    """Whether the main clause behind a reason only leads to the display: "we may write"."""
    return not main.strip() or bool(_LEADS.match(main)) or is_joint(main) or is_pattern(main, True)


def is_open(context: Context, statement: Statement) -> bool:
    """Whether nothing is known of the symbols of a statement but their shapes."""
    bare = [_SUBSCRIPT.sub("", text) for text in statement.symbols]
    names = [one for one in context.symbols if any(_mentions(text, one) for text in bare)]
    symbols = [context.symbols[name] for name in names]
    plain = all(
        one.term is None and one.law is None and one.lower is None and one.upper is None and not one.values
        for one in symbols
    )
    known = any(h.mentions & set(names) for h in context.hypotheses)
    return bool(names) and plain and not known


_SUBSCRIPT = re.compile(r"_\s*(?:\{[^{}]*\}|\\?[a-zA-Z0-9]+)")


def _mentions(formula: str, name: str) -> bool:
    return re.search(rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])", formula) is not None
