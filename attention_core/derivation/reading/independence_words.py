r"""Which words say that the random symbols of a sentence are independent of each other.

"$x$ and $y$ are independent of $z$" says nothing of x and y together, nor do "conditionally independent" and "linearly
independent"; "where $x$ and $y$ are independent" says nothing of a z that the same sentence draws.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_INDEPENDENT = re.compile(
    r"(?<!conditionally )(?<!linearly )(?<!affinely )\bindependent(?:ly)?\b"
    r"(?!\s+(?:given|conditional(?:ly)?|conditioned|only|if|when|unless|up\s+to)\b)"
    r"(?!\s+(?:from|of)\s+(?!(?:each\s+other|one\s+another|all\s+others?|the\s+others?)\b))",
    re.IGNORECASE,
)
_OF_WHICH = re.compile(r"\bindependent(?:ly)?\s+(?:of|from)\s*$", re.IGNORECASE)
_SAID_OF = re.compile(
    r"^\s*(?:(?:both|all|each|are|is|be|being|mutually|jointly|pairwise)\s+)*independent\b", re.IGNORECASE
)


def says_independent(
    text: str, subjects: Collection[str], drawn: Collection[str], object_names: Collection[str]
) -> bool:
    """Whether words say of all symbols that a sentence draws that they are independent of each other.

    Args:
        text: The words up to the next formula.
        subjects: The symbols of the formulas right in front of them.
        drawn: The symbols that the sentence draws.
        object_names: The symbols of the next formula.

    Example:
        >>> says_independent(" be independent.", ["x", "y"], ["x", "y"], [])
        True
        >>> says_independent(" are independent of ", ["x", "y"], ["x", "y", "z"], ["z"])
        False
    """
    said_of, rest = set(subjects), set(drawn)
    if _OF_WHICH.search(text):  # "$x$ is independent of $y$": both alone
        return len(said_of) == len(object_names) == 1 and said_of | set(object_names) == rest
    if _INDEPENDENT.search(text) is None:
        return False
    return not (_SAID_OF.match(text) and said_of and said_of < rest)
