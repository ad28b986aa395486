r"""Which sentences of a declaring paragraph assume what their words say of symbols.

In "Let $x \in \mathbb{R}$. We will later also allow positive $x$." the second sentence assumes nothing. A sentence does
if it opens with a verb that assumes ("let", "we assume that", "here, suppose"), goes on behind "where" or "with", or
only states of its symbols what they are ("The matrix $A$ is symmetric."). A list of such openings can be short.

"Suppose the trace of $A$ is positive" says something, and not of A: see `is_of_something_else`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from attention_core.derivation.reading.assuming import is_plain_word


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bresp)[.;?!]+(?=\s|$)")
_RELATION = re.compile(
    r"[=<>]|\\(?:in|sim|leq?|geq?|neq?|to|perp|approx|equiv|[lg]eqslant|coloneqq|triangleq)(?![a-zA-Z])"
)
BARE, RELATED = "$$", "$=$"
"""What stands for a formula in the words of a sentence: for one without a relation, and for one with it."""
_ANY = r"\$=?\$"

_VERBS = (
    r"(?:let|assum(?:e|ing)|suppos(?:e|ing)|require|consider|take|taking|fix|choose|pick|set|put|draw|define|denote|"
    r"write|restrict|impose|postulate|sample|use|introduce|study|work\s+with|deal\s+with|look\s+at|have|are\s+given|"
    r"need|know|observe|call|use)\b"
)
_FREE_WORDS = (
    r"(?:now|next|also|then|so|thus|hence|therefore|further|furthermore|moreover|additionally|besides|again|finally|"
    r"lastly|first|second|here|henceforth|hereafter|throughout|below|simply|will|shall|must|always|tacitly|implicitly|"
    r"only|instead|and|but|or|that)"
)
_WHO = r"(?:we|let\s+us|let's|i|one\s+(?:must|should|has\s+to))"
_ASSUMES = re.compile(
    rf"(?:^|[,:()\u2013\u2014*_.]|{_ANY}|\b(?:{_FREE_WORDS}|{_WHO}))\s*"
    r"(?:let|assum(?:e|ing)|suppos(?:e|ing)|fix|choose|pick|put|define|draw|given|denote|require|consider|take|set|write|"
    r"restrict|impose|postulate|sample|introduce)\b|"
    r"\b(?:we|one|you|let\s+us|let's)\s+(?:(?:may|can)\s+(?:and\s+(?:do|will)\s+)?)(?:also\s+|now\s+)?(?:assume|suppose)\b|"
    rf"\bwe\s+(?:{_FREE_WORDS}\s+)*{_VERBS}|"
    r"^\W*(?:everything|all\s+(?:results|steps|formulas|statements|claims))\b[^$]*\b(?:is|are|holds?)\s+for\b|"
    r"\b(?:it|they)\s+(?:is|are)\s+(?:assumed|supposed|required)\b|"
    r"^\W*(?:(?:here|and|but|also|now|in\s+which)\W+)*(?:where|with|given|note|recall|remember|observe|since|because|as|"
    r"supposed?|assumed?|such\s+that|provided|satisfying|having|whose|for\s+which)\b",
    re.IGNORECASE,
)
"""Words that open an assumption, at the start of a clause."""
_WHERE = re.compile(
    r"(?:,|\$=\$|\()\s*(?:and\s+)?(?:where|with|given|such\s+that|in\s+which|provided(?:\s+that)?|assuming)\b",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"\b(?:later|elsewhere|afterwards|eventually|subsequently|previously|formerly|often|sometimes|usually|typically|"
    r"commonly|frequently|occasionally|rarely|seldom|mostly|authors?|textbooks?|books?|texts|papers|literature|people|"
    r"exercises?|homework|could|might|would|whether|"
    r"(?:in|by|of|see|as|to)\s+(?:section|chapter|problem|exercise|question|figure|fig|appendix|part|lecture|week|table|"
    r"theorem|lemma|example)s?\W*(?:\d|[ivxIVX]+\b|\$|[A-Z]\b)|"
    r"(?:section|chapter|problem|exercise|question|figure|appendix|part|lecture|theorem|lemma)\s+\d)",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"^\W*(?:(?:just\s+)?as\s+(?:in|before|above|usual|for)|by|following|similarly\s+to|recall\s+from)\b"
    rf"[^,$]*(?:{_ANY}[^,$]*)?,|\bwithout\s+(?:any\s+)?loss\s+of\s+(?:any\s+)?generality\b|"
    r"\bunless\s+(?:otherwise\s+)?(?:stated|noted|specified|mentioned)(?:\s+otherwise)?\b",
    re.IGNORECASE,
)
"""What stands in front of an assumption and leaves it one."""
_OTHERS = re.compile(r"^\W*(?:they|he|she|others|some|many|most)\b(?!\s+(?:is|are)\b)", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|wherever|unless|once|except|instead\s+of|rather\s+than|without|not|no|nor|never|"
    r"(?:in|for|under)\s+(?:the|that|this|which|a)\s+(?:\w+\s+)?case)\b",
    re.IGNORECASE,
)
_NOUNS = (
    r"(?:(?:the|an?|all|both|two|three|four|these|those|its|each|every|any|real|given|random|square|symmetric|column|row|"
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|keys?|quer(?:y|ies)|values?|weights?|inputs?|scores?|variables?|"
    r"parameters?|functions?|columns|rows|samples?|tokens?|embeddings?|logits?)\s+)*"
)
_WEAKENS = re.compile(
    r"\b(?:if|when|whenever|wherever|unless|once|near|around|close\s+to|on\s+average|in\s+expectation|in\s+the\s+(?:limit|mean|"
    r"basis)|with\s+(?:\w+\s+)?(?:probability|chance|respect)|up\s+to|modulo|almost|approximately|knew|claims?|says?|thinks?|"
    r"believes?|shows?|proves?|for\s+(?:\w+\s+)?(?:small|large|most|some|many|few)|whether|question)\b|"
    rf"{_ANY}\s*(?:plus|minus|times|over|divided\s+by|multiplied\s+by|together\s+with|followed\s+by|without|versus|per)\s+"
    rf"{_NOUNS}{_ANY}\s*(?:is|are|be|has|have)\b",
    re.IGNORECASE,
)
"""What makes an assumption one under a condition, or of others."""
_LOOSE = re.compile(
    r"\bwe\b.*\b(?:use|study|work\s+with|deal\s+with|look\s+at|have|need|know|observe|call)$", re.IGNORECASE
)
_FOR_ENDS = re.compile(r"\bfor\s+(?:(?:all|any|every|each|an?|the|some)\s+)*$|\bfor$", re.IGNORECASE)
_DEFINES = re.compile(r"\b(?:put|define|set|write|denote)\b", re.IGNORECASE)
_QUANTIFIED = re.compile(r"\b(?:every|any|no|each|all|most)$", re.IGNORECASE)
_SUPPOSES = re.compile(r"\b(?:assum|suppos)", re.IGNORECASE)
_DEFINITE = re.compile(
    rf"^\W*(?:(?:and|also|here|further|moreover|both|all)\W+)*(?:the|our|this|these|both|two|its|their|{_ANY})", re.I
)
_FOR_LET = re.compile(
    r"^\W*(?:for|given|with|to|at|in|on)\b",
    re.IGNORECASE,
)
_THEN_LETS = re.compile(
    r",?\s*(?:then\s+)?(?:we\s+(?:also\s+|now\s+|will\s+|shall\s+)?|let\s+us\s+)?(?:let|define|put|set|write|denote|consider|assume|suppose|take|"
    r"introduce)\b",
    re.IGNORECASE,
)
_PREMISE = re.compile(r"\W*(?:(?:And|But|Now|Here)\W+)?(?:Where|With)\b\s*")
_PREMISE_ENDS = re.compile(r"\b(?:Where|With)\s*$")
_JOINS = re.compile(r"\s*,?\s*(?:and)?\s*")
_CONCLUDES = re.compile(
    r"^[^,.;]*,\s*(?!(?:we\s+(?:\w+\s+)?|let\s+us\s+)?(?:let|define|put|set|write|denote|consider|assume|suppose|take)\b)"
    r"(?:then\s+)?(?:the|this|that|it|we|one|all|both|there|our|its|an?|each|every|these)\s+(?:[a-z-]+\s+)*?"
    r"(?!(?:the|an?)\b)[a-z-]+\b[^$]*\.",
    re.IGNORECASE,
)
"""A main clause behind a condition: ", the function grows."."""
_GIVEN_BEHIND = re.compile(r"\b(?:is|are|be)\s+(?:given|fixed|chosen|drawn|assumed|considered)\b", re.IGNORECASE)
_GENERIC = re.compile(
    r"^\W*(?:(?:and|but|also|now|here|moreover|further)\W+)*"
    r"(?:if|when|whenever|wherever|unless|once|then|so|hence|thus|therefore|consequently|any|no|some|an?|suppose\s+not)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"^\W*(?:(?:here|also|and|moreover|further|again)\W+)*(?:the|our|all|both|these)\s+"
    r"(?:(?!(?:of|in|for|from|to|by|with|that|which|where|when|on|at|as|than|or|cases?|examples?|exercises?|problems?|"
    r"assumptions?|hypothes[ie]s|claims?|questions?|theorem|lemma|[a-z]+(?:ed|ing)?ly)\b)[a-z-]+\s+){0,4}"
    rf"{_ANY}(?:\s*(?:,|,?\s*and)\s*{_ANY})*\s*(?:(?:is|are|has|have|being|lies?|forms?)\b\s*(?:both|all|each|an?|the|"
    r"always|here|also|assumed|taken|supposed|chosen|required|known|to|be|of|real|arbitrary|fixed|given|\s)*)?$",
    re.IGNORECASE,
)
"""A symbol with what it is called: "The learning rate $\\eta$ is"."""
_STATES = _word_set(
    "has have having lie lies lying will always both all each every that which whose it they assumed taken required "
    "supposed chosen known called satisfy satisfies sum sums form forms consist consists of with we"
)
_SET_OF = re.compile(
    r"\b(?:sets?|spaces?|class(?:es)?|cone|manifold|group|number|count|share|fraction|proportion|sums?|products?|"
    r"max(?:imum)?|min(?:imum)?|supremum|infimum|sup|inf|average|means?|unions?|integral|restriction)\s+"
    r"(?:(?:of|over|on|to|for|among)\s+)(?:(?:all|the|any|every|each|those)\s+)*$",
    re.IGNORECASE,
)
_MADE_OF = re.compile(
    rf"(?:(?P<det>[a-z'-]+)\s+)?(?P<head>[a-z'-]+)\s+"
    rf"(?:of|to|from|between|in|on|by|over|than|at|under|into|onto|along|among)\s+{_NOUNS}"
    rf"{_ANY}(?:\s*(?:,|,?\s*and|,?\s*or|to|from)\s*{_NOUNS}{_ANY})*\s*$",
    re.IGNORECASE,
)
_PARTS = _word_set(
    "entry entries element elements component components coordinate coordinates member members value values all both "
    "each every any"
)
_WHOLES = _word_set("set sets family families system systems collection pair triple sequence list")
_DETERMINERS = _word_set("all the each every any both that let suppose assume and where with an a")
_COPULA = re.compile(r"\b(?:is|are|be|being|has|have|lies?|forms?|vanish(?:es)?|sums?|equals?)\b[^$]*$", re.IGNORECASE)


def words_of_sentence(parts: Sequence[str], place: int, at: int) -> tuple[str, str]:
    r"""The words of a sentence in front of a place and behind it, with signs that stand for its formulas.

    Args:
        parts: Prose and formulas in turn, as a `$` cuts them.
        place: The part that the place is in, prose.
        at: Where in this part.

    Example:
        >>> words_of_sentence(["Let ", "n", ". Suppose ", "x > 0", " and ", "y", "."], 4, 4)
        (' Suppose $=$ and', ' $$.')
    """
    before, behind = [], []
    for k in range(place, -1, -1):
        text = parts[k][:at] if k == place else parts[k]
        if k % 2:
            before.append(RELATED if _RELATION.search(text) else BARE)
            continue
        ends = list(_END.finditer(text))
        before.append(text[ends[-1].end() :] if ends else text)
        if ends:
            break
    for k in range(place, len(parts)):
        text = parts[k][at:] if k == place else parts[k]
        if k % 2:
            behind.append(RELATED if _RELATION.search(text) else BARE)
            continue
        end = _END.search(text)
        behind.append(f"{text[: end.start()]}." if end else text)
        if end:
            break
    return "".join(reversed(before)), "".join(behind)


@lru_cache(maxsize=4096)
def says_of_symbols(before: str, behind: str, ahead: bool) -> bool:
    """Whether the sentence of a property assumes it.

    Args:
        before: The words of the sentence in front of the property, with signs for formulas.
        behind: Those behind it.
        ahead: Whether the property stands in front of its symbol.

    Example:
        >>> says_of_symbols("Suppose that $$ is ", "", False), says_of_symbols("The matrix $$ is ", "", False)
        (True, True)
        >>> says_of_symbols("Later we will take $$ to be ", "", False)
        False
    """
    text = _REFERS.sub(" ", " ".join(before.split()))
    if _PREMISE.match(text) and _CONCLUDES.search(behind):
        return False
    if _AWAY.search(text) or (ahead and _SET_OF.search(f"{text} ")):
        return False
    opened = list(_ASSUMES.finditer(text))
    if opened:
        return not _CONDITION.search(text[: opened[0].start()]) and _goes_on(
            opened[-1][0], text[opened[-1].end() :], behind, ahead
        )
    if _WHERE.search(text):
        return not _CONDITION.search(text)
    return _states(text, " ".join(behind.split()), ahead)


def _goes_on(verb: str, text: str, behind: str, ahead: bool) -> bool:
    """Whether the words between a verb that assumes and a property leave it assumed.

    Args:
        verb: The verb, with the word in front of it.
        text: The words.
        behind: Those behind the property.
        ahead: Whether the property stands in front of its symbol.
    """
    if _WEAKENS.search(text):
        return False
    if _LOOSE.search(verb) and not all(is_plain_word(one) or one in _STATES for one in _words_of(text)):
        return False
    if not ahead:
        return True
    if _FOR_ENDS.search(text):
        return bool(_DEFINES.search(verb))
    claims = bool(re.search(r"[a-z]", behind.rpartition("$")[2]))  # "every symmetric $A$ is invertible"
    return not (claims and _QUANTIFIED.search(text) and _SUPPOSES.search(verb))


def _words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:['\u2019-][a-z]+)*", text.lower())


def _states(text: str, behind: str, ahead: bool) -> bool:
    """Whether a sentence without a verb that assumes says of its symbols what they are."""
    if _CONDITION.search(text):
        return False
    if _FOR_LET.match(text) and ahead:
        return bool(_THEN_LETS.search(behind))
    if _GENERIC.match(text):
        return bool(ahead and _GIVEN_BEHIND.search(behind))
    if ahead and not _DEFINITE.match(text) and not _GIVEN_BEHIND.search(behind):
        return False
    if not ahead and _NAMED.match(text):
        return True
    return all(is_plain_word(word) or word in _STATES for word in _words_of(text))


def speaks_of_elsewhere(text: str) -> bool:
    """Whether words that open a sentence speak of another place or of others, or only weigh what they assume.

    Args:
        text: The words up to the verb.

    Example:
        >>> speaks_of_elsewhere("We could assume that"), speaks_of_elsewhere("We now assume that")
        (True, False)
    """
    return bool(_AWAY.search(_REFERS.sub(" ", text)) or _OTHERS.match(text))


def find_premises(parts: Sequence[str]) -> set[int]:
    r"""The places of the formulas that are a condition of their own sentence alone.

    Args:
        parts: Prose and formulas in turn, as a `$` cuts them.

    Example:
        >>> find_premises(["Let ", r"x \in R", ". Where ", "x > 0", ", the function grows."])
        {3}
        >>> find_premises(["Let ", r"x \in R", ". Where ", "x > 0", " is the temperature, let"])
        set()
    """
    found: set[int] = set()
    for place in range(1, len(parts), 2):
        if not _PREMISE_ENDS.search(parts[place - 1]):
            continue
        before, behind = words_of_sentence(parts, place - 1, len(parts[place - 1]))
        if _PREMISE.fullmatch(before) and _CONCLUDES.search(behind):
            last = place
            while last + 2 < len(parts) and _JOINS.fullmatch(parts[last + 1]):
                last += 2
            found |= set(range(place, last + 1, 2))
    return found


def is_of_something_else(before: str) -> bool:
    """Whether what words say is about something made of the symbols in front of them: "the trace of $A$ is".

    Args:
        before: The words of the sentence in front of the property, with signs for formulas.

    Example:
        >>> is_of_something_else("Suppose the trace of $$ is "), is_of_something_else("Let the entries of $$ be ")
        (True, False)
    """
    copula = _COPULA.search(before)
    found = _MADE_OF.search(" ".join((before[: copula.start()] if copula else before).split()))
    if found is None:
        return False
    head, det = found["head"].lower(), (found["det"] or "").lower()
    if head in _PARTS:
        nested = re.search(
            r"\b(?:of|between|from|over)(?:\s+all|\s+the)*\s*$", found.string[: found.start()], re.IGNORECASE
        )
        return bool(nested) or (bool(det) and det not in _DETERMINERS)
    return head not in _WHOLES
