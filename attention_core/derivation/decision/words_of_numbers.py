r"""Which words around a step of numbers alone may say how its numbers are written or added.

"On the dial," does so above `11 + 2 = 1`, as a heading of its section, or in a sentence about all that follows.
"Suppose we draw the blue ticket" far above says nothing of 3/4 * 2/5. Where another arithmetic may make a step good,
any words that were not read count that lead to it or name its section, as those above several displays in a row do.
"""

from __future__ import annotations

import re

from attention_core.derivation.decision.other_meanings import FOLLOWS
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.terms.context import Caveat
from attention_core.derivation.words.inert import OF_DIGITS, OF_NUMBERS
from attention_core.derivation.words.leftovers import left_over

BESIDE = 3  # lines
ROUNDS = re.compile(r"round\w*|truncat\w*|degrees?|modulo|mod|binary|octal|hexadecimal|bases?|nearest", re.IGNORECASE)
_NUMERALS = re.compile(r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|twelve|numbers?)\b", re.IGNORECASE)

_PLACE = r"(?:entr(?:y|ies)|rows?|columns?|components?|elements?|coordinates?|cells?|positions?|units?|neurons?)\b"
_NTH = r"(?:first|second|third|fourth|fifth|last|final|top|bottom|middle|other|\d+(?:st|nd|rd|th))"
_ONE_ALONE = compile_quick(
    rf"\b(?:only|except|all but|other than|but not)(?: for| in)?(?: the| its)?(?: {_NTH}| one)? (?:\w+ )?{_PLACE}",
    re.IGNORECASE,
)
_PLACES = compile_quick(
    rf"\b{_NTH} (?:\w+ )?{_PLACE}|\b(?:row|column|entry|component|element|coordinate|cell|position) \(?\d",
    re.IGNORECASE,
)
"""Words that single out a place of an array: what they say of it, its numbers alone do not."""


def may_be_of_numbers(step: Step, caveat: Caveat) -> bool:
    """Whether what was not read may matter to a step without symbols: it may say how numbers are written or added.

    Args:
        step: A step of numbers alone.
        caveat: What was not read.
    """
    if caveat.value or (not caveat.whole and (caveat.words or caveat.maybe)):
        return True  # looked at word by word
    quote = caveat.quote
    titles = {one.line for one in step.far_words if one.title and one.line <= step.line < one.until}
    if abs(caveat.line - step.line) <= BESIDE or caveat.line in titles or FOLLOWS.search(quote):
        return True
    return bool(OF_DIGITS.search(quote) or ROUNDS.search(quote) or _NUMERALS.search(quote) or names_numbers(quote))


def names_numbers(words: str) -> bool:
    """Whether a word names a convention of numbers, such as degrees or rounding.

    Args:
        words: The word, or some words.
    """
    return any(piece in OF_NUMBERS for piece in re.findall(r"[a-z]+\d*", words.lower()))


def leads_to(step: Step, line: int) -> bool:
    """Whether words on a line stand beside a step, or above it with nothing but displays between.

    Args:
        step: The step.
        line: Where the words stand.
    """
    return abs(line - step.line) <= BESIDE or line == _find_lead(step)


def find_unread_words(step: Step) -> FarWords | None:
    """The words that were not read and lead to a step, or are the title of its section; None for none.

    Args:
        step: A step of numbers alone.
    """
    lead = _find_lead(step)
    titles = (one for one in step.far_words if one.title and one.line <= step.line < one.until)
    leading = (one for one in step.far_words if not one.title and one.line == lead)
    return next((one for one in (*leading, *titles) if left_over(re.split(r"(?<!\\)\$", one.quote))), None)


def find_singled_place(step: Step) -> FarWords | None:
    """The words that lead to arrays of numbers and say something of one of their rows or entries; None for none.

    Args:
        step: A step of numbers alone, with a written array.
    """
    near = (one for one in step.far_words if leads_to(step, one.line))
    quotes = [(one, " ".join(one.quote.replace("$", "").split())) for one in near]
    for words, quote in quotes:
        unread = _PLACES.search(quote) and left_over(re.split(r"(?<!\\)\$", words.quote))
        if _ONE_ALONE.search(quote) or unread:
            return words
    return None


def _find_lead(step: Step) -> int:
    """The line of the last words above a step, 0 for none."""
    return max((one.line for one in step.far_words if not one.title and one.line < step.line), default=0)


__all__ = [
    "BESIDE",
    "ROUNDS",
    "find_singled_place",
    "find_unread_words",
    "leads_to",
    "may_be_of_numbers",
    "names_numbers",
]
