r"""What the words around the formulas of a declaration say of them: which are assumed, and which are about arrays.

Nothing here depends on what is declared, so that it is found once for a paragraph, however often that is read: sizes
first, then domains, and again in an editor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_PARAGRAPHS
from attention_core.derivation.reading.assuming import (
    Standing,
    clause_before,
    is_left_alone,
    is_turned,
    standings,
    words_before,
)
from attention_core.derivation.reading.assuming_sentences import find_premises
from attention_core.derivation.reading.properties import without_properties
from attention_core.derivation.words.caveats import is_assumption

DECLARES = re.compile(r"\\(?:in|sim|coloneqq|triangleq)\b|:=")
_ARRAYS = re.compile(
    r"\s*,?\s*(?:(?:be|is|are|being|denotes?)\s+|(?=an?\b|the\b|any\b|some\b|two\b))"
    r"(?:(?!(?:of|in|for|on|with|from|to|by)\b)[a-z-]+\s+){0,4}?"
    r"(?:vectors?|matri(?:x|ces)|tensors?|arrays?|sequences?|functions?|operators?|maps?|sets?|events?|quer(?:y|ies)|"
    r"keys?|tokens?|embeddings?|hidden states?)"
    r"(?=\s*(?:[.,;:()]|$|(?:and|in|of|on|with|for|such|where|that|from|which)\b))",
    re.IGNORECASE,
)
_INSIDE = re.compile(r"\s*,?\s*(?:(?:be|is|are|lies?)\s+)?(?:(?:all|both|each)\s+)?in\s*$")
_SPACE = re.compile(r"\s*\\(?:mathbb|mathbf|R)\b.*\^")
_NEXT = re.compile(r"\s*,?\s*(?:and\s*)?$")
_DENIED = re.compile(r"[^.;?!]*\b(?:fails?|failed|false|wrong|not|never|violated|dropped)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the words around one formula say of it."""

    standing: Standing = Standing.ASSUMED
    behind: str = ""  # the words it stands after
    clause: str = ""  # all words of its sentence up to it
    stands: bool = False  # whether no words around it turn it
    meant: bool = False  # whether its sentence opens with a verb that assumes, and denies nothing
    arrays: bool = False  # whether the words behind it say that its symbol is an array, or no number at all


@lru_cache(maxsize=KEPT_PARAGRAPHS)
def surroundings_of(parts: tuple[str, ...]) -> tuple[Surroundings, ...]:
    r"""What the words around each formula say of it.

    Args:
        parts: Prose and formulas in turn, as a `$` cuts them.

    Returns:
        One for each part; that of prose says nothing.

    Example:
        >>> _, one, _ = surroundings_of(("We assume that ", "x > 0", "."))
        >>> one.standing.value, one.clause, one.meant
        ('assumed', 'We assume that', True)
    """
    stand = standings(without_properties(list(parts)))
    for place in find_premises(parts):
        stand[place] = Standing.SAID
    return tuple([_around(parts, place, stand[place]) if place % 2 else _NOTHING for place in range(len(parts))])


_NOTHING = Surroundings()


def _around(parts: Sequence[str], place: int, standing: Standing) -> Surroundings:
    """What the words around the formula at a place say of it."""
    clause = clause_before(parts, place)
    ahead, turned = "".join(parts[place + 1 : place + 2]), is_turned(clause)
    stands = not turned and not _DENIED.match(ahead)
    meant = not turned and is_assumption(clause) and is_left_alone(ahead)
    return Surroundings(standing, words_before(parts, place), clause, stands, meant, _says_array(parts, place))


def _says_array(parts: Sequence[str], place: int) -> bool:
    r"""Whether words say that a formula is about arrays: "$x \ne 0$ be a vector", "$x \ne 0$ in $\mathbb{R}^n$"."""
    at = place + 1
    while at + 2 < len(parts) and _NEXT.match(parts[at]) and not DECLARES.search(parts[at + 1]):
        at += 2
    found, alone = _ARRAYS.match(parts[at]) if at < len(parts) else None, at == place + 1
    space = parts[at + 1] if at + 1 < len(parts) else ""
    inside = alone and at < len(parts) and _INSIDE.match(parts[at]) and _SPACE.match(space)
    return bool(inside or (found and (alone or found[0].endswith("s"))))
