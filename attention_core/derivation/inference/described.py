"""Symbols that words describe without a size: "Let $A$ be a symmetric matrix", "Let $u$ be a unit vector"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SQUARE = re.compile(
    r"\b(?:square|symmetric|skew-symmetric|antisymmetric|orthogonal|invertible|nonsingular|non-singular|definite|"
    r"semidefinite|diagonal|triangular|idempotent|permutation|projection|stochastic)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Described:
    """Names, and the noun phrase that a line says they are: "a symmetric matrix"; also of a display right above it."""

    line: int
    names: tuple[str, ...]
    phrase: str
    since: int = 0  # the line of that display, 0 without

    @property
    def is_matrix(self) -> bool:
        """Whether they are matrices, and not vectors."""
        return bool(re.search(r"matri(?:x|ces)\s*$", self.phrase))

    @property
    def is_square(self) -> bool:
        """Whether they have as many rows as columns, as one of the words means that."""
        return self.is_matrix and bool(SQUARE.search(self.phrase))

    @property
    def text(self) -> str:
        """The sentence that assumes what the words say beside the shape."""
        names = ", ".join(f"${name}$" for name in self.names)
        return f"Assume {names} {'is' if len(self.names) == 1 else 'are'} {self.phrase}."


def nearest(described: Sequence[Described], line: int) -> dict[str, Described]:
    """For each name its last description above a line.

    Args:
        described: All that is described, in the order of the document.
        line: The line.
    """
    return {name: one for one in described if (one.since or one.line) <= line for name in one.names}
