r"""Numbers and arrays that a hypothesis says exist: "$u = \beta v$ for some $\beta > 0$".

Such a hypothesis says the same as "with": whatever follows from it for every beta follows from there being one. This is
not so where the sentence speaks of several values ("$x_i = \beta y_i$ for some $\beta$"), on which beta may depend.
"""

from __future__ import annotations

import re

from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.paragraphs import condition_parts

_SOME = re.compile(
    r"\s*,?\s*for some (?:(?:real|positive|fixed|number|scalar|constant|vector|matrix) )*\s*", re.IGNORECASE
)
_END = re.compile(r"[.;?!](?:\s|$)")
_OF_EACH = re.compile(r"\b(?:all|every|each|any|respectively)\b", re.IGNORECASE)
_SUBSCRIPT = re.compile(r"_\s*(?:[a-zA-Z]|\{[^{}]*[a-zA-Z])")


def take_witnesses(context: Context, parts: list[str], line: int) -> list[str]:
    r"""Write "with" for "for some" in front of a new number or array.

    Args:
        context: What is declared above.
        parts: Prose and formulas of a declaration in turn.
        line: Its line.

    Returns:
        The parts, with "with" where both say the same.

    Example:
        >>> take_witnesses(Context(), ["Let ", "u = c v", " for some ", "c > 0", "."], 1)[2]
        ' with '
        >>> take_witnesses(Context(), ["Let ", "u_i = c", " for some ", "c > 0", "."], 1)[2]
        ' for some '
    """
    out = list(parts)
    for place in range(2, len(parts) - 1, 2):
        if not _SOME.fullmatch(parts[place]):
            continue
        start = next((k for k in range(place - 2, 0, -2) if _END.search(parts[k])), 0)
        end = next((k for k in range(place + 2, len(parts), 2) if _END.search(parts[k])), len(parts) - 1)
        words, formulas = " ".join(parts[start : end + 1 : 2]), parts[start + 1 : end + 1 : 2]
        try:
            names = {symbol_name(chain.exprs[0]) for chain in condition_parts(parts[place + 1], line)}
        except (Unreadable, RecursionError):
            continue
        one = len(names) == 1 and not names & {None, *context.symbols}
        if one and not _OF_EACH.search(words) and not any(map(_SUBSCRIPT.search, formulas)):
            out[place] = " with " + "\n" * parts[place].count("\n")
    return out
