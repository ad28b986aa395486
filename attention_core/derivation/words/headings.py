r"""Which headings may restrict a symbol, and which only name a subject: "Orthogonal keys", and "Entropy of a Gaussian".

A heading is not a sentence: it says nothing of a symbol but by an adjective ("Unit keys"), a condition ("At
initialization"), a number ("One key") or a kind of arrays ("Rotations"). Properties, degrees, conditions, numbers and
words such as "case" are known by name. An adjective that is not known restricts as well, and shows itself by its
ending: "The circumcentred case". All other words are nouns and names of a subject, which leave every symbol as free as
it was. What kinds of arrays they name all the same is tried where a step is false: see `decision.usual`.
"""

from __future__ import annotations

import re

from attention_core.derivation.words.caveats import LAW_IN_WORDS, SIGNS
from attention_core.derivation.words.inert import is_inert, is_noun
from attention_core.derivation.words.topics import A_SINGLE, without_label
from attention_core.derivation.words.vocabulary import CONDITION, DEGREE, PROPERTY


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of a heading that may restrict, beside those of properties, degrees and conditions: how many, which, how large.
_RESTRICTS = re.compile(
    r"(?<![A-Za-z])\d|"
    r"\blinear (?:maps?|functions?|operators?|transform\w*|combinations?|case|in|keys?|quer\w+|scores?)\b|"
    r"\b(?:without|no|not|never|free|zero|one|two|three|four|few|many|single|several|only|alone|first|last|"
    r"long|short|low|high|big|main|"
    r"different|simple|simplest|special|particular|easy|trivial|degenerate|extreme|case|cases|toy|root|roots|tied|"
    r"ties?|tying|merged|averag\w+|minimum|maximum|optim(?:um|al\w*)|projections?|inverses?|ones|units?|unit|ideal|perfect|exact|"
    r"code|assignments?|solutions?|solving)\b",
    re.IGNORECASE,
)
_JOINS = frozenset(("for", "with", "as", "at", "using", "since", "let", "where"))  # of nouns: what they join says more
_KINDS = re.compile(
    r"\b(?:rotation|reflection|permutation|projector|isometr|involution|simpli(?:x|ces)|equilibri|fixed[ -]point|"
    r"stationar|steady|critical|probabilities|distributions|proportions|frequencies|angles|integers|naturals|primes|"
    r"rationals|reals|evens|odds|squares|cubes|permutations|indicators|bits|signs|same|equal|assum|hypothes|condition|"
    r"restrict|constrain|suppos)",
    re.IGNORECASE,
)
# How an adjective ends; a participle says what was done to something.
_ADJECTIVE = re.compile(
    r"[a-z]{2,}(?:ed|al|ic|ive|ous|ary|ory|less|ful|ble|ar|ish|like|wise|ese|oid|fold|shaped|valued|dimensional|ant|"
    r"ent|ate|ite|ile|id|lar|ian|most|form|some)",
    re.IGNORECASE,
)
# ... but these say what sort of text or model something is, or are nouns.
_NAMES_A_SORT = _split(
    "academic adaptive additional additive alternative analytical applied automatic auxiliary bilinear canonical "
    "based chinese classical combined compared comprehensive computational conceptual convolutional differential "
    "discriminative dynamic effective elementary empirical experimental exponential feed-forward formal functional "
    "fundamental gated extended fused generative geometric graphical heuristic historical informal interactive "
    "introductory iterative latent logarithmic logistic manual marginal mathematical multi-head multinomial "
    "multiplicative multivariate mutual implemented improved numerical online operational parameterized physical "
    "pointwise positional practical preliminary probabilistic quantitative related revisited receptive recursive "
    "relative rotary scaled sequential sigmoid sinusoidal spatial spectral squared statistical structural "
    "supplementary symbolic temporal theoretical variational vanilla alignment article calculus coefficient "
    "component content derivative determinant document element environment event experiment exponent gradient "
    "hessian integral interval jacobian lagrangian logic material metric moment objective potential principle "
    "proposal quotient reference reinforcement residual signal statement statistic student summary surprisal table "
    "tangent theory topic trial tutorial update variable"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


# What is divided by: "the square root of d" is a number that an operation has, and no square matrix or root.
_ROOT_OF_SIZE = re.compile(
    r"\b(?:the )?square root of (?:the )?(?:[A-Za-z](?:_\{?\w+\}?)?(?![\w$])|"
    r"(?:head |key |query )?(?:dimension|size|width|length)s?\b)",
    re.IGNORECASE,
)


def without_roots(text: str) -> str:
    """A title without the square roots of sizes in it.

    Args: text, the title.
    Example:
        >>> without_roots("Why we divide by the square root of d"), without_roots("Square roots of projections")
        ('Why we divide by size', 'Square roots of projections')
    """
    return _ROOT_OF_SIZE.sub("size", text)


def has_restricting_words(text: str) -> bool:
    """Whether a title has words that are known to restrict, or a formula.

    Args: text, the title.
    Example:
        >>> [has_restricting_words(text) for text in ("Orthogonal keys", "A single token", "Circumcentred keys")]
        [True, True, False]
    """
    text = without_roots(text)
    known = (PROPERTY, DEGREE, LAW_IN_WORDS, SIGNS, _RESTRICTS)
    joined = all(found["word"].lower() in _JOINS for found in CONDITION.finditer(text))
    return "$" in text or "\\" in text or not joined or any(one.search(text) for one in known)


def may_restrict(heading: str) -> bool:
    """Whether a heading may say something of symbols: by words known to, or by an adjective that is not known.

    Args: heading, its text as written.
    Example:
        >>> [may_restrict(text) for text in ("2.3 Entropy of a channel", "Circumcentred keys", "Tied weights")]
        [False, True, True]
    """
    text = _LINK.sub(r"\1", heading)
    if not text.isascii() and re.search(r"[^\W\d_a-zA-Z]", text):
        return True  # of another language nothing is known
    bare = without_label(text)
    if has_restricting_words(bare) or _KINDS.search(bare) or A_SINGLE.search(text):
        return True
    return any(_is_unknown_adjective(word) for word in _WORD.findall(bare))


def _is_unknown_adjective(word: str) -> bool:
    low = word.lower()
    harmless = low in _NAMES_A_SORT or low.removesuffix("s") in _NAMES_A_SORT
    if harmless or is_noun(low) or (is_inert(low) and not low.endswith("ed")):
        return False
    return bool(_ADJECTIVE.fullmatch(low))
