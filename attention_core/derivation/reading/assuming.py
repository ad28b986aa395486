r"""Whether a formula in prose is assumed.

Which relations of a paragraph are assumed: those that stand after words that assume, and nothing else.
A list of words that assume can be short; a list of words that claim, doubt, deny or quote never ends.

"Let $n \ge 1$ and $x \in \mathbb{R}$ with $x > 0$" assumes; "We show that $x > 0$", "Often $x > 0$" and "Is $x > 0$?"
do not. A sentence is followed word by word: a word that assumes opens an assumption, words that join or name things
carry it on, any other word ends it for the rest of a sentence. What follows "be" describes a symbol, up to a comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum


class Standing(Enum):
    """How a formula stands in its sentence."""

    ASSUMED = "assumed"
    OPEN = "open"  # no word of the sentence assumes, and none does anything else
    SAID = "said"  # claimed, doubted, denied, quoted


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_END = re.compile(r"[.;?!]+(?=\s|$)")
_ASSUMING = _words(
    "let given assume assuming suppose supposing where with such draw define put satisfying satisfy satisfies "
    "provided providing having require requiring fix fixing take choose pick set write subject"
)
_LEAD = _words("further furthermore moreover also here now finally again additionally besides throughout")
_JOINING = _words(
    "and both as-well for all every each any if whenever when a an the its their this these those two three four "
    "of in on to from by one i j k th st nd rd respectively independent independently distinct jointly joint "
    "random fixed given real positive negative nonnegative finite constant constants arbitrary new extra "
    "additional further learned learnable trainable large small same equal common different certain number numbers "
    "scalar scalars vector vectors matrix matrices size sizes index indices entry entries row rows column columns "
    "family families function functions variable variables parameter parameters symbol symbols value values key keys "
    "query queries weight weights bias biases score scores logit logits mask masks output outputs input inputs "
    "token tokens position positions head heads dimension dimensions width depth length lengths scale scales "
    "temperature temperatures norm norms mean means variance variances gap gaps bound bounds radius rate rates "
    "step steps probability probabilities distribution law laws sample samples noise error errors gradient "
    "gradients loss losses embedding embeddings projection projections layer layers model models sequence "
    "sequences set sets interval range ranges condition conditions hypothesis hypotheses assumption assumptions "
    "definition definitions relation relations equation equations inequality inequalities following property "
    "properties threshold thresholds margin margins point points coefficient coefficients observation observations "
    "label labels target targets feature features node nodes"
)
_DESCRIBES = _words("be is are denote denotes being stand stands")
_BEHIND = _words(
    "as above below before usual short hold holds throughout always too here section again then so hence thus"
)
_ONWARD = _words("then so hence thus therefore consequently because since but we")  # another clause opens
_ADVERBS = (
    "now|first|second|third|next|then|also|further|furthermore|moreover|again|finally|lastly|here|instead|henceforth|"
    "additionally|besides|likewise|similarly|temporarily|in addition|from now on|for now|for the moment|"
    "for simplicity|for convenience|without loss of generality|w\\.?l\\.?o\\.?g\\.?|as (?:usual|before|above|well)|"
    "throughout|only|in particular|conversely"
)
_PHRASES = (
    (
        re.compile(rf"\b(assum(?:e|ing)|suppos(?:e|ing)|let)(?:\s*,?\s*\b(?:{_ADVERBS})(?![\w-]),?)+(?:\s+that\b)?"),
        r"\1",
    ),
    (re.compile(r"\b(such|assume|assuming|suppose|supposing|given|provided|providing|require) that\b"), r"\1"),
    (re.compile(r"\bas (long|well) as\b"), "provided"),
    (
        re.compile(
            r"^\W*(?:in what follows|in the sequel|from (?:now|here) on|henceforth|hereafter|"
            r"throughout(?: this (?:section|note|post|page|proof))?)\b"
        ),
        "assume",
    ),
    (
        re.compile(r"\b(?:we|let us)((?: also| further| now| again| finally)?) (?=(?:assume|suppose|require|let)\b)"),
        r"\1 ",
    ),
    (re.compile(r"\b(?:we|let us) (?=(?:put|draw|define|fix|take|choose|pick|set|write)\b)"), ""),
)
_WORD = re.compile(r"[a-z]+(?:['\u2019-][a-z]+)*|[,:()\u2013\u2014-]|\\[a-z]+")
_TURNED = re.compile(
    r"\b(?:not|never|no|nothing|nowhere|contrary|opposite|negation|fails?|unless|except|without|than)\b", re.I
)
_WITHDRAWN = re.compile(
    r"\s*(?:with\s+(?:(?:high|low|some|positive|small|large|overwhelming)\s+)?(?:probability|chance)\b|as\s*$|"
    r"(?:is|are)\s+to\s+be\b|in\s+(?:distribution|law|probability|mean\s+square)\b|"
    r"be\s+(?:the|an?|our|some)\s+(?:[a-z]+\s+)?(?:equation|problem|condition|constraint|question|claim|goal|target)\b|"
    r",?\s*which\s+(?:(?:is|would\s+be)\s+(?:absurd|impossible|false|wrong|not|never|rare|an?\s+contradiction)|"
    r"contradicts|cannot)\b)"
)
_DENIES = re.compile(r"[^.;?!]*\b(?:cannot|can't|can\s+not|never|not|fails?|impossible)\b")
_AND = re.compile(r"\s*,?\s*(?:and\s*)?")
_ASIDE = re.compile(r"\([^()$]*\)")
_RELATION = re.compile(
    r"[=<>]|\\(?:n?leq?|n?geq?|neq?|ll|gg|approx|equiv|perp|to|lesssim|gtrsim|[lg]eqslant)(?![a-zA-Z])"
)


def standings(parts: list[str]) -> list[Standing]:
    r"""How each part stands, prose and formulas in turn as a `$` cuts them (that of prose says nothing).

    Example:
        >>> [one.value for one in standings(["Let ", "n", " with ", "n > 1", ". Often ", "n = 5", "."])][1::2]
        ['assumed', 'assumed', 'said']
    """
    out = [Standing.OPEN] * len(parts)
    questions = _flag_questions(parts)
    found = Standing.OPEN
    for place in range(1, len(parts), 2):
        ends = list(_END.finditer(parts[place - 1]))
        opens = place == 1 or bool(ends)
        found = Standing.OPEN if opens else found
        relation = bool(_RELATION.search(parts[place]))
        if found is not Standing.SAID:
            found = _carry_standing(parts[place - 1][ends[-1].end() if ends else 0 :], found, opens, relation)
        behind = parts[place + 1] if place + 1 < len(parts) else ""
        talked_about = relation and found is Standing.ASSUMED and not is_left_alone(behind)
        out[place] = Standing.SAID if questions[place] or talked_about else found
        if talked_about and _DENIES.match(behind):
            _deny_joined(out, parts, place)
    return out


def _deny_joined(out: list[Standing], parts: list[str], place: int) -> None:
    """What is joined to a relation that is denied is denied with it: "both $a = b$ and $c = d$ cannot hold"."""
    while place > 1 and _AND.fullmatch(parts[place - 1]):
        place -= 2
        out[place] = Standing.SAID


def words_before(parts: Sequence[str], place: int) -> str:
    """The last words before a formula, to quote."""
    message = " ".join(_END.split(parts[place - 1])[-1].split()).strip(" ,:") if place else ""
    return message[-60:]


def clause_before(parts: Sequence[str], place: int) -> str:
    """All words of a sentence up to a formula, with a pair of dollars for each formula before it."""
    words: list[str] = []
    for at in range(place - 1, -1, -2):
        pieces = _END.split(parts[at])
        words.append(pieces[-1])
        if len(pieces) > 1:
            break
    return " ".join("$$".join(reversed(words)).split())


def _flag_questions(parts: list[str]) -> list[bool]:
    """Whether the sentence that holds a formula ends as a question."""
    out, question = [False] * len(parts), False
    for place in range(len(parts) - 1, 0, -1):
        end = _END.search(parts[place]) if place % 2 == 0 else None
        question = "?" in end.group() if end else question
        out[place] = question
    return out


def _lexemes(text: str) -> list[str]:
    text = " ".join(_ASIDE.sub(" ", text).lower().split())
    for pattern, shorter in _PHRASES if len(text) > 5 else ():  # "we put" is the shortest phrase
        text = pattern.sub(shorter, text)
    return _WORD.findall(text)


def _carry_standing(text: str, before: Standing, opens: bool, relation: bool) -> Standing:
    """How a formula stands behind `text`, if what stands before `text` stands as `before`."""
    found, describes, known, joined = before, False, True, opens
    for word in _lexemes(text):
        joined = joined or word not in _DESCRIBES
        if word in _ASSUMING:
            found, describes, known = Standing.ASSUMED, False, True
        elif not word[0].isalpha() and word[0] != "\\":
            describes, known = False, True
        elif word in _DESCRIBES and found is Standing.ASSUMED and not opens:
            describes = True
        elif word in _JOINING or (word in _LEAD and found is Standing.OPEN):
            pass
        elif describes:
            known = False
        else:
            return Standing.SAID
    if relation and (not known or not joined):
        return Standing.SAID  # a relation that stands right behind a description, or behind another formula
    return found


def is_plain_word(word: str) -> bool:
    """Whether a word only names, joins or describes symbols, whatever stands around it."""
    return word in _JOINING or word in _LEAD or word in _DESCRIBES


def is_turned(clause: str) -> bool:
    """Whether the words in front of a relation deny it: "Assume the contrary of"."""
    return bool(_TURNED.search(clause))


def is_left_alone(text: str) -> bool:
    """Whether what follows an assumed relation leaves it assumed: "$x > 0$ is too strong" does not."""
    if _WITHDRAWN.match(text):
        return False
    for word in _lexemes(_END.split(text)[0]):
        if word in ("be", "denote", "denotes") or word in _ASSUMING or word in _ONWARD:
            return True
        if not word[0].isalpha():
            return True
        if word not in _JOINING and word not in _BEHIND and word not in ("is", "are"):
            return False
    return True
