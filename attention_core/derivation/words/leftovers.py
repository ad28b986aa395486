r"""Words around a step that were neither read as a hypothesis nor are known to restrict nothing.

A list of words that may restrict never ends ("the scores tie", "a contraction", "agree in sign"), so a step is REFUTED
only if all words in its scope are accounted for: read, or on the closed list of `inert`. What is left over is
quoted, and the step is UNDECIDED.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from attention_core.derivation.document.blocks import KEPT_SENTENCES
from attention_core.derivation.words.inert import (
    AFTER_ONE,
    ARTICLES,
    BARE_RELATION,
    BARE_SIGN,
    BORDERS,
    CHANGING,
    CLAIMED_SUM,
    CONDITIONAL,
    COUNTED,
    DECLARING,
    HAS,
    LINKING,
    LINKS,
    MADE_OF,
    MAY_REFER,
    NAMING,
    NO_CONDITION,
    NO_RELATION,
    NO_STATE,
    NUMBERS,
    OF_DIGITS,
    OF_UPDATES,
    PHRASES,
    PLACES,
    POINTS,
    REFERENCE,
    RESULTS,
    SUPERLATIVES,
    TOGETHER,
    VERBS,
    is_inert,
    is_noun,
    is_operation,
)
from attention_core.derivation.words.vocabulary import CONDITION, GOAL

_WITH_SETS = ("on", "in", "over", "inside", "from")  # words in front of a set
_SIDES = ("right", "left")
MAX_QUOTED = 4  # words that are quoted
_LEXEME = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*'?|\d+(?:[.,]\d+)*|\x01\d+\x02|[.,;:()\u2013\u2014?!]")
_PLACE = re.compile(r"\x01(\d+)\x02")
_SET = re.compile(r"^\s*(?:\\left\s*)?[\[(\]]|^\s*\\math(?:bb|cal)|\\infty")
_SPACE = re.compile(r"^\s*\\mathbb\s*\{?[RN]\}?\s*(?:\^.*)?$", re.DOTALL)
_BARE = re.compile(r"^\s*(?:\\[a-zA-Z]+\s*)?\{?\s*(?:\\?[a-zA-Z]+)\s*\}?(?:\s*_\s*(?:\{[^{}]*\}|\\?\w+))?\s*$")


_LABEL = re.compile(r"[^\W\d_aiAI]|d[A-Z]")


class _Token(NamedTuple):
    """A word, a number, a mark or a formula of a sentence, where it stands, and the same in small letters."""

    kind: str
    text: str
    at: int
    low: str


LONGEST = 6000  # characters of the words of a sentence; what is longer is not read


def left_over(parts: tuple[str, ...] | list[str], claims: bool = True, read: bool = False) -> tuple[str, ...]:
    r"""List the words of a sentence that may restrict a symbol: those that are neither read nor inert.

    Args:
        parts: Prose and formulas in turn.
        claims: Whether words after "we show that" and the like only say what is claimed.
        read: Whether a condition in it was read.

    Returns:
        These words, at most a few; () if all are accounted for.

    Example:
        >>> left_over(["For ", "x, y", " at a right angle we have"])
        ('angle',)
        >>> left_over(["Computing the gradient of ", "f", " gives"])
        ()
    """
    if sum(len(part) for part in parts[::2]) > LONGEST:
        return (f"{parts[0][:40].strip()}...",)  # no sentence that anybody reads
    return _left_over(tuple(parts), claims, read)


@lru_cache(maxsize=KEPT_SENTENCES)
def _left_over(parts: tuple[str, ...], claims: bool, read: bool) -> tuple[str, ...]:
    if CLAIMED_SUM.match(" ".join("$".join(parts).split())):
        return ()
    prose = _prose(parts)
    tokens = _tokens(prose, parts)
    signed = [part for part in parts[::2] if BARE_SIGN.search(part)]
    out = [found.group() for part in signed for found in BARE_RELATION.finditer(NO_RELATION.sub(" ", part))]
    out += [_with_formulas(found.group(), parts) for found in TOGETHER.finditer(prose)]
    goals = [found.end() for found in GOAL.finditer(prose)] if claims else []
    conditions = [found.span() for found in CONDITION.finditer(prose, goals[0])] if goals else []
    for place, token in enumerate(tokens):
        if token.kind in ("word", "number") and not (
            _is_accounted(tokens, place) and (read or not _opens_condition(tokens, place))
        ):
            if _is_announced(goals, conditions, token.at):
                continue
            if token.text not in out:
                out.append(token.text)
    return tuple(out[:MAX_QUOTED])


def conditional_words(parts: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """List the words that matter to some steps alone: to assignments, and to steps without symbols."""
    return _conditional_words(tuple(parts))


@lru_cache(maxsize=KEPT_SENTENCES)
def _conditional_words(parts: tuple[str, ...]) -> tuple[str, ...]:
    if sum(len(part) for part in parts[::2]) > LONGEST:
        return ()
    prose = " ".join(parts[::2])
    if not OF_UPDATES.may_match(prose) and not OF_DIGITS.may_match(prose):
        return ()
    phrases = [found.group() for p in (OF_UPDATES, OF_DIGITS) for part in parts[::2] for found in p.finditer(part)]
    return tuple(dict.fromkeys(phrases))


def _with_formulas(text: str, parts: tuple[str, ...] | list[str]) -> str:
    """Words with the formulas that stand between them."""
    return _PLACE.sub(lambda found: f"${parts[int(found.group(1))]}$", text).strip()


def _prose(parts: tuple[str, ...] | list[str]) -> str:
    pieces = [part if place % 2 == 0 else f" \x01{place}\x02 " for place, part in enumerate(parts)]
    text = " ".join("".join(pieces).replace("*", " ").replace("~", " ").split())
    text = PHRASES.sub(_as_blanks, text)
    return REFERENCE.sub(_as_blanks, text) if MAY_REFER.search(text) else text


def _as_blanks(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _tokens(prose: str, parts: tuple[str, ...] | list[str]) -> list[_Token]:
    out = []
    for found in _LEXEME.finditer(prose):
        text = found.group()
        if text[0] == "\x01":
            kind, text = "formula", parts[int(text[1:-1])]
        elif text[0].isdigit():
            kind = "number"
        elif text[0].isalpha():
            kind, text = "word", text.rstrip("'")
        else:
            kind = "mark"
        out.append(_Token(kind, text, found.start(), text.lower()))
    return out


def _is_announced(goals: list[int], conditions: list[tuple[int, int]], at: int) -> bool:
    """Whether a word stands behind "we show that" and no condition stands between.

    Args: goals, where words such as "we show that" end; conditions, where words such as "if" stand; at, where the word
    stands.
    """
    before = bisect_right(goals, at)
    return before > 0 and not any(goals[before - 1] <= start and end <= at for start, end in conditions)


@lru_cache(maxsize=4096)
def _is_plain(word: str) -> bool:
    """Whether a word is accounted for wherever it stands, but between two symbols: two of three words are."""
    tables = (NUMBERS, BORDERS, MADE_OF, PLACES, SUPERLATIVES, _WITH_SETS, _SIDES)
    if len(word) == 1 or any(word in table for table in tables) or is_operation(word):
        return False
    return is_inert(word) and not (word in VERBS and not is_noun(word))


def _is_accounted(tokens: list[_Token], place: int) -> bool:
    token = tokens[place]
    if token.kind == "word" and token.text[1:].islower() and _is_plain(token.low):
        return not _relates(tokens, place)
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if token.kind == "number":
        return False
    if token.low in NUMBERS:
        return _counts(tokens, place)
    if _LABEL.fullmatch(token.text):
        return True  # a letter outside a formula is a label, and so is the name of its gradient in code
    if after is not None and after.kind == "formula":
        if token.low in BORDERS and not _SPACE.match(after.text):
            return False
        if token.low in _WITH_SETS and _is_set(after.text):
            return False
        if token.low in MADE_OF and place and _before(tokens, place) in HAS:
            return False
    if token.low in PLACES and _says_where(tokens, place):
        return False
    if _relates(tokens, place):
        return False
    if token.low in _SIDES and place and tokens[place - 1].low == "the":
        return after is not None and after.kind == "word" and after.low not in ("of", "half", "and", "or")
    if token.low in SUPERLATIVES and any(t.kind == "formula" and _BARE.match(t.text) for t in tokens):
        return False
    if is_operation(token.low):
        return not _says_what(tokens, place)
    if place and tokens[place - 1].low in ARTICLES and token.low in VERBS and not is_noun(token.low):
        return False  # "the support" is a noun, whatever the verb means
    return is_inert(token.low)


def _opens_condition(tokens: list[_Token], place: int) -> bool:
    """Whether a word opens a condition in words: "when time runs forwards", "With as many queries as keys"."""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is None or after.kind != "word":
        return False
    word = tokens[place].low
    if word in CONDITIONAL:
        return after.low not in NO_CONDITION
    first = place == 0 or tokens[place - 1].kind == "mark"
    if word == "with" and place == 0:
        return after.low not in NO_STATE
    return first and word in ("for", "under") and tokens[place].text == word and after.low not in NO_STATE


def _relates(tokens: list[_Token], place: int) -> bool:
    r"""Whether a verb stands between two symbols: "$H$ divides $n$", "$x$ is $y$"."""
    if not 0 < place < len(tokens) - 1:
        return False
    before, after = tokens[place - 1], tokens[place + 1]
    if before.kind != "formula" or after.kind != "formula":
        return False
    if not (_BARE.match(before.text) and _BARE.match(after.text)):
        return False
    word = tokens[place].low
    return word in LINKS or (_is_verb(word) and word not in RESULTS)


def _is_set(formula: str) -> bool:
    return (
        bool(_SET.search(formula)) and not _SPACE.match(formula) and not re.search(r"[=<>]|\\(?:in|[lg]eq?)\b", formula)
    )


def _before(tokens: list[_Token], place: int) -> str:
    """The last word before a place that is not an article."""
    for token in reversed(tokens[:place]):
        if token.low not in ("a", "an", "the", "all", "its"):
            return token.low
    return ""


def _counts(tokens: list[_Token], place: int) -> bool:
    """Whether a number in words only counts what is talked about, or is the pronoun."""
    word = tokens[place].low
    before = tokens[place - 1].low if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    following = after.low if after is not None and after.kind == "word" else ""
    named = tokens[place + 2 : place + 3]
    if following and is_inert(following) and named and named[0].kind == "formula":
        return True  # "the two numbers $x$ and $y$"
    if following in COUNTED and before not in ("by", "than", "to", "least", "most"):
        return True
    if word == "one":
        return before in POINTS or following in AFTER_ONE or _is_verb(following)
    return before in ("the", "these", "those", "any") and (after is None or after.kind != "word")


def _is_verb(word: str) -> bool:
    return word.endswith("s") and (word[:-1] in VERBS or word[:-2] in VERBS)


def _clause(tokens: list[_Token], place: int) -> list[_Token]:
    """The tokens before a place, back to the last mark."""
    start = place
    while start and tokens[start - 1].kind != "mark":
        start -= 1
    return tokens[start:place]


def _says_where(tokens: list[_Token], place: int) -> bool:
    r"""Whether "$x$ is a column of $A$" or "$x$ lies in the kernel of $A$" stands here: a relation in words."""
    ahead = tokens[place + 1 : place + 5]
    end = next((i for i, t in enumerate(ahead) if t.kind == "formula"), None)
    if end is None or any(t.kind == "mark" or t.low in LINKS for t in ahead[:end]):
        return False
    if _SPACE.match(ahead[end].text):
        return False
    clause = _clause(tokens, place)
    return any(
        left.kind == "formula" and _BARE.match(left.text) and right.low in LINKS for left, right in pairwise(clause)
    )


def _says_what(tokens: list[_Token], place: int) -> bool:
    r"""Whether an operation says what a symbol is: "the mean $\mu$", "let $\mu$ be the mean"."""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and after.kind == "formula" and _BARE.match(after.text):
        return True
    clause = _clause(tokens, place)
    if clause and clause[0].low in CHANGING:
        return True
    behind = tokens[place + 1 :]
    stop = next((i for i, t in enumerate(behind) if t.kind == "mark"), len(behind))
    if any(a.low in NAMING and b.kind == "formula" for a, b in pairwise(behind[:stop])):
        return True
    if any(t.low in ("letter", "symbol", "abbreviation") for t in clause):
        return True
    last = next((i for i in range(len(clause) - 1, -1, -1) if clause[i].kind == "formula"), None)
    if last is None:
        return False
    between = [t.low for t in clause[last + 1 :]]
    if any(t in LINKS or t in ("a", "an", "as") for t in between) and all(
        t in LINKING or is_inert(t) or is_operation(t) for t in between
    ):
        return True
    return any(t.low in DECLARING for t in clause[:last])
