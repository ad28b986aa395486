r"""Items of lists that are cases: "1. Suppose $a = b$. Then ... 2. If $a > b$, then ...".

An item that supposes something and concludes from it is a case of its own. So behind it, the next item of its list
may be another case, whether or not it says what it supposes, and no step there is accepted that holds under the first
item alone. Words that point back, as "Then" or "Hence", go on with the item above, and so does a further condition. An
item that supposes and concludes nothing is one assumption of several, and lasts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from attention_core.derivation.document.blocks import Paragraph, sentences_of
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import shorten_quote

_ITEM = re.compile(
    r"^(?P<indent>[ \t>]*)(?:[-*+\u2022](?=\s)|\\item\b\s*(?:\[[^\]]*\])?|[*_]{0,2}\(?(?:\d{1,2}|[ivx]{1,4}|[a-h])[.)]"
    r"[*_]{0,2}(?=\s))\s*"
)
_SUPPOSES = re.compile(
    r"^[\W_]*(?:(?:now|next|first(?:ly)?|second(?:ly)?|finally|let us|we|consider|also|then|the|in)\b\W*)*"
    r"(?:suppos\w*|assum(?:e|es|ed|ing)|if|when|whenever|cases?|otherwise|else|provided|given)\b",
    re.IGNORECASE,
)
_FURTHER = re.compile(
    r"\b(?:further|furthermore|also|moreover|in addition|additionally|still|besides|too|as well)\b", re.IGNORECASE
)
_CONCLUDES = compile_quick(
    r"\b(?:then|hence|thus|therefore|so|consequently|it follows|we (?:have|get|find|obtain|see)|holds?|this (?:gives|"
    r"is|means|yields))\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"^[\W_]*(?:then|hence|thus|therefore|so|consequently|it|this|that|these|those|now|next|finally|from|by|using|since|"
    r"because|substitut\w*|insert\w*|plug\w*|combin\w*|again|moreover|furthermore|further|also|and|which|in particular|"
    r"in (?:this|that|the same) case|with (?:this|that|these))\b",
    re.IGNORECASE,
)


_DOLLAR = re.compile(r"(?<!\\)\$")


@dataclass
class _Item:
    """The item of a list that a document is in: where it starts, and whether it is a case."""

    indent: int
    line: int
    supposes: bool
    concludes: bool = False
    since: int = 0  # the first item of its list that is a case, 0 if there is none


@dataclass
class ListItems:
    """The lists that a document is in, the outer one first, each by its last item."""

    open: list[_Item] = field(default_factory=list)

    def enter(self, context: Context, paragraph: Paragraph, shown: int) -> bool:
        """Note the items of a paragraph, and take back what an item above them supposes.

        Args:
            context: What is declared there; caveats are added to it.
            paragraph: The paragraph.
            shown: The last line of a display above it, 0 if there is none.

        Returns:
            Whether something was taken back.
        """
        count = len(context.caveats)
        for line, indent, text in split_items(paragraph):
            if indent >= 0:
                self._begin(context, line, indent, text, shown)
            elif self.open:
                self._leave(context, line, text, shown)
            if self.open:
                last = self.open[-1]
                last.concludes |= bool(_CONCLUDES.search(_prose(line, text)))
        return len(context.caveats) > count

    def _begin(self, context: Context, line: int, indent: int, text: str, shown: int) -> None:
        """Begin an item, and end what the one before it in its list supposes."""
        while self.open and self.open[-1].indent > indent:
            self.open.pop()
        words = _prose(line, text)
        item = _Item(indent, line, bool(_SUPPOSES.match(words)))
        if self.open and self.open[-1].indent == indent:
            above = self.open.pop()
            if _goes_on(words):
                item = above
            else:
                item.since = _end_case(context, above, line, text, shown)
        self.open.append(item)

    def _leave(self, context: Context, line: int, text: str, shown: int) -> None:
        """End a list of cases at words that stand outside of its items: "The sum is" at the start of a line."""
        words, last = _prose(line, text), self.open[-1]
        if text[:1].isspace() or not last.since or _BACK.match(words) or not text[:1].isupper():
            return
        _end_case(context, last, line, text, shown)
        self.open = []


def split_items(paragraph: Paragraph) -> Iterator[tuple[int, int, str]]:
    """The items of a paragraph, each with its line and how far it is indented; -1 for words that begin no item.

    Args:
        paragraph: The paragraph.

    Example:
        >>> list(split_items(Paragraph(3, "we have.\\n2. Suppose\\n   not\\n- If so")))
        [(3, -1, 'we have.'), (4, 0, 'Suppose\\n   not'), (6, 0, 'If so')]
    """
    out: list[tuple[int, int, str]] = []
    for line, text in enumerate(paragraph.text.split("\n"), paragraph.line):
        found = _ITEM.match(text)
        if found is not None and not (out and len(_DOLLAR.findall(out[-1][2])) % 2):  # not within a formula
            out.append((line, len(found["indent"].expandtabs(4)), text[found.end() :]))
        elif out:
            first, indent, above = out[-1]
            out[-1] = (first, indent, f"{above}\n{text}")
        else:
            out.append((line, -1, text))
    return iter(out)


def _prose(line: int, text: str) -> str:
    return " ".join(one.prose for one in sentences_of(Paragraph(line, text)))


def _goes_on(words: str) -> bool:
    """Whether an item goes on with the one above it: it points back, and supposes nothing of its own."""
    if _SUPPOSES.match(words):
        return bool(_FURTHER.search(words))
    return bool(_BACK.match(words))


def _end_case(context: Context, item: _Item, line: int, text: str, shown: int) -> int:
    """Take back what an item supposes at a line below it; the first line that was taken back, 0 if nothing was."""
    if not item.supposes or not (item.concludes or shown > item.line):
        return item.since
    since, quote = item.since or item.line, shorten_quote(" ".join(text.split()))
    context.caveats.append(Caveat(line, quote, context.level, None, ends=line - 1, since=since))
    return since
