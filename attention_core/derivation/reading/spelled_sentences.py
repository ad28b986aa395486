r"""Whole sentences that define or declare, put into the order and the words that the other readers know.

"Now put $s = x y$, then $t = s^2$", "a pair of numbers $(x, y)$": the parts of such sentences are known, and their
order, their verbs or what stands between them are not. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re
from functools import partial

from attention_core.derivation.reading.masked_text import BEGINS, FORMULA, Rewrite, formula_at, keep_lines

_FIRST = r"(?:(?:now|next|then|further|finally|also|first|again|here|so),?\s+)*"
_DEFINITION = re.compile(r"^\s*\\?[A-Za-z]+(?:\s*\{[^{}]*\})?(?:_\{?\w+\}?)?(?:\([^()]*\))?\s*(?::=|=)[^=<>]+$")
_THEN = rf"(?:\s*,\s*|\s*,?\s+and\s+)(?:(?:then|next|finally|also|after that)\s+)?{FORMULA}"
_PUT = re.compile(
    rf"{BEGINS}(?P<first>{_FIRST})(?P<who>(?:let us|we(?: can| may)?|let's)\s+)?(?:now\s+|also\s+|further\s+)?"
    rf"(?P<verb>put|set|write|define|take)\s+(?P<what>{FORMULA}(?:{_THEN})*)(?=\s*(?:[.;:]|$|,?\s+(?:so|then|where|with)\b))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:then|next|finally|also|after that)\s+(?=\x00)", re.IGNORECASE)


def spell_sentences(masked: str, formulas: list[str]) -> str:
    r"""Write sentences that define or declare in the order in which the other readers know them.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> spell_sentences("Now put \x000\x00, then \x001\x00.", ["s = x y", "t = s^2"])
        'Set \x000\x00, \x001\x00.'
    """
    for pattern, plain in _RULES:
        masked = pattern.sub(partial(keep_lines, plain, formulas), masked)
    return masked


def _put(found: re.Match[str], formulas: list[str]) -> str:
    """Definitions behind each other, with one verb; "let us" opens a declaration, all else is prose."""
    if not all(_DEFINITION.match(formula_at(one, formulas)) for one in re.findall(FORMULA, found["what"])):
        return found[0]
    what = _BETWEEN.sub("", found["what"])
    who = (found["who"] or "").lower()
    if not found["first"] and not who and what == found["what"] and found["verb"].lower() not in ("write", "take"):
        return found[0]
    return f"{found['begins']}{'Put' if who.startswith('let') else 'Set'} {what}"


_RULES: tuple[tuple[re.Pattern[str], Rewrite], ...] = ((_PUT, _put),)
