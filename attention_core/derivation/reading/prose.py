"""The words of a declaration.

The words between the formulas of a declaration: what they change of its meaning, and which of them cannot be read.
A word that changes the meaning and is not known makes the paragraph unreadable.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.definitions import DEFINING
from attention_core.derivation.words.paragraphs import BINDING, OPENERS

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import ReaderState


_MEANING = re.compile(
    r"\b(not|unless|except|never|neither|nor|no|without|symmetric|invertible|diagonal|positive definite|orthogonal|"
    r"orthonormal|perpendicular|parallel|unit|integers?|even|odd|nonzero|non-zero|increasing|sorted|correlated|"
    r"dependent|identically|iid|uniformly|either|or|almost|approximately|some|exists?|singular|semidefinite)\b",
    re.IGNORECASE,
)
_ADVICE = {
    "orthogonal": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "orthonormal": r"write $A^\top A = I_m$",
    "perpendicular": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "symmetric": r"write $A = A^\top$",
    "unit": r"write $\|x\| = 1$",
    "nonzero": r"write $x \ne 0$",
    "non-zero": r"write $x \ne 0$",
    "not": "write the condition as a formula, such as $x \\ne 0$",
}


# "Draw independent $x$ and $y$": of the symbols that follow.
_BEFORE_DRAWS = re.compile(
    r"\bindependent(?:ly)?(?: (?:random|normal|gaussian|real|standard|variables?|vectors?|numbers?|draws?|"
    r"samples?))*\s*$",
    re.IGNORECASE,
)


def words(reader: ReaderState, text: str, line: int) -> None:
    """Prose between formulas."""
    found = _MEANING.search(text)
    if found:
        word = found.group().lower()
        advice = _ADVICE.get(word, "say it with a formula, or leave the sentence out of this paragraph")
        raise Unreadable(f"the word '{found.group()}' changes the meaning and is not understood here: {advice}", line)
    if re.search(r"\bindependent(ly)?\b", text):
        reader.independent = bool(_BEFORE_DRAWS.search(text))
        for name in reader.drawn:
            symbol = reader.context.symbols[name]
            assert symbol.law is not None
            reader.context.symbols[name] = replace(symbol, law=replace(symbol.law, independent=True))
    if re.search(r"\bbroadcast\b", text):
        reader.context.broadcast = reader.context.level
        reader.context.understood.append((line, "sums are broadcast"))
    if re.search(r"\bdistinct\b", text):
        reader.distinct(line)
    if re.search(r"[.;]\s|[.;]$", text):
        reader.drawn, reader.law_index, reader.sentence = [], "", reader.sentence + 1
        reader.independent = False
    if re.search(r"[.;]\s|[.;]$|\bwith\b|\band let\b", text) and not BINDING.search(text.rstrip()):
        reader.settle()
    for word in re.findall(r"[A-Za-z]+", text):
        if word in OPENERS or word.lower() in (*DEFINING, "given", "assume", "suppose", "draw"):
            reader.verb = word.lower()
