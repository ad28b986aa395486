r"""Decompositions by their names: "Let $A = U \Sigma V^\top$ be the singular value decomposition of $A \in ...$".

What such a sentence says of the factors is written as their declarations, and the matrix is their product: where the
shapes of all factors have one meaning, as those of a square matrix. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from attention_core.derivation.reading.masked_text import (
    BEGINS,
    CLOSES,
    FORMULA,
    add_formula,
    formula_at,
    has_name,
    keep_lines,
)

Factor = tuple[str, str, str, str]  # its name, its rows, its columns, and what it is
_NAMES = {
    "svd": r"(?:full\s+)?singular\s+value\s+decomposition|SVD",
    "eigen": r"(?:spectral|eigenvalue)\s+decomposition|eigen-?decomposition",
    "cholesky": r"cholesky\s+(?:decomposition|factori[sz]ation)",
    "qr": r"(?:thin\s+|reduced\s+)?QR[\s-](?:decomposition|factori[sz]ation)",
}
_KIND = "|".join(f"(?P<{kind}>{words})" for kind, words in _NAMES.items())
_ADJECTIVES = r"(?:(?:symmetric|positive|definite|square|real|the|an?|matrix)\s+)*"
_MANY = rf"{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+){FORMULA})*"
_AFTER = (
    rf"(?:,?\s+(?:so(?:\s+that)?|where|with)\s+(?:the\s+(?:matrices|factors)\s+)?(?P<after>{_MANY})\s+(?:(?:are|is)\s+)?"
    r"(?:both\s+)?orthogonal(?:\s+matrices)?)?"
)
_VERB = rf"{BEGINS}(?:let|suppose|assume|write|consider)(?:\s+that)?\s+"
_OF = re.compile(
    rf"{_VERB}(?P<form>{FORMULA})\s+(?:be|is|for)\s+(?:the|an?)\s+(?:{_KIND})\s+of\s+(?P<adjectives>{_ADJECTIVES})(?P<array>{FORMULA})"
    rf"{_AFTER}{CLOSES}",
    re.IGNORECASE,
)
_HAS = re.compile(
    rf"{_VERB}(?P<adjectives>{_ADJECTIVES})(?P<array>{FORMULA})\s+(?P<more>(?:(?:be|is)\s+{_ADJECTIVES})?)(?:with|have|has)\s+(?:the\s+|an?\s+)?"
    rf"(?:{_KIND})\s+(?P<form>{FORMULA}){_AFTER}{CLOSES}",
    re.IGNORECASE,
)
_LETTER = r"(?:\\[A-Za-z]+|[A-Za-z])"
_TOP = r"\^\s*\{?\s*(?:\\top|\\intercal|T)\s*\}?"
_PRODUCT = re.compile(
    rf"^\s*(?P<whole>{_LETTER})\s*=\s*(?P<first>{_LETTER})\s*(?P<middle>(?!\\top){_LETTER})?\s*"
    rf"(?:(?P<last>{_LETTER})\s*{_TOP})?\s*$"
)
_LIVES = re.compile(
    rf"^\s*(?P<name>{_LETTER})\s*\\in\s*\\mathbb\s*\{{?R\}}?\s*\^\s*\{{\s*(?P<n>\w+)\s*\\times\s*(?P<m>\w+)\s*\}}\s*$"
)
_ORTHOGONAL = "an orthogonal matrix"


def spell_factors(above: str, masked: str, formulas: list[str]) -> str:
    r"""Write named decompositions as declarations of their factors.

    Args:
        above: The formulas of the document above: a matrix of theirs is not declared again.
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> made = ["A = L L^\\top", r"A \in \mathbb{R}^{n \times n}"]
        >>> spell_factors("", "Let \x000\x00 be the Cholesky decomposition of \x001\x00.", made)
        'Let \x002\x00 be a lower triangular matrix with positive diagonal entries. Put \x000\x00.'
    """
    if "ecomposition" not in masked and "actori" not in masked and "SVD" not in masked:
        return masked
    for pattern in (_OF, _HAS):
        masked = pattern.sub(partial(keep_lines, partial(_declare, above), formulas), masked)
    return masked


def _declare(above: str, found: re.Match[str], formulas: list[str]) -> str:
    product = _PRODUCT.match(formula_at(found["form"], formulas))
    array = _LIVES.match(formula_at(found["array"], formulas))
    if product is None or array is None or product["whole"] != array["name"] or has_name(array["name"], above):
        return found[0]
    kind = next(one for one in _NAMES if found[one])
    adjectives = f"{found['adjectives']} {found.groupdict().get('more') or ''}".lower()
    factors = _FACTORS[kind](product, array["n"], array["m"], adjectives)
    named = {formula_at(one, formulas).strip() for one in re.findall(FORMULA, found["after"] or "")}
    if not factors or not named <= {name for name, _, _, what in factors if what == _ORTHOGONAL}:
        return found[0]
    texts = []
    for name, rows, cols, what in factors:
        lives = add_formula(formulas, rf"{name} \in \mathbb{{R}}^{{{rows} \times {cols}}}")
        texts.append(f"{lives} be {what}")
    return f"{found['begins']}Let {' and let '.join(texts)}. Put {found['form']}"


def _svd(product: re.Match[str], n: str, m: str, adjectives: str) -> list[Factor]:
    if n != m or "symmetric" in adjectives or "definite" in adjectives or None in (product["middle"], product["last"]):
        return []
    values = (product["middle"], n, n, "a diagonal matrix with nonnegative diagonal entries")
    return [(product["first"], n, n, _ORTHOGONAL), (product["last"], n, n, _ORTHOGONAL), values]


def _eigen(product: re.Match[str], n: str, m: str, adjectives: str) -> list[Factor]:
    """Of symmetric matrices alone, whose eigenvectors are orthonormal."""
    if n != m or product["first"] != product["last"] or not product["middle"]:
        return []
    if "symmetric" not in adjectives and "definite" not in adjectives:
        return []
    sign = " with positive diagonal entries" if "definite" in adjectives else ""
    return [(product["first"], n, n, _ORTHOGONAL), (product["middle"], n, n, f"a diagonal matrix{sign}")]


def _cholesky(product: re.Match[str], n: str, m: str, _: str) -> list[Factor]:
    if n != m or product["first"] != product["last"] or product["middle"]:
        return []
    return [(product["first"], n, n, "a lower triangular matrix with positive diagonal entries")]


def _qr(product: re.Match[str], n: str, m: str, adjectives: str) -> list[Factor]:
    if product["last"] or not product["middle"] or "definite" in adjectives or "symmetric" in adjectives:
        return []
    first = (product["first"], n, m, _ORTHOGONAL if n == m else "a matrix with orthonormal columns")
    return [first, (product["middle"], m, m, "an upper triangular matrix")]


_FACTORS: dict[str, Callable[[re.Match[str], str, str, str], list[Factor]]] = {
    "svd": _svd,
    "eigen": _eigen,
    "cholesky": _cholesky,
    "qr": _qr,
}
