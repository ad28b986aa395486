"""What sentences that declare and define are made of: their masked formulas, what these introduce, and what is new.

For `spelled_scopes` and `spelled_subjects`, which write such sentences as declarations and definitions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attention_core.derivation.reading.defining_formulas import Definition, declared_in, definition_in, mentions
from attention_core.derivation.reading.masked_text import FORMULA, MaskedFormulas
from attention_core.derivation.reading.spelled_definitions import CALLED
from attention_core.derivation.words.headings import may_restrict
from attention_core.derivation.words.vocabulary import GOAL, PROPERTY

BEGINS = r"(?P<begins>(?:^|(?<=[.;:!?])\s|(?<=[.:]\*\*)\s)\s*)(?:\(?(?:[a-h]|[ivx]{1,4}|\d{1,2})[.)]\s+)?"
CLOSES = r"(?=\s*(?:[.;!?]|:?\s*$))"
ALL = r"(?:(?:all|any|every|each|an?|some|arbitrary|fixed)\s+)?"
WORDS = r"[A-Za-z][A-Za-z-]*(?:\s+[A-Za-z][A-Za-z-]*){0,5}?"
ITEM = rf"{FORMULA}(?:\s+(?:be|is|are)\s+(?:the|an?|our|its)\s+{WORDS})?"
ITEMS = rf"{ITEM}(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:let\s+|put\s+|set\s+)?{ITEM})*"
_ONE_ITEM = re.compile(
    rf"(?P<mask>{FORMULA})(?:\s+(?:be|is|are)\s+(?P<role>(?:the|an?|our|its)\s+{WORDS}))?(?=\s*,|\s+and\b|\s*$)"
)
DECLARES = re.compile(
    r"^\W*(?:\w{1,3}[.)]\s+)?(?:(?:now|then|also|and)\s+)?(?:let|given|put|set|define|consider)\b", re.I
)


@dataclass
class Sentence(MaskedFormulas):
    """What stands around a match: the formulas of the paragraph, and those above it in its section."""

    formulas: list[str]
    above: str
    arrays: frozenset[str] = frozenset()  # letters that the document writes as arrays

    def is_new(self, names: Sequence[str], before: str) -> bool:
        """Whether nothing above, and nothing in the text before, mentions some names."""
        earlier = "\n".join([self.above, *self.all_in(before)])
        return bool(names) and not any(mentions(name, earlier) for name in names)


def before_match(found: re.Match[str]) -> str:
    """The text of the paragraph in front of a match."""
    return found.string[: found.start()]


@dataclass
class Items:
    """A list of formulas with roles: what declares, with its role, and what defines, each with its mask."""

    declares: list[str]
    defines: list[tuple[str, Definition]]

    def say(self) -> list[str]:
        """Sentences that say the same, declarations first."""
        return [*(f"Let {one}" for one in self.declares), *(f"Put {mask}" for mask, _ in self.defines)]


def items_of(sentence: Sentence, text: str | None, before: str) -> Items | None:
    """What the formulas of a list introduce; None if one of them does anything else, or is about known symbols."""
    out = Items([], [])
    for one in _ONE_ITEM.finditer(text or ""):
        formula, role = sentence.at(one["mask"]), one["role"] or ""
        made = definition_in(formula)
        if made is not None and is_only_name(made, role) and sentence.is_new([made.name], before):
            out.defines.append((one["mask"], made))
        elif made is None and sentence.is_new(declared_in(formula), before):
            out.declares.append(f"{one['mask']} be {role}" if role else one["mask"])
        else:
            return None
    return out if len(out.declares) + len(out.defines) == len(re.findall(FORMULA, text or "")) else None


def is_only_name(made: Definition, role: str) -> bool:
    """Whether words that name what is defined restrict nothing by it."""
    words = re.sub(r"^(?:the|an?|our|its|this)\s+", "", " ".join(role.split()), flags=re.IGNORECASE)
    if GOAL.search(words):
        return False  # "the wrong formula", "our claim"
    if not words or made.is_closed() or re.fullmatch(CALLED, words, re.IGNORECASE):
        return True
    return not PROPERTY.search(words) and not may_restrict(words)
