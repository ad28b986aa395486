r"""What a labelled block assumes ends with it: "**Example.** Let $n = 1$. ... **Theorem.** We have".

A block begins at a label, as "**Lemma 2.**" or `\begin{lemma}`. A proof or a solution right behind it goes on with what
it assumes, and a claim within a proof is a block of its own. Definitions, assumptions and notation last. Behind the
block no step is accepted that holds under what the block assumes alone (see `withdrawals`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from attention_core.derivation.document.blocks import Block, Display, Heading
from attention_core.derivation.reading.general_words import is_example
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import shorten_quote

_KINDS = {
    "block": (
        r"theorems?|thm|lemma|lem|propositions?|prop|corollary|corollaries|cor|conjecture|examples?|ex|counter-?example|"
        r"exercises?|problems?|questions?|remarks?|rem"
    ),
    "claim": r"claims?|facts?|observations?",
    "proof": r"proof|solutions?|answers?",
    "lasting": (
        r"definitions?|defn?|notations?|assumptions?|asm|conventions?|settings?|set-?up|conditions?|hypothes[ie]s|model"
    ),
}
_NAMES = "|".join(f"(?P<{kind}>{names})" for kind, names in _KINDS.items())
_LABEL = re.compile(
    r"^[\s>]*(?:[-*+]\s+)?(?:\\noindent\s*)?(?P<mark>[*_]{1,3}|\\(?:textbf|textit|emph|paragraph\*?)\s*\{|"
    r"<(?:b|strong|em|i)>)?\s*(?:(?:main|key|technical|auxiliary|basic|worked|simple|toy|numerical|concrete|fundamental|"
    r"another|further|next|first|second|third)\s+){0,2}"
    rf"(?:{_NAMES})(?:\s+(?:\d+(?:\.\d+)*|[IVX]+|[A-Z])(?:'|\b))?(?P<by>\s*(?:of|to)\s[^.:*_]{{1,40}})?"
    r"\s*(?:\([^()]*\)|\[[^\[\]]*\])?\s*(?P<end>[.:*_}<\u2014]|\([^()]*\)[.:])",
    re.IGNORECASE,
)
_MARK = re.compile(rf"\\(?P<side>begin|end)\s*\{{(?:{_NAMES})\*?\}}", re.IGNORECASE)
LONGEST = 120  # characters of a line that a label is looked for in
# Environments that end what they assume; a theorem may be proved below its own in plain words.
_SHORT = re.compile(r"(?:example|ex|counter-?example|remark|rem)s?", re.IGNORECASE)
_STAYS = re.compile(r"\b(?:proof|solutions?|answers?|steps?|cases?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Label:
    """The place of a label: its line, how many displays begin on that line in front of it, and its kind."""

    line: int
    displays: int
    kind: str
    quote: str
    ends: int  # the last line of what stands above it


def find_labels(text: str) -> list[Label]:
    r"""The labels of a document: where a block begins, or where an environment ends.

    Args:
        text: The document.

    Example:
        >>> [(one.line, one.kind) for one in find_labels("**Lemma 1.** Let\n\\begin{proof}\nSo\n\\end{proof}")]
        [(1, 'block'), (2, 'proof'), (4, 'end')]
    """
    out: list[Label] = []
    for line, words in enumerate(text.splitlines(), 1):
        marks = list(_MARK.finditer(words)) if "\\" in words else []
        label = _LABEL.match(words[:LONGEST]) if not marks else None
        if label is not None and (label["mark"] or label["end"] in ".:\u2014"):
            out.append(Label(line, 0, _kind(label), label.group().strip(" >*_"), line - 1))
        count, at, place = 0, 0, line - 1
        for one in marks:
            kind, head = _kind(one), words[at : one.start()]
            count, at = count + head.count("$$") // 2 + head.count(r"\["), one.end()
            place = line if head.strip() else place
            if one["side"] == "end":
                if kind != "proof" and not (kind == "block" and _SHORT.fullmatch(one["block"])):
                    continue
                kind = "end"
            out.append(Label(line, count, kind, one.group(), place))
    return out


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in _KINDS if found[kind])


@dataclass
class LabelledBlocks:
    """The labels of a document that are not passed yet, and the block that the text is in."""

    labels: Sequence[Label] = ()
    since: int = 0  # the line of its label, 0 outside blocks
    claim: int = 0  # the line of the claim within its proof, 0 if there is none
    proof: bool = False  # whether its proof has begun
    last: int = 0  # the last line above a heading below it, 0 if there is none
    level: int = 0  # of the section that it stands in
    passed: int = 0  # how many labels are passed
    shown: list[int] = field(default_factory=list)  # the lines of the displays so far

    def reach(self, context: Context, block: Block, case: int) -> None:
        """Pass the labels in front of a block of the document, and take back what ends there.

        Args:
            context: What is declared above the block; caveats are added to it.
            block: The block.
            case: The line of the case that the text is in, 0 if it is in none.
        """
        while self.passed < len(self.labels) and self._is_due(self.labels[self.passed], block):
            self._pass(context, self.labels[self.passed], case)
            self.passed += 1
        if isinstance(block, Display):
            self.shown.append(block.line)
        elif isinstance(block, Heading) and self.since:
            self._enter_section(block)

    def _enter_section(self, heading: Heading) -> None:
        """Leave the block at a heading, which ends its assumptions if its level says so."""
        if heading.level <= self.level:
            self.since, self.claim, self.last, self.proof = 0, 0, 0, False
        elif not self.last and not _STAYS.search(heading.text):
            self.last = heading.line - 1

    def _is_due(self, label: Label, block: Block) -> bool:
        if label.line != block.line:
            return label.line < block.line
        return self.shown.count(label.line) >= label.displays

    def _pass(self, context: Context, label: Label, case: int) -> None:
        """Begin what a label begins."""
        if label.kind == "proof" and self.since:
            self.proof = True
            return
        inner = self.proof and (label.kind == "claim" or (label.kind == "end" and self.claim > 0))
        since = self.claim if inner else self.since or case
        if since:
            self._end(context, since, label)
        if inner:
            self.claim = label.line if label.kind == "claim" else 0
            return
        self.since = 0 if label.kind in ("end", "lasting") else label.line
        self.claim, self.last, self.proof, self.level = 0, 0, label.kind == "proof", context.level

    def _end(self, context: Context, since: int, label: Label) -> None:
        """Take back what is assumed from a line on, and the values that are given there."""
        quote, level = shorten_quote(label.quote), min(self.level, context.level)
        last = min(label.ends, self.last or label.ends)
        lines = range(since, last + 1)
        values = frozenset(name for name, one in context.symbols.items() if is_example(one) and one.line in lines)
        for names in (None, values) if values else (None,):
            context.caveats.append(Caveat(label.line, quote, level, names, ends=last, since=since))


__all__ = ["Label", "LabelledBlocks", "find_labels"]
