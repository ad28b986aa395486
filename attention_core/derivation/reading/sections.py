"""Which sections hold for those behind them.

A heading ends what was said below it. Three kinds of sections are written for what follows: one that is named for
assumptions, notation or a setting holds until its parent ends, with all that it declares; the unread words of one
without a display, or that speaks of the whole text, stay what a step may depend on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph, Sentence, sentences_of
from attention_core.derivation.reading.premises import later
from attention_core.derivation.terms.context import Caveat, Context
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
_OF_ALL = re.compile(
    r"\b(?:throughout(?! this (?:sub)?section)|everywhere|in what follows|in the (?:following|sequel|rest)|henceforth|"
    r"hereafter|from (?:now|here) on|always|(?:for|in) the (?:rest|remainder)|until further notice|"
    r"by convention|"
    rf"(?:in|of|for|within|across|throughout|by|to) {_TEXT})\b",
    re.IGNORECASE,
)


def sets_scene(title: str) -> bool:
    """Whether a heading names a section whose declarations hold for what follows it.

    Example:
        >>> [sets_scene(title) for title in ("2. Notation and conventions", "Assumption 2", "The loss")]
        [True, False, False]
    """
    bare = re.sub(r"^[\divxIVX]{1,4}[.):]*\s+|[*_`]|\{#[^{}]*\}", "", title.strip())
    macro = re.fullmatch(r"\\\w+\*?\s*\{([^{}]*)\}.*", bare)
    return bool(_SCENE.match(" ".join((macro[1] if macro else bare).split()).rstrip(" .:")))


_BACK = re.compile(
    r"\b(?:throughout(?! this (?:sub)?section)|everywhere|"
    rf"(?:in|of|for|within|across|throughout|by|to) {_TEXT}|"
    r"above|so far|up to (?:here|now)|earlier|before|(?:in|of) (?:all|each|every|both|the other|the "
    r"(?:previous|preceding|first|last)) (?:sub)?sections?|previous(?:ly)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Remark:
    """A sentence that may be about sections above its own, and whether its paragraph declares."""

    sentence: Sentence
    declares: bool


def remarks_of(blocks: Sequence[Block]) -> list[Remark]:
    """The sentences that may be about sections above them.

    Those in a section that is named for assumptions or the like, and those that point back or speak of the whole text.

    Args:
        blocks: The blocks of the document.
    """
    out: list[Remark] = []
    heading: Heading | None = None
    for block in blocks:
        if isinstance(block, Heading):
            heading = block
        elif isinstance(block, Paragraph) and heading is not None:
            scenic, declares = sets_scene(heading.text), is_declaration(block)
            out += [Remark(one, declares) for one in sentences_of(block) if scenic or _BACK.search(one.prose)]
    return out


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
        context.heading(heading.level)
        context.caveats += about_known(context, left)
        self.open.append(heading)
        self.scene = heading if sets_scene(heading.text) else None
        if self.scene is not None:
            context.level = outer


def _left(
    context: Context, ended: Heading, level: int, outer: int, above: Sequence[Block]
) -> list[tuple[Caveat, bool]]:
    """What a section that ends leaves behind, and whether that is about symbols declared later as well."""
    since = [block for block in above if block.line > ended.line]
    scenic = bool(_LIKE_SCENE.search(ended.text))
    plain = scenic or not any(isinstance(block, Display) for block in since)
    closing = [c for c in context.caveats if c.level >= level]
    found = [(c, scenic or bool(_OF_ALL.search(c.quote))) for c in closing if plain or _OF_ALL.search(c.quote)]
    if plain:
        found += [(c, False) for c in later([h for h in context.hypotheses if h.level >= level], context)]
    return [(replace(c, level=outer), every) for c, every in found]


def about_known(context: Context, left: Sequence[tuple[Caveat, bool]]) -> list[Caveat]:
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
