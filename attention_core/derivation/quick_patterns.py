r"""Patterns of words with a quick test in front: most sentences hold none of the words that a pattern needs.

`re` tries each of the alternatives of `\b(?:drop|remove|lift)` at each place of a text; looking for the words takes a
tenth of that. A third of the time to read a document went to patterns, nearly all of which match nothing in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from re import _constants as codes  # how `re` itself reads a pattern; a test compares with it
from re import _parser as parser
from typing import Any


class QuickPattern:
    """A pattern that is tried where a text holds one of the words that it needs; all else as `re.Pattern` has it."""

    __slots__ = ("_words", "plain")

    def __init__(self, plain: re.Pattern[str]) -> None:
        self.plain = plain
        self._words = needed_words(plain)
        if not self._words:
            raise ValueError(f"this pattern needs no words that could be looked for: {plain.pattern[:80]}")

    @property
    def pattern(self) -> str:
        """The pattern as it is written."""
        return self.plain.pattern

    def may_match(self, text: str) -> bool:
        """Whether a text holds one of the words; only letters of ASCII are known to be few in both cases."""
        if not text.isascii():
            return True
        text = text.lower()
        for word in self._words:  # noqa: SIM110 - `any` takes twice as long
            if word in text:
                return True
        return False

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self.plain.search(text) if self.may_match(text) else None

    def match(self, text: str) -> re.Match[str] | None:
        """The match at the start."""
        return self.plain.match(text) if self.may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole text."""
        return self.plain.fullmatch(text) if self.may_match(text) else None

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        """All matches."""
        return self.plain.finditer(text, start) if self.may_match(text) else iter(())

    def findall(self, text: str) -> list[Any]:
        """The texts of all matches."""
        return self.plain.findall(text) if self.may_match(text) else []

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with another one for each match."""
        return self.plain.sub(new, text) if self.may_match(text) else text

    def subn(self, new: str | Callable[[re.Match[str]], str], text: str) -> tuple[str, int]:
        """The same, and how many matches there are."""
        return self.plain.subn(new, text) if self.may_match(text) else (text, 0)


class QuickAlternatives:
    """`before(?:A|B|...)after` with the matches of `re`, of which only the alternatives are tried that may match."""

    __slots__ = ("_each", "_places", "_whole")

    def __init__(self, before: str, alternatives: Sequence[str], after: str, flags: int | re.RegexFlag = 0) -> None:
        self._whole = re.compile(f"{before}(?:{'|'.join(alternatives)}){after}", flags)
        self._each = [re.compile(f"{before}(?:{one}){after}", flags) for one in alternatives]
        places: dict[str, list[int]] = {}
        for place, one in enumerate(self._each):
            for word in needed_words(one) or ("",):  # one that needs none is always tried
                places.setdefault(word, []).append(place)
        self._places = tuple(places.items())

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches: of those that begin first, that of the first alternative, as in `re`."""
        if not text.isascii():
            yield from self._whole.finditer(text)
            return
        low, at = text.lower(), 0
        left = [self._each[k] for k in sorted({k for word, places in self._places if word in low for k in places})]
        while left:
            found = [(match.start(), place, match) for place, one in enumerate(left) if (match := one.search(text, at))]
            if not found:
                return
            match = min(found, key=itemgetter(0, 1))[2]
            yield match
            at = match.end()

    def sub(self, new: Callable[[re.Match[str]], str], text: str) -> str:
        """The text with another one for each match."""
        out, at = [], 0
        for found in self.finditer(text):
            out += [text[at : found.start()], new(found)]
            at = found.end()
        return "".join([*out, text[at:]]) if out else text


def compile_quick(pattern: str, flags: int | re.RegexFlag = 0) -> QuickPattern:
    r"""Compile a pattern that needs a word, as `re.compile` does.

    Args:
        pattern: The pattern; each of its alternatives needs two characters in a row, or a sign.
        flags: As of `re.compile`.

    Raises:
        ValueError: It has a match without such characters.

    Example:
        >>> drops = compile_quick(r"\bdrop(?:s|ped)?\b|\bunless\b", re.IGNORECASE)
        >>> drops.search("We dropped it.").group(), drops.search("We kept it.")
        ('dropped', None)
    """
    return QuickPattern(re.compile(pattern, flags))


def needed_words(plain: re.Pattern[str]) -> tuple[str, ...]:
    r"""Texts in small letters, one of which stands in whatever a pattern matches; () if it needs none.

    Example:
        >>> needed_words(re.compile(r"\b(?:unless|except) (?:for )?|with(?:out)?"))
        ('unless', 'except', 'with')
    """
    words = _needed(parser.parse(plain.pattern, plain.flags & ~re.UNICODE)) or []
    return tuple([one for one in words if not any(other in one for other in words if other != one)])


def _needed(items: Iterable[tuple[Any, Any]]) -> list[str] | None:
    """The words that a sequence needs: those of the part whose words are longest, and fewest; None if none has any."""
    found: list[list[str] | None] = []
    run = ""
    for code, value in (*items, (None, None)):
        if code is codes.LITERAL:
            run += chr(value).lower()
        elif code is not codes.AT:  # `\b` stands between characters and is none
            word = len(run) > 1 or (run and not run.isalnum() and not run.isspace())  # a sign, such as a backquote
            found += [[run] if word else None, _needed_by_part(code, value)]
            run = ""
    return max((one for one in found if one), key=_rarity, default=None)


def _rarity(words: list[str]) -> tuple[int, int]:
    """How seldom a text holds one of some words: long ones are rare, room around them says nothing."""
    return min(4, *[len(word.strip()) for word in words]), -len(words)


def _needed_by_part(code: Any, value: Any) -> list[str] | None:
    """The words that one part of a sequence needs."""
    if code is codes.SUBPATTERN:
        return _needed(value[3])
    if code is codes.ATOMIC_GROUP:
        return _needed(value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT) and value[0]:
        return _needed(value[2])
    if code is codes.BRANCH:
        branches = [_needed(one) for one in value[1]]
        return None if None in branches else list(dict.fromkeys(word for one in branches for word in one or ()))
    return None
