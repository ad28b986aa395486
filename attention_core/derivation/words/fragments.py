r"""Plain sentences without a formula that cannot be hypotheses: names of a subject, and what a text says of itself.

A sentence restricts a symbol that it does not write only by a predicate about things ("The keys commute."), by an
adjective, a number, a condition or a kind of arrays. Two sorts of sentences have none of them:

* a name without a verb ("Fused attention kernels for CPU and GPU."), each word of which is a noun of programs and
  texts, the name of a sort of them, or a proper name: it says what the text is about, as a heading does;
* what a text says of itself ("This file lists the identities that the kernels rely on."): its subject is the text, its
  verb says what a text does, and what it names is a heading's worth of nouns.

Where such a sentence leads into a display it may name a condition of it, and it is none of these.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attention_core.derivation.words.headings import may_restrict
from attention_core.derivation.words.inert import NOUNS
from attention_core.derivation.words.vocabulary import CONDITION, GOAL

_TEXT = (
    r"(?:file|files|repo|repository|readme|document|notes?|pages?|library|package|project|module|code|script|notebook|post|"
    r"article|appendix|sections?|cheat[ -]?sheet|tutorial|lecture|chapter|handout|list|table|directory|folder)"
)
_DOES = (
    r"(?:lists?|collects?|contains?|gathers?|summari[sz]es?|documents?|explains?|describes?|derives?|records?|covers?|"
    r"reviews?|presents?|implements?|provides?|accompan(?:y|ies)|introduces?|discusses|motivates?|illustrates?)"
)
_OF_ITSELF = re.compile(
    rf"^(?:this|the present|these|our)\s+(?:\w+\s+)?{_TEXT}\s+(?:briefly\s+|also\s+|just\s+|simply\s+)?{_DOES}\s+"
    r"(?P<what>.+)$",
    re.I,
)


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_PROGRAMS = _split(
    "kernel kernels fused fast efficient minimal portable implementation implementations hardware backend "
    "backends cuda triton cpu cpus gpu gpus tpu tpus pytorch jax numpy python c++ rust inference serving training "
    "library toolkit reference utilities utility helpers helper tools tool identities identity formulas formula "
    "notes note cheatsheet cheat sheet collection compendium companion supplement benchmark benchmarks tests "
    "examples"
)
_JOINTS = _split("a an the and or for of on in from with to our its their about into by as")
_WORD = re.compile(r"[^\W\d_][\w+'\u2019-]*")
MAX_SENTENCE = 400  # characters
MAX_NAME = 12
"""How many words a name has at most: longer ones say more than a name."""


@lru_cache(maxsize=1024)
def says_nothing_of_symbols(prose: str) -> bool:
    """Whether a sentence without formulas only names a subject, or says what its text does.

    Args:
        prose: Its words.

    Example:
        >>> [says_nothing_of_symbols(one) for one in ("Fused kernels for CPU and GPU.", "The keys commute.")]
        [True, False]
        >>> says_nothing_of_symbols("This note lists identities that hold for unit keys.")
        False
    """
    text = " ".join(prose.replace("*", "").split()).strip(" .!")
    if not text or len(text) > MAX_SENTENCE or "$" in text or re.search(r"\d|[<>=\\]", text):
        return False
    own = _OF_ITSELF.match(text)
    if own is not None:
        return (
            not may_restrict(own["what"])
            and not CONDITION.search(_JOINS.sub(" ", own["what"]))
            and not GOAL.search(text)
        )
    words = _WORD.findall(text)
    return (
        len(words) <= MAX_NAME and not may_restrict(text) and all(map(_is_of_a_name, words)) and _is_of_programs(words)
    )


_JOINS = re.compile(
    r"\b(?:for|with|as|at|using)\b"
)  # they join nouns here; what they join is looked at in `may_restrict`


def _is_of_programs(words: list[str]) -> bool:
    """Whether a word says that it is about a program or a text, and not about symbols."""
    return any(word.lower() in _OF_PROGRAMS for word in words)


def _is_of_a_name(word: str) -> bool:
    """Whether a word may stand in a name: a noun, a joint, a sort of programs, or a proper name; no verb is one."""
    low = word.lower()
    proper = bool(re.search(r"[A-Z]", word[1:]))
    noun = any(one in NOUNS for one in (low, low.removesuffix("s"), low.removesuffix("es"), re.sub("ies$", "y", low)))
    return low in _JOINTS or low in _OF_PROGRAMS or proper or noun
