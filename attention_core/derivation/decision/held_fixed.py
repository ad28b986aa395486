r"""Differentials of a document that says of a symbol that it varies, which the step holds fixed.

In an equation of differentials, what no d stands in front of is held fixed (see `written_differentials`). A sentence
may say otherwise: with "A varies", $dY = A \, dX$ of $Y = A X$ lacks a term.
"""

from __future__ import annotations

import re

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.reading.step import Step
from attention_core.derivation.words.caveats import shorten_quote

_WORDS = r"(?:var(?:y|ies|ying|iable)|changes?|changing|move[sd]?|moving|trained|trainable|learn(?:ed|able))\b"
_BEHIND = re.compile(
    rf"^(?:\s*,?\s*(?:and\s+)?\$[^$]*\$)*\s*(?:(?:is|are|may|can|also|both|all|too|does|do|to)\s+)*{_WORDS}",
    re.IGNORECASE,
)


def find_varying(step: Step) -> str:
    """Where the document says that a symbol varies which a step of differentials holds fixed, '' if nowhere.

    Args:
        step: The step.
    """
    known = step.context.symbols
    names = collect_symbols(step)
    if not any(name.startswith("d ") for name in names):
        return ""
    held = [one for one in sorted(names) if known[one].kind in ("array", "family") and f"d {one}" not in known]
    for words in step.far_words if held else ():
        for found in re.finditer(r"\$([^$]*)\$", words.quote):
            name = next((one for one in held if found[1].strip() == one), "")
            if name and not name.startswith("d ") and _BEHIND.match(words.quote[found.end() :]):
                quote = shorten_quote(words.quote)
                return f"line {words.line} may say that {name} varies ('{quote}'): write d{name} as well"
    return ""


__all__ = ["find_varying"]
