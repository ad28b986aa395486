r"""Relations that a sentence states under a condition: "Suppose $a = k$ when $b = 1$".

Such a sentence assumes neither of them: it says that one follows from the other. A condition on an index of the
relation, as in "$x_i > 0$ if $i > 2$", is different: it says for which entries the relation holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = (
    r"(?:when|whenever|if|provided(?:\s+that)?|given(?:\s+that)?|(?:as|so)\s+long\s+as|assuming(?:\s+that)?|"
    r"supposing(?:\s+that)?|once|in\s+case|unless|except\s+(?:when|if|for)|under)"
)
_CONDITIONAL = re.compile(rf"\s*,?\s*(?:but\s+)?(?:only\s+)?(?:then\s+)?{_WORDS}\s*", re.IGNORECASE)
_FOR = re.compile(r"\s*,?\s*(?:but\s+)?(?:only\s+)?for\s*", re.IGNORECASE)
_JOINS = re.compile(r"\s*,?\s*(?:(?:and|or)(?:\s+that)?)?\s*", re.IGNORECASE)
_RELATION = re.compile(r"[=<>]|\\(?:leq?|geq?|neq?|leqslant|geqslant)(?![a-zA-Z])")
_OF_LETTER = re.compile(r"\s*(?:1\s*(?:<|\\leq?)\s*)?(?P<letter>[a-z])\s*(?:[=<>]|\\(?:leq?|geq?|neq?|in)(?![a-zA-Z]))")
_BELOW = re.compile(r"_\s*(?:\{([^{}]*)\}|([a-z]))")
_OTHERWISE = re.compile(r"\b(?:otherwise|else|elsewhere)\b", re.IGNORECASE)
_INTRODUCES = re.compile(r"\b(?:let|put|set|define|write)\s*$", re.IGNORECASE)
_GIVEN = re.compile(
    r"\s*,?\s*(?:provided(?:\s+that)?|given(?:\s+that)?|(?:as|so)\s+long\s+as|assuming(?:\s+that)?)\s*", re.IGNORECASE
)
_COMMAND = re.compile(r"\\(?:[lgn]eq?|leqslant|geqslant|neq)(?![a-zA-Z])")
_ARGUMENT = re.compile(r"\s*\\?[A-Za-z]+\s*\(\s*(\\?[A-Za-z]+)\s*\)\s*(?::=|=)")


def find_conditional(parts: Sequence[str]) -> set[int]:
    """The places of the relations that hold under a condition, and of their conditions.

    Args:
        parts: Prose and formulas in turn, as a `$` cuts them.

    Example:
        >>> find_conditional(["Suppose ", "a = k", " when ", "b = 1", "."])
        {1, 3}
        >>> find_conditional(["Suppose ", "x_i > 0", " when ", "i > 2", "."])
        set()
    """
    found: set[int] = set()
    for place in range(1, len(parts) - 2, 2):
        if not _depends(parts[place], parts[place + 1], parts[place + 2]) or _says_domain(parts, place):
            continue
        first, last = place, place + 2
        while first > 1 and _JOINS.fullmatch(parts[first - 1]):
            first -= 2
        while last + 2 < len(parts) and _JOINS.fullmatch(parts[last + 1]):
            last += 2
        found |= set(range(first, last + 1, 2))
    return found


def _depends(relation: str, words: str, condition: str) -> bool:
    """Whether a formula is a relation that holds where another one does."""
    if not (_RELATION.search(relation) and _RELATION.search(condition)) or _runs(condition, relation):
        return False
    if _CONDITIONAL.fullmatch(words):
        return True
    argument = _ARGUMENT.match(relation)  # "$f(x) = x$ for $x > 0$" does not say what f is elsewhere
    return bool(argument and _FOR.fullmatch(words) and re.search(rf"{re.escape(argument[1])}(?![a-zA-Z])", condition))


def _says_domain(parts: Sequence[str], place: int) -> bool:
    """Whether a condition only says where a definition has a value: "let $f(x) = \\log x$ for $x > 0$"."""
    relation, condition = parts[place], parts[place + 2]
    argument = _ARGUMENT.match(relation)
    if argument is not None:
        head = relation.partition("(")[0].strip()
        again = sum(part.strip().startswith(f"{head}(") for part in parts[1::2]) > 1
        rest = " ".join(parts[place + 3 :: 2])
        inside = re.search(rf"(?<![a-zA-Z\\]){re.escape(argument[1])}(?![a-zA-Z])", condition)
        return bool(inside) and not again and not _OTHERWISE.search(rest)
    value, defines = relation.partition("=")[2], _INTRODUCES.search(parts[place - 1])
    letters = set(re.findall(r"\\[a-zA-Z]+|[a-zA-Z]", _COMMAND.sub(" ", condition)))
    own = set(re.findall(r"\\[a-zA-Z]+|[a-zA-Z]", value))
    return bool(defines and letters and letters <= own and _GIVEN.fullmatch(parts[place + 1]))


def _runs(condition: str, relation: str) -> bool:
    """Whether a condition is on an index of a relation."""
    letter = _OF_LETTER.match(condition)
    below = "".join(one or other for one, other in _BELOW.findall(relation))
    return letter is not None and letter["letter"] in below
