"""Words between formulas.

What words between formulas do: join statements, bind indices, stand for an arrow or give a reason.
Words that change the meaning, or hold a relation themselves, are told from them, so that they can be refused.
"""

from __future__ import annotations

import re

JOINS = ("and", "hence", "thus", "so", "therefore", "then", "similarly", "also", "moreover", "so that")
BINDS = (
    "for", "for all", "for any", "for every", "for each", "whenever", "where", "if", "when", "provided",
    "provided that", "assuming", "given that", "with", "such that", "subject to", "as long as", "and for", "and if",
    "in case",
)  # fmt: skip
OPENS_REASON = re.compile(
    r"\b(since|because|by|via|from|use|uses|using|as|due|apply|applying|substitut\w+|insert\w*|definition|"
    r"linearity|independen\w+|symmetry|orthogonal\w*|bilinearity|property|rule|inequality|identity|assumption|hypothesis)\b"
)
CHANGES = re.compile(r"\b(not|unless|except|never|otherwise|else|nowhere|fails?|false|wrong|some)\b")
WRITTEN_RELATION = re.compile(r"[=<>≤≥≠≈]|\\(?:leq?|geq?|neq?|approx|to|implies|iff|in|sim|gg|ll)\b")
ARROWS = {
    "implies": "=>", "which implies": "=>", "implies that": "=>", "if and only if": "<=>", "iff": "<=>",
    "or equivalently": "<=>", "equivalently": "<=>", "is equivalent to": "<=>", "which is equivalent to": "<=>",
}  # fmt: skip


def bare(word: str) -> str:
    """The letters of some words."""
    return " ".join(re.sub(r"[^a-z ]", "", word.lower().replace(".", " ")).split())
