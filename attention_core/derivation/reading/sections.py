"""Which sections hold for those after them.

A heading ends the section before it. Three kinds of sections are written for what follows: one that is named for
assumptions, notation or a setting holds until its parent ends, with all that it declares; the unread words of one
without a display, or that speaks of the whole text, stay what a step may depend on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph, Sentence, sentences_of
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.premises import later
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import shorten_quote
from attention_core.derivation.words.paragraphs import is_declaration

_NAME = (
    r"(?:(?:the|our|some|general|main|standing|basic|common|standard|all|problem|mathematical) )*"
    r"(?:assumptions?|hypothes[ie]s|notations?|conventions?|settings?|set-?ups?|constraints?|premises)"
)
_SCENE = re.compile(rf"^{_NAME}(?:(?:,|,? and| &) {_NAME})*$", re.IGNORECASE)
_LIKE_SCENE = re.compile(
    r"\b(?:assumptions?|hypothes[ie]s|notations?|conventions?|settings?|set-?ups?|preliminar\w+|definitions?|models?|"
    r"conditions?|constraints?|premises|requirements?|background)\b",
    re.IGNORECASE,
)
_TEXT = (
    r"(?:this|these|the present|our|the whole|the entire|all of this) (?:\w+ )?(?:notes?|documents?|pages?|posts?|"
    r"chapters?|articles?|papers?|texts?|lectures?|tutorials?|reports?|manuscripts?|series|write-?ups?|handouts?)"
)
_OF_ALL = compile_quick(
    r"\b(?:throughout(?! this (?:sub)?section)|everywhere|in what follows|in the (?:following|sequel|rest)|henceforth|"
    r"hereafter|from (?:now|here) on|always|(?:for|in) the (?:rest|remainder)|until further notice|"
    r"by convention|"
    rf"(?:in|of|for|within|across|throughout|by|to) {_TEXT})\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def sets_scene(title: str) -> bool:
    """Whether a heading names a section whose declarations hold for what follows it.

    Example:
        >>> [sets_scene(title) for title in ("2. Notation and conventions", "Assumption 2", "The loss")]
        [True, False, False]
    """
    bare = re.sub(r"^[\divxIVX]{1,4}[.):]*\s+|[*_`]|\{#[^{}]*\}", "", title.strip())
    macro = re.fullmatch(r"\\\w+\*?\s*\{([^{}]*)\}.*", bare)
    return bool(_SCENE.match(" ".join((macro[1] if macro else bare).split()).rstrip(" .:")))


_BACK = compile_quick(
    r"\b(?:throughout(?! this (?:sub)?section)|everywhere|"
    rf"(?:in|of|for|within|across|throughout|by|to) {_TEXT}|"
    r"above|so far|up to (?:here|now)|earlier|before|(?:in|of) (?:all|each|every|both|the other|the "
    r"(?:previous|preceding|first|last)) (?:sub)?sections?|previous(?:ly)?)\b",
    re.IGNORECASE,
)


_LOCAL = re.compile(r"\b(?:examples?|exercises?|(?:special )?cases?|proof|answers?|solutions?)\b", re.IGNORECASE)
_TASK = re.compile(r"\W*(?:problem|question|exercise|task|quiz|puzzle|homework)\W*(?:\d|[a-zA-Z]\b)", re.IGNORECASE)
"""The head of one task among others: what it supposes without a formula is about itself."""
_BACK_MATTER = re.compile(
    r"(?:the )?(?:references?|bibliography|literature|sources?|citations?|cit(?:e|ing) (?:this|us)|licen[cs]es?|"
    r"copyright|credits|acknowledge?ments?|thanks|further reading|see also|links|resources|"
    r"changelog|about (?:me|us|the "
    r"authors?)|contact|comments|related posts)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Remark:
    """A sentence that may be about sections above its own, and whether its paragraph declares."""

    sentence: Sentence
    declares: bool


def remarks_of(blocks: Sequence[Block]) -> list[Remark]:
    """The sentences that may be about sections above them.

    Those in a section without a display, whose words can be about no other, or that is named for assumptions or the
    like, and those that point back or speak of the whole text. Lists of sources, licences and thanks say nothing, and
    "Problem 6" with its parts is about itself.

    Args:
        blocks: The blocks of the document.
    """
    out: list[Remark] = []
    silent = _sections_without_displays(blocks)
    heading: Heading | None = None
    task: int | None = None  # the level of the task that a place is in
    for place, block in enumerate(blocks):
        if isinstance(block, Heading):
            heading = block
            task = None if task is None or block.level <= task else task
            task = block.level if task is None and _TASK.match(block.text.lstrip("#* ")) else task
        elif isinstance(block, Paragraph) and heading is not None:
            declares = is_declaration(block)
            local = task is not None or is_back_matter(heading.text)
            every = sets_scene(heading.text) or (place in silent and not local)
            out += [Remark(one, declares) for one in sentences_of(block) if every or _BACK.search(one.prose)]
    return out


def _sections_without_displays(blocks: Sequence[Block]) -> set[int]:
    """The places of the blocks in sections that have no display, not even in a part of theirs."""
    out: set[int] = set()
    open_: list[tuple[Heading, int]] = []
    last = -1  # the place of the last display
    for place in range(len(blocks) + 1):
        block = blocks[place] if place < len(blocks) else None
        if isinstance(block, Display):
            last = place
        elif block is None or isinstance(block, Heading):
            level = 0 if block is None else block.level
            while open_ and (block is None or open_[-1][0].level >= level):
                _, start = open_.pop()
                out |= set(range(start, place)) if last < start else set()
            if block is not None:
                open_.append((block, place))
    return out


def points_back(sentence: str) -> bool:
    """Whether a sentence of a later section may be about those above it.

    Example:
        >>> [points_back(one) for one in ("Above, all rows are the same.", "All rows are the same.")]
        [True, False]
    """
    return bool(_BACK.search(sentence) or _OF_ALL.search(sentence))


def is_back_matter(title: str) -> bool:
    """Whether a heading names a part that is not about the text: its sources, its licence, thanks.

    Example:
        >>> [is_back_matter(title) for title in ("References", "## Further reading", "Conclusion")]
        [True, True, False]
    """
    return bool(_BACK_MATTER.match(re.sub(r"^[\W\d]*", "", title)))


@dataclass
class Sections:
    """The headings above a place: their levels, and the one that sets the scene."""

    open: list[Heading] = field(default_factory=list)
    scene: Heading | None = None

    def enter(self, context: Context, heading: Heading, above: Sequence[Block]) -> None:
        """End the sections that a heading ends, but for what they leave to those behind them.

        Args:
            context: What is declared; it is changed.
            heading: The heading.
            above: The blocks above it.
        """
        if self.scene is not None and heading.level > self.scene.level:
            return
        ended = next((one for one in self.open if one.level >= heading.level), None)
        self.open = [one for one in self.open if one.level < heading.level]
        outer = self.open[-1].level if self.open else 0
        left = [] if ended is None else _left(context, ended, heading.level, outer, above)
        context.heading(heading.level, partial(_title_at, [one for one in above if isinstance(one, Heading)]))
        context.caveats += select_current(context, left)
        self.open.append(heading)
        self.scene = heading if sets_scene(heading.text) else None
        if self.scene is not None:
            context.level = outer


def _title_at(headings: Sequence[Heading], line: int) -> str:
    """The title of the section that a line stands in, in few words; '' above the first heading."""
    over = next((one for one in reversed(headings) if one.line <= line), None)
    return "" if over is None else shorten_quote(" ".join(over.text.split()))


def _left(
    context: Context, ended: Heading, level: int, outer: int, above: Sequence[Block]
) -> list[tuple[Caveat, bool]]:
    """What a section that ends leaves behind, and whether that is about symbols declared later as well."""
    since = [block for block in above if block.line > ended.line]
    scenic = bool(_LIKE_SCENE.search(ended.text))
    silent = not any(isinstance(block, Display) for block in since)
    first = next((block.line for block in above if isinstance(block, Display)), None)
    prose = {b.line + k for b in above if isinstance(b, Paragraph) for k in range(b.text.count("\n") + 1)}
    plain = scenic or silent
    found = []
    for one in (c for c in context.caveats if c.level >= level and not (c.ends and c.line == ended.line)):
        # Words of an introduction that name no symbol are about those that are declared after it as well; headings,
        # code and examples are about their own section.
        before = first is None or (one.line < first and one.line in prose and not _LOCAL.search(ended.text))
        opening = one.names is None and (silent or before)
        every = scenic or opening or bool(_OF_ALL.search(one.quote))
        found += [(one, every)] if plain or every else []
    if plain:
        found += [(c, False) for c in later([h for h in context.hypotheses if h.level >= level], context)]
    return [(replace(c, level=outer), every) for c, every in found]


def select_current(context: Context, left: Sequence[tuple[Caveat, bool]]) -> list[Caveat]:
    """Those among them that are about symbols which are still declared, or about all."""
    known = frozenset(context.symbols)
    out = []
    for caveat, every in left:
        names = known if caveat.names is None else caveat.names & known
        if caveat.names is None and every:
            out.append(caveat)
        elif names:
            out.append(replace(caveat, names=names))
    return out
