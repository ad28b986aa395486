r"""What may stand behind a property and leaves it as it is: "be symmetric, with $\operatorname{tr}(A) = 0$".

"A matrix with symmetric square", "symmetric for small $n$", "positive, respectively negative", "a probability vector
with one entry removed" and "orthogonal with respect to the inner product of $C$" say something else of the symbol than
the property alone. So a property counts only where the words behind it are on a list of those that change nothing.
"""

from __future__ import annotations

import re

_HELD = (
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|famil(?:y|ies)|reals?|integers?|keys?|quer(?:y|ies)|values?|weights?|"
    r"inputs?|scores?|variables?|constants?|parameters?|random|column|row|directions?|temperatures?|scales?|"
    r"distributions?|draws?|samples?|square(?=\s+(?:[a-z]+\s+)?matri)|bas[ie]s|sets?|systems?|tokens?|features?|embeddings?|"
    r"functions?|labels?|targets?|indicators?|outcomes?|responses?"
)
_NOUNS = re.compile(rf"^\s*(?:(?:{_HELD})\b\s*)*", re.IGNORECASE)
_OWN = re.compile(r"\b(?:with|has|have|having|whose)\s+(?:(?:an?|the|all|only|its)\s+)?$", re.IGNORECASE)
"""What stands in front of a property of something that the symbol has: the noun behind it is not the symbol."""
_OF_ENTRIES = re.compile(r"^\s*(?:real\s+)?(?:values?|weights?|numbers?|scores?)\b", re.IGNORECASE)
_SIGNS = frozenset(
    {"positive", "negative", "nonnegative", "nonpositive", "nonzero", "binary", "distinct", "finite", "whole"}
)

_QUANTITIES = (
    r"(?:eigen-?values?|eigen-?vectors?|singular\s+values?|entr(?:y|ies)|elements?|coefficients?|components?|coordinates?|"
    r"columns?|rows?|diagonal|trace|rank|determinant|inverse|transpose|norms?|lengths?|means?|variances?|covariances?|"
    r"parameters?|rates?|spectrum|blocks?|dimensions?|sizes?|shape|kernel|range|domain|values?|weights?|"
    r"(?:spectral|eigen-?value|cholesky|singular\s+value)?\s*decomposition|factors?|angle|order|index|length|"
    r"degrees?\s+of\s+freedom|density|support|labels?|gradient|hessian|derivatives?)"
)
_WITH = (
    r"with(?:out)?\s*(?:$|(?:(?:the|an?|its|all|both|real|distinct|given|known|fixed|same|simple|integer|unit|common|full|"
    rf"column|row|corresponding|associated|respective)\s+)*{_QUANTITIES}\b(?=\s*(?:$|[.,;:)]|(?:and|of|in|on|equal|where|so|such|"
    r"given|between|at|is|are|that|which|as)\b)))|with\s+(?:also|both|all|each)?\s*$"
)
_FOR = (
    r"for\s*$|for\s+(?:(?:all|every|each|any)\b(?!\s+but)|(?:simplicity|convenience|concreteness|brevity|definiteness|clarity|now|"
    r"example|instance|the\s+(?:rest|moment|remainder|time|sake|purposes?)|what\s+follows|later|use|our|this|these|which|"
    r"both)\b)"
)
_AS = r"as\s+(?:well|before|above|usual|always|assumed|required|needed|follows|in\b|is\b|long\s*$)|as\s*$"
_WHERE = r"where\s*$|where\s+(?:the|an?|all|both|each|our|we|also|as)\b"
_BUT = (
    r"but\s+(?:otherwise|arbitrary|fixed|unknown|known|possibly|may\b|not\b|we\b|is\b|are\b|"
    r"otherwise|the\b|its\b|this\b|$)"
)
_WHICH = (
    r"which\b(?!\s+(?:we\s+(?:later|will|relax|drop)|is\s+(?:only|false|wrong|not|never|later)|"
    r"are\s+(?:only|not|never)|fails?|"
    r"need|may|might|can(?:not)?|holds\s+(?:only|for|if|when)))"
)
_THAT = (
    r"(?:that|whose|having|satisfying|then|so|such|we|is|are|has|have|both|i\.e\.|namely|hence|thus|since|because)\b"
    r"(?!\s+as\b)"
)
_LASTING = (
    r"throughout|below|here|from\s+(?:now|here)\s+on|in\s+what\s+follows|in\s+this\s+(?:section|note|post|proof|page|paper)|"
    r"by\s+(?:assumption|hypothesis|construction|definition|design|convention)"
)
_MORE = r"of\s+(?:length|size|dimension|shape|order|norm|the\s+same)\b|positive[ -](?:semi)?-?definite"
_JOINED = rf"{_WITH}|{_FOR}|{_AS}|{_WHERE}|{_BUT}|{_WHICH}|{_THAT}|{_LASTING}|{_MORE}"
_AND = r"and\b(?!\s+(?:only|possibly|sometimes|otherwise|then\s+\w+ed)\b)"
_ASIDE = (
    r"(?:i\.e\.|that\s+is|so|and|see|cf|or\s+equivalently|equivalently|which|we|this|in\s+particular|hence|with|where|for|"
    r"as|by|e\.g)\b"
)
_BEHIND_COMMA = (
    rf"(?:$|[.;:)]|{_AND}|or\b|{_JOINED}|let\b|in\s+particular\b|particular\b|say\b|namely\b|not\s+necessarily\b|e\.g|real\b|square\b|"
    r"fixed\b|given\b|known\b|unknown\b|independent\b|invertible\b|but\b|i\.e|that\s+is\b|its\b|the\b|an?\b|all\b|both\b|each\b|"
    r"put\b|define\b|set\b|write\b|assume\b|suppose\b|denote\b|draw\b|it\b|this\b|these\b|they\b|one\b|random\b|arbitrary\b|"
    r"of\b|in\s+(?:that|which)\b|by\s+(?:assumption|hypothesis|construction|definition)\b|too\b|also\b|further\b|moreover\b|"
    r"because\b|since\b|as\b|be\b|is\b|are\b|have\b|has\b|to\b)"
)
_ENDS = re.compile(rf"^\s*(?:$|[.;:)](?!\d)|,\s*{_BEHIND_COMMA}|\(\s*(?:$|{_ASIDE})|{_AND}|{_JOINED})", re.IGNORECASE)
_CHANGES = re.compile(
    r"\bwith\s+respect\s+to\b|\bw\.?\s?r\.?\s?t\b|\brelative\s+to\b|\bup\s+to\b|\bmodulo\b|"
    r"\bwith\s+(?:(?:high|low|some|positive|small|large|overwhelming|non-?zero)\s+)?probability\b|"
    r"\b(?:at\s+least|approximately|nearly|almost|roughly|on\s+average|in\s+expectation|in\s+the\s+(?:limit|mean)|apart\s+from|"
    r"except|save\s+for|only|merely|asymptotically|eventually|at\s+(?:initiali[sz]ation|first|infinity|the\s+(?:start|end)))\b|"
    r"\bfor\s+(?:(?:all|every|any|each)\s+)?(?:sufficiently\s+|very\s+|arbitrarily\s+)?(?:small|large|big|most|some|many|few|even|"
    r"odd|generic|certain|other|almost)\b|"
    r"\bwith\s+(?:the\s+)?(?:[a-z-]+\s+){0,4}?(?:removed|deleted|dropped|omitted|replaced|changed|flipped|missing|added|appended|"
    r"masked|zeroed|negated|swapped|permuted|set\s+to|left\s+out|excluded|"
    r"exceptions?)\b",
    re.IGNORECASE,
)
_MODIFIED = re.compile(
    r"^\s*,?\s*(?:is|are|be|was|were|gets?|being|has\s+been)\s+(?:then\s+|later\s+|only\s+|now\s+)?(?:changed|modified|altered|"
    r"perturbed|replaced|rescaled|scaled|shifted|truncated|corrupted|masked|normali[sz]ed|permuted|rounded|clipped)\b",
    re.IGNORECASE,
)
_TO_SYMBOL = re.compile(r"^[^$]*\$=?\$")
_THEN_CHANGED = re.compile(
    r"\b(?:that|which)\s+(?:is|are|was|were|we|has\s+been|have\s+been|gets?)\s+(?:then\s+|later\s+|now\s+|afterwards\s+)?"
    r"(?:changed?|modif(?:y|ied)|altered|perturb(?:ed)?|replaced?|re-?scaled?|scaled?|shift(?:ed)?|truncated?|corrupt(?:ed)?|"
    r"mask(?:ed)?|permuted?|round(?:ed)?|clip(?:ped)?|multipl(?:y|ied)|divided?|negated?)\b",
    re.IGNORECASE,
)
_IN_TURN = re.compile(r"\brespective(?:ly)?\b|\bresp\b", re.IGNORECASE)
_SENTENCE = re.compile(r"^(?:[^.;?!]|\.(?!\s|$))*")
_CLAUSE = re.compile(r"^\s*,?(?:(?!\b(?:and|where|let|so|then)\b)[^,;?!.()])*")
_ASIDE_FIRST = re.compile(r"^\s*\(")
_WHOSE = re.compile(
    r"\b(?:whose|its|their|with|has|have|having)\s+(?:(?:all|the|both|each|of|an?)\s+)*(?P<noun>[a-z-]+)"
    r"(?:\s+(?:is|are|be|being|all|always|both|each|to|assumed|taken))*\s*$",
    re.IGNORECASE,
)
_ENTRY_NOUNS = frozenset({"entries", "elements", "components", "coordinates", "values", "weights", "numbers", "scores"})
_NO_NOUNS = frozenset(
    {"a", "an", "the", "all", "both", "each", "is", "are", "be", "to", "two", "three", "always", "also"}
)


def keeps_property(before: str, after: str, name: str) -> bool:
    """Whether the words around a property leave it one of the symbol in front of them.

    Args:
        before: The words between the symbol and the property.
        after: Those behind it, up to the next formula.
        name: The name of the property.

    Example:
        >>> keeps_property(" be a ", " matrix with trace ", "symmetric")
        True
        >>> keeps_property(" be a matrix with ", " square.", "symmetric")
        False
    """
    nouns = _NOUNS.match(after)
    held = nouns[0] if nouns is not None else ""
    if held.strip() and _OWN.search(before) and not (name in _SIGNS and _OF_ENTRIES.match(held)):
        return False
    rest = after[len(held) :]
    return bool(_ENDS.match(rest)) and not is_changed(rest) and not _is_of_part(before, name)


def _is_of_part(before: str, name: str) -> bool:
    """Whether a property is one of a part of the symbol, or of something made of it: "a matrix whose square is"."""
    found = _WHOSE.search(before)
    noun = found["noun"].lower() if found is not None else ""
    if noun in _ENTRY_NOUNS or noun in _NO_NOUNS or not noun:
        return False
    return not (noun in ("columns", "rows") and "orthonormal" in name)


def is_changed(after: str, ahead: bool = False) -> bool:
    """Whether words behind a property, in its sentence, make something else of it.

    Args:
        after: The words behind it.
        ahead: Whether its symbol is the next formula: then "respectively" only tells which is meant.

    Example:
        >>> is_changed(" for small "), is_changed(" for all ")
        (True, False)
    """
    after = _TO_SYMBOL.sub("", after) if ahead else after
    sentence, clause = _SENTENCE.match(after), _CLAUSE.match(_ASIDE_FIRST.sub(" ", after))
    if sentence and (_THEN_CHANGED.search(sentence[0]) or (not ahead and _IN_TURN.search(sentence[0]))):
        return True
    return bool(clause and _CHANGES.search(clause[0])) or bool(ahead and _MODIFIED.match(after))
