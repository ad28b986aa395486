r"""A symbol that is declared once more: "Let $x > 1$. Then ... Let $x > 0$. Then".

Below a display, the second sentence may begin anew, or may assume further. So no step behind it is accepted that holds
under the first bound alone, unless words say that the two hold together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attention_core.derivation.document.blocks import Paragraph, sentences_of
from attention_core.derivation.terms.context import Caveat, Context, Hypothesis
from attention_core.derivation.words.caveats import declared_names, shorten_quote

_LETS = re.compile(
    r"^\W*(?:(?:theorem|lemma|proposition|corollary|example|now|next|then|so|finally|again)\b\W*(?:\d+\W+)?)*"
    r"(?:we\s+|us\s+)?(?:let|fix|take|consider|pick|choose|given|for\s+(?:all|any|every|each))\b",
    re.IGNORECASE,
)
_FURTHER = re.compile(
    r"\b(?:further|furthermore|also|moreover|in addition|additionally|still|both|besides|too|as well|in particular)\b",
    re.IGNORECASE,
)
_SUBSCRIPT = re.compile(r"_\s*(?:\{[^{}]*\}|\\?[a-zA-Z0-9]+)")
_RELATION = re.compile(r"[<>]|\\(?:leq?|geq?|neq?|leqslant|geqslant|in|notin)(?![a-zA-Z])")


def find_replaced_bounds(
    context: Context, fresh: Sequence[Hypothesis], paragraph: Paragraph, shown: int
) -> list[Caveat]:
    """What may have ended where a sentence declares symbols that were bounded above a display.

    Args:
        context: What is declared and assumed, with the paragraph.
        fresh: What the paragraph assumes.
        paragraph: The paragraph.
        shown: The line of the last display above it, 0 if there is none.
    """
    if not shown:
        return []
    older = [h for h in context.hypotheses if h.line <= shown and not any(h is one for one in fresh)]
    out: list[Caveat] = []
    for sentence in sentences_of(paragraph) if older else ():
        if not _LETS.match(sentence.prose) or _FURTHER.search(sentence.prose):
            continue
        names = frozenset().union(*(_find_heads(context, one, sentence.line) for one in sentence.formulas))
        ended = [h.line for h in older if h.mentions and h.mentions <= names]
        if ended:
            last = max(*ended, paragraph.line - 1)
            quote = shorten_quote(sentence.text)
            out.append(Caveat(sentence.line, quote, context.level, names, ends=last, since=min(ended)))
    return out


def _find_heads(context: Context, formula: str, line: int) -> frozenset[str]:
    """The symbols that a relation is given for, those on its first side that has any; a subscript is not."""
    sides = _RELATION.split(_SUBSCRIPT.sub("", formula))
    found = (declared_names(context, one, line) for one in sides if len(sides) > 1)
    return next((names for names in found if names), frozenset())


__all__ = ["find_replaced_bounds"]
