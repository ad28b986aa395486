r"""What a document says of the parameters of exponential laws: that they are rates, or means."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attention_core.derivation.quick_patterns import compile_quick

RATES = "the parameters of exponential laws are rates"
_FORMULA = re.compile(r"\$[^$]*\$")
_SAYS_RATE = compile_quick(r"(?<!learning )\b(?:rates?|intensity|intensities)\b", re.IGNORECASE)
_SAYS_MEAN = compile_quick(
    r"\b(?:scales?|parametri[sz]ed by (?:its|the|their) means?)\b|"
    r"\b(?:not|instead of|rather than) (?:an? |the |its )?rates?\b|"
    r"\b(?:parameters?|arguments?|numbers?|it|which)\b[^.;]{0,20}\bmeans?\b",
    re.IGNORECASE,
)
_IN_WORDS = compile_quick(r"\bexponential(?:ly)?\b[^.;]{0,40}\bmeans?\b", re.IGNORECASE)


def says_rates(texts: Iterable[str]) -> bool:
    r"""Whether a document leaves no doubt that the parameters of its exponential laws are rates.

    Args:
        texts: Its paragraphs, before laws in words are written as formulas.

    Example:
        >>> [says_rates([one]) for one in ("with rate $2$", "the mean, not the rate", r"$T \sim \mathrm{Exp}(2)$")]
        [True, False, False]
    """
    words = " ".join(" ".join(_FORMULA.sub(" ", text).split()) for text in texts)
    return bool(_SAYS_RATE.search(words) or _IN_WORDS.search(words)) and not _SAYS_MEAN.search(words)
