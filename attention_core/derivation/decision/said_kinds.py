r"""Words that say that a symbol is not what it is read as: "matrices $a$ and $b$", "the amplitudes $z$ are complex".

An undeclared symbol is read as a real number, or as an array of real numbers. Where a sentence, a heading or a
declaration that could not be read calls it something else, nothing is accepted by that reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attention_core.derivation.reading.far_words import FarWords
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.caveats import shorten_quote

_STRANGE = (
    r"operators?|quaternions?|octonions?|complex|imaginary|infinit\w*|groups?|rings?|monoids?|fields?|lie algebras?|"
    r"rotations?|permutations?|reflections?|transformations?|non-?commut\w*|polynomials?|strings?|events?|hermitian|"
    r"unitary|sets?|categor\w+|spinors?|p-adic|modulo"
)
_OF_ARRAYS = r"matri(?:x|ces)|vectors?|tensors?|functions?|compositions?|maps?|mappings?|sequences?|random variables?"
_EVERYWHERE = re.compile(r"non-?commut\w*|\b(?:do|does|need) not commute|\bquaternions?\b|\bcomplex numbers?\b", re.I)
_SETS = re.compile(r"\\in\s*\\math(?:bb|bf|cal|frak)\s*\{?\s*[CHFGQZKO](?![a-zA-Z])")
_IS = r"^[^.;]{0,20}?(?:\b(?:is|are|be|being|denotes?|was|were|may|can|stands? for)\b|[:|,(])[^.;]{0,60}?\b(?:%s)\b"
_BEFORE = r"\b(?:%s)\b(?:\W+\w+){0,2}\W*$"


def find_contradiction(step: Step, context: Context, names: Iterable[str]) -> str:
    """Where the document says that an inferred symbol is something else, '' if it does not.

    Args:
        step: The step.
        context: What is declared and inferred there.
        names: The inferred symbols that the step rests on.
    """
    names = [name for name in names if name in context.symbols and context.symbols[name].kind in ("array", "family")]
    for failed in context.failed:
        formulas = " ".join(re.split(r"(?<!\\)\$", failed.paragraph.text)[1::2])
        if name := next((one for one in names if _mentions(formulas, one)), ""):
            return (
                f"line {failed.paragraph.line} says what {name} is, and was not read "
                f"('{shorten_quote(failed.paragraph.text)}')"
            )
    for words in step.far_words:
        if names and _EVERYWHERE.search(words.quote):
            return _quote_words(words, ", ".join(names))
        for name in names:
            kind = context.symbols[name].type
            strange = rf"{_STRANGE}|{_OF_ARRAYS}" if kind is None or kind.scalar else _STRANGE
            if _is_called(words.quote, name, strange):
                return _quote_words(words, name)
    return ""


def _quote_words(words: FarWords, name: str) -> str:
    return f"line {words.line} may say that {name} is something else ('{shorten_quote(words.quote)}')"


def _mentions(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])", text))


def _is_called(quote: str, name: str, kinds: str) -> bool:
    """Whether words in front of a symbol, or what is said of it behind, name one of some kinds."""
    parts = re.split(r"(?<!\\)\$", quote)
    for place in range(1, len(parts), 2):
        if not _mentions(parts[place], name):
            continue
        if _SETS.search(parts[place]):
            return True
        before, after = place - 1, place + 1
        while before > 1 and re.fullmatch(r"\W*(?:and|or)?\W*", parts[before]):
            before -= 2
        while after + 2 < len(parts) and re.fullmatch(r"\W*(?:and|or)?\W*", parts[after]):
            after += 2
        behind = parts[after] if after < len(parts) else ""
        if re.search(_BEFORE % kinds, parts[before], re.I) or re.search(_IS % kinds, behind, re.I):
            return True
    bare = " ".join(parts[::2])
    letter = re.escape(name)
    called = rf"\b(?:{kinds})\s+(?:\w\s*(?:,|and)\s*)*{letter}\b|(?:^|\|)\s*{letter}\s*\|[^|]*\b(?:{kinds})\b"
    return len(name) == 1 and bool(re.search(called, bare, re.IGNORECASE))
