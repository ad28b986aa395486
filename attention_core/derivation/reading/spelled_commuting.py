r"""Matrices that commute with another one: "Suppose $A$ and $B$ commute with $C$".

Each of them commutes with what stands behind "with"; among each other they need not. Where words stand there,
as in "commute with a third matrix", the sentence is left as it is. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.masked_text import FORMULA, GROUP, NAME, RELATED, add_formula, texts_of

_VERB = r"(?:(?:which|that)\s+)?(?:(?:both|all|each|also|always)\s+)*(?:commutes?|commuting)\s+with"
_STARTS = r"(?:is|are|be|has|have|lies?|denotes?|commutes?|satisf(?:y|ies)|do|does)\b"
_OBJECTS = rf"(?>{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+){FORMULA}(?!\s+{_STARTS}))*)"
_STOPS = (
    r"(?=\s*(?:[.;:)]|$|,\s*(?:\x00|(?:and|so|then|we|where|with|which|let|hence|thus)\b)|"
    r"(?:and|so|then|we|hence|thus)\b))"
)
_COMMUTE = compile_quick(
    rf"(?P<both>\bboth\s+)?(?P<group>{GROUP})(?P<be>(?:\s+(?:be|is|are)\b[^.;:,\x00]*)?)\s+{_VERB}\s+"
    rf"(?:both\s+|all\s+of\s+)?(?P<objects>{_OBJECTS}){_STOPS}",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|no|nor|neither|never|hardly|only|almost|one|some|or)\b", re.IGNORECASE)
_POWER = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*(?:\^\s*(?:\{[^{}]*\}|\\top(?![A-Za-z])|\w))?\s*")


def spell_commuting(masked: str, formulas: list[str]) -> str:
    r"""Write "commutes with" between symbols as products in two orders.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> made = ["A", "B", "C"]
        >>> spell_commuting("Suppose \x000\x00 and \x001\x00 commute with \x002\x00.", made), made[-1]
        ('Suppose \x003\x00.', 'A C = C A, B C = C B')
    """
    return _COMMUTE.sub(lambda found: _relate(found, formulas), masked) if "ommut" in masked else masked


def _relate(found: re.Match[str], formulas: list[str]) -> str:
    subjects, objects = texts_of(found["group"], formulas), texts_of(found["objects"], formulas)
    names = [re.split(r"\\in(?![A-Za-z])", one)[0].strip() for one in subjects]
    denied = _DENIED.search(found["be"]) or re.search(
        r"\b(?:neither|nor|not|one of)\s*$", found.string[: found.start()]
    )
    if denied or not all(NAME.fullmatch(one) for one in names) or any(RELATED.search(one) for one in objects):
        return found[0]
    if any(r"\in" in one or r"\dots" in one for one in objects):
        return found[0]
    relation = add_formula(formulas, ", ".join(_products(names, [_factor(one) for one in objects])))
    declares = bool(found["be"].strip()) or any(r"\in" in one for one in subjects)
    head = f"{found['both'] or ''}{found['group']}{found['be'] or ''} with " if declares else ""
    text = f"{head}{relation}"
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _products(names: Sequence[str], objects: Sequence[str]) -> list[str]:
    """The products in two orders of each name with each object."""
    return [f"{one} {other} = {other} {one}" for other in objects for one in names if one != other]


def _factor(text: str) -> str:
    """A formula as a factor of a product."""
    return text.strip() if _POWER.fullmatch(text) else f"({text.strip()})"
