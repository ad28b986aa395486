"""Tokens.

One token of a formula, and the walk along tokens that stays outside brackets.
They are made by `lexer`, regrouped by `rows` and read by `parse`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tok:
    """One token: its kind, its value, its line in the document, where it starts in the display, is it in bold?"""

    kind: str
    value: str
    line: int
    start: int
    bold: bool = False


def depth_zero(tokens: list[Tok]) -> Iterator[tuple[int, Tok]]:
    """The tokens outside all brackets, with their positions."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.kind in ("RPAR", "RBRACK", "RBRACE", "RBAR", "RNORM", "RSET", "ENDMAT"):
            depth -= 1
        if depth == 0:
            yield i, token
        if token.kind in ("LPAR", "LBRACK", "LBRACE", "LBAR", "LNORM", "LSET", "BEGINMAT"):
            depth += 1
