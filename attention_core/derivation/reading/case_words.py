r"""Cases of a proof: "Case 1: $x \ge 0$.", "Otherwise,", "In both cases", and what one of them leaves for the next.

What a case assumes holds until the next case, until words close the cases, or until its section ends. Words between
its displays may close it without saying so, so after them no step is accepted that holds under the case alone. The
same goes for "Assume $b \ge a$." below "Assume $a \ge b$." and a display: it may be a second case, or assume further.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from attention_core.derivation.document.blocks import Block, Paragraph, sentences_of
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.premises import commit_assumption
from attention_core.derivation.reading.replaced_bounds import find_replaced_bounds
from attention_core.derivation.reading.withdrawals import OTHERWISE
from attention_core.derivation.terms.context import Caveat, Context, Hypothesis
from attention_core.derivation.words.caveats import declared_names, relation_in, shorten_quote

_LABEL = re.compile(
    r"^[\W_]*(?:(?:now|next|then|finally|consider|for|the|first|second|third|fourth|last|final|other|remaining)\b\W*)*"
    r"\bcases?\b(?:\s*\(?(?:\d+|[ivxIVX]+|[a-dA-D])\)?(?![a-zA-Z]))?(?P<end>[\s:.,;)*_\u2013\u2014-]*)(?=$|\$|[A-Za-z(])",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"^\s*(?:(?:we|let us)\s+)?(?:assume|suppose|let|if|when|for|with|where|here|now|that|is)\b[\s,]*(?:that\b\s*)?",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.:;](?=\s|$)|,?\s*\b(?:then|we (?:have|get|find|obtain)|so|hence|thus)\b", re.IGNORECASE)
_FURTHER = re.compile(
    r"\b(?:further|furthermore|also|moreover|in addition|additionally|still|both|besides|too|as well|again)\b", re.I
)
_ASSUMES = compile_quick(r"\b(?:assum\w+|suppos\w+|cases?)\b", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?:suppos|assum)\w*[^.;]{0,20}\bfirst\b|\bfirst(?:ly)?\b[^.;]{0,20}\b(?:suppos|assum)", re.IGNORECASE
)
_NOW = re.compile(
    r"\b(?:now|next|second(?:ly)?|then|finally|otherwise|last(?:ly)?|conversely)\b[^.;]{0,20}\b(?:suppos|assum)|"
    r"\b(?:suppos|assum)\w*[^.;]{0,20}\b(?:now|next|second|finally|conversely)\b",
    re.IGNORECASE,
)
"""Words of the first of some cases, and of a later one."""
_FORMULAS = re.compile(r"(?<!\\)\$")


def split_label(paragraph: Paragraph) -> Paragraph | None:
    """What stands after the label of a case, None of a paragraph without one.

    Args:
        paragraph: The paragraph.

    Example:
        >>> split_label(Paragraph(1, "**Case 2:** $x < 0$.")).text
        '$x < 0$.'
        >>> split_label(Paragraph(1, "In this case we are done."))
    """
    found = _LABEL.match(paragraph.text)
    if found is None or not (re.search(r"[:.,;)*\u2014-]", found["end"]) or paragraph.text[found.end() :][:1] in "$"):
        return None
    head = paragraph.text[: found.end()]
    return Paragraph(paragraph.line + head.count("\n"), paragraph.text[found.end() :])


@dataclass
class Cases:
    """The case that a document is in: what it assumes, and what of it was not read."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    caveats: list[Caveat] = field(default_factory=list)
    line: int = 0  # of its label, 0 outside cases

    def close(self, context: Context) -> None:
        """End the case.

        Args:
            context: What is declared and assumed; what the case assumes is taken out of it.
        """
        context.hypotheses = [h for h in context.hypotheses if not any(h is one for one in self.hypotheses)]
        context.caveats = [c for c in context.caveats if not any(c is one for one in self.caveats)]
        self.hypotheses, self.caveats, self.line = [], [], 0

    def open(self, context: Context, label: Paragraph, behind: Paragraph) -> Paragraph | None:
        """Begin a case.

        Args:
            context: What is declared; what the case assumes is added to it.
            label: The paragraph that it begins with.
            behind: What stands after its label.

        Returns:
            The rest of the paragraph, None if there is none.
        """
        self.close(context)
        self.line = label.line
        masked = _FORMULAS.split(behind.text)
        masked[1::2] = ["\1" * len(part) for part in masked[1::2]]
        blank = "$".join(masked)
        opens = _OPENS.match(blank)
        start = opens.end() if opens else 0
        cut = _ENDS.search(blank, start)
        end = cut.start() if cut else len(blank)
        condition = behind.text[start:end].strip()
        hypotheses = commit_assumption(context, f"Assume {condition}.", behind.line) if "$" in condition else None
        if hypotheses is None:
            self._keep_unread(context, label, condition)
        else:
            self.hypotheses = hypotheses
            context.hypotheses += hypotheses
        left = behind.text[end:].lstrip(" .:;,\n")
        return Paragraph(behind.line + behind.text[:end].count("\n"), left) if left else None

    def _keep_unread(self, context: Context, label: Paragraph, condition: str) -> None:
        """Leave open what the case assumes, for all steps in it."""
        quote = shorten_quote(label.text)
        parts = _FORMULAS.split(condition)
        plain = all(not re.search(r"\w", one) for one in parts[::2])  # no words that might deny it
        relations = [one for one in parts[1::2] if plain and relation_in(one, label.line)]
        names = frozenset().union(*(declared_names(context, one, label.line) for one in relations)) or None
        formula = ", ".join(relations) if names else ""
        words = () if formula else ("Case",)
        self.caveats = [Caveat(label.line, quote, context.level, names, formula, plain=True, words=words)]
        context.caveats += self.caveats

    def pass_over(self, context: Context, paragraph: Paragraph, shown: bool) -> None:
        """What a paragraph without a label does to the case: words between its displays may close it.

        Args:
            context: What is declared and assumed.
            paragraph: The paragraph.
            shown: Whether a display of the case stands above it.
        """
        if not self.line or not shown or _STAYS.match(paragraph.text):
            return
        if any(_CLOSES.search(one.prose) or OTHERWISE.match(one.prose) for one in sentences_of(paragraph)):
            self.close(context)
            return
        quote = shorten_quote(paragraph.text)
        place = (paragraph.line, quote, context.level, None)
        context.caveats.append(Caveat(*place, ends=paragraph.line - 1, since=self.line))


# Words that go on with the sentence of a display, or say that they are about the case.
_STAYS = re.compile(
    r"^\W*(?:and|so that|that is|i\.e\.|or|which|where|with|here|(?:still )?(?:in|under) (?:this|that|the same))\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:in|for|combining|considering|from|by|under|taking) (?:both|either|all|any|every|each|these|the (?:two|"
    r"three)) (?:\w+ )?cases?\b|\b(?:altogether|in total|back to|all in all)\b|\bthe general case\b",
    re.IGNORECASE,
)


def find_other_cases(
    context: Context, fresh: Sequence[Hypothesis], paragraph: Paragraph, shown: int, blocks: Sequence[Block]
) -> list[Caveat]:
    """What may have ended where a paragraph assumes something new of symbols that were assumed to be otherwise.

    Args:
        context: What is declared and assumed.
        fresh: What the paragraph assumes.
        paragraph: The paragraph.
        shown: The line of the last display above it.
        blocks: The blocks of the document.
    """
    out = find_replaced_bounds(context, fresh, paragraph, shown)
    if not _ASSUMES.search(paragraph.text) or _FURTHER.search("$$".join(_FORMULAS.split(paragraph.text)[::2])):
        return out
    quote, later = shorten_quote(paragraph.text), bool(_NOW.search(paragraph.text))
    for one in fresh:
        above = [h for h in context.hypotheses if h.line < shown < one.line]
        older = [h for h in above if h.mentions == one.mentions and _ASSUMES.search(_text_at(h.line, blocks))]
        firsts = [h for h in above if later and _FIRST.search(_text_at(h.line, blocks))]
        for some, names in ((older, one.mentions), (firsts, None)):
            if some:
                since = min(h.line for h in some)
                out.append(Caveat(one.line, quote, context.level, names, ends=paragraph.line - 1, since=since))
    return out


def _text_at(line: int, blocks: Sequence[Block]) -> str:
    """The text of the paragraph that a line is in."""
    return next((b.text for b in reversed(blocks) if isinstance(b, Paragraph) and b.line <= line), "")
