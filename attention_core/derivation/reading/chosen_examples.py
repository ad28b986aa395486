r"""What an example chooses ends with the example: "For example, let $n = 3$. ... For any $n$ we have".

The words "for example" are found in the document as it is written, as later steps drop them. Behind words for all
values of what was chosen, or for all values at all, and behind a display and a paragraph that does not point back, no
step is accepted that holds for the example alone. An example with a label, "Example 1.", or with "Say $n = 3$" may have
many paragraphs, so only words for all values end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from attention_core.derivation.document.blocks import Block, Paragraph, Sentence, sentences_of
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import declared_names, shorten_quote

_LABEL = re.compile(r"^[\W_]*examples?(?:\s+[\d.]+)?[\W_]*(?=$|let\b|take\b|suppose\b|consider\b)", re.IGNORECASE)
_WORDS = compile_quick(
    r"\b(?:for|as an?|by way of)(?: (?:a|an|the))?(?: (?:simple|small|concrete|numerical|toy|first))* "
    r"(?:examples?|instance|illustration)\b|\be\.\s?g\.|\bto illustrate\b",
    re.IGNORECASE,
)
_SAY = re.compile(
    r"^\W*(?:\w+,?\s+){0,2}?(?:let(?:'s|\u2019s|\s+us)\s+)?say,?\s+(?:that\s+)?\$\$|,\s+say\b", re.IGNORECASE
)
_ANY_WORD = re.compile(r"e\.\s?g\.|xample|instance|llustrat|\b[Ss]ay\b")
_CHOOSES = re.compile(
    r"\b(?:let|take|put|set|choose|pick|suppos\w*|assum\w+|consider|say|fix|with|for|if|when)\b", re.IGNORECASE
)
_FOR_ALL = re.compile(
    r"\bfor\s+(?:any|all|every|each|arbitrary|an\s+arbitrary|general|a\s+general)\s+(?:other\s+)?(?:\w+\s+){0,3}\$\$",
    re.IGNORECASE,
)
_IN_GENERAL = re.compile(
    r"^\W*(?:(?:but|and|now|so|then|hence|thus)\b\W*)*(?:in\s+(?:full\s+)?general(?:ity)?|more\s+generally|generally|"
    r"in\s+the\s+general\s+case|for\s+(?:all|general|arbitrary)\s+values)\b",
    re.IGNORECASE,
)
_RELATION = re.compile(r":?=|[<>]|\\(?:in|leq?|geq?|sim|to|equiv|approx|neq?)(?![a-zA-Z])")
_BACK = re.compile(
    r"^\W*(?:[a-z]|(?:Then|So|Hence|Thus|Therefore|Consequently|Now|Also|And|Here|This|That|These|Those|It|Its|Their|"
    r"With|Which|Where|Next|Finally|Similarly|Likewise|Moreover|Furthermore|Again|Using|From|By|Substitut\w*|Insert\w*|"
    r"Plug\w*|Since|Because|As|Equivalently|Indeed|Note|Both|Adding|In (?:this|that|the same|particular|total|other)|"
    r"(?:The|Our) (?:\w+ ){0,2}(?:of the example|then|therefore|thus|now)|"
    r"(?:We|One) (?:then |now |thus |therefore )?(?:get|obtain|find|compute|see|conclude|verify|check)s?)\b)"
)


@dataclass(frozen=True)
class Example:
    """The words of an example: their lines, what formulas they hold, and whether it may have many paragraphs."""

    line: int
    ends: int
    formulas: tuple[str, ...]
    long: bool


def find_examples(blocks: Iterable[Block]) -> list[Example]:
    """The examples of a document that choose something.

    Args:
        blocks: The blocks of the document as it is written.
    """
    out: list[Example] = []
    for block in blocks:
        if not isinstance(block, Paragraph) or not _ANY_WORD.search(block.text):
            continue
        sentences = sentences_of(block)
        labelled = False
        for one in sentences:
            labelled = labelled or bool(_LABEL.match(one.prose))
            long = labelled or bool(_SAY.search(one.prose))
            if one.formulas and _CHOOSES.search(_WORDS.sub(" ", one.prose)) and (long or _WORDS.search(one.prose)):
                last = one.line + "".join(one.parts).strip().count("\n")
                out.append(Example(one.line, last, one.formulas, long))
    return out


@dataclass
class Examples:
    """The examples of a document, and those that the text is in."""

    written: Sequence[Example] = ()
    open: list[Example] = field(default_factory=list)

    def enter(self, context: Context, paragraph: Paragraph, shown: int) -> None:
        """Take back what an example chose, where a paragraph leaves it, and note the examples of the paragraph.

        Args:
            context: What is declared there, with this paragraph; caveats are added to it.
            paragraph: The paragraph.
            shown: The last line of a display above it, 0 if there is none.
        """
        last = paragraph.line + paragraph.text.count("\n")
        self.open += [one for one in self.written if paragraph.line <= one.line <= last]
        sentences = sentences_of(paragraph)
        for one in list(self.open):
            names = _chosen_names(context, one)
            behind = _sentences_behind(sentences, one)
            end = next((s for s in behind if _is_general(context, s, names)), None)
            leaves = not one.long and one.ends < shown < paragraph.line and not _BACK.match(paragraph.text)
            end = end or (sentences[0] if leaves and sentences else None)
            if end is not None:
                self.open.remove(one)
            if end is not None and names:
                quote = shorten_quote(end.text)
                context.caveats.append(Caveat(end.line, quote, context.level, names, ends=one.ends, since=one.line))


def _chosen_names(context: Context, example: Example) -> frozenset[str]:
    """The declared symbols that an example says something of: those in front of the relations in its formulas."""
    heads = [_RELATION.split(one)[0] for one in example.formulas]
    return frozenset().union(*(declared_names(context, one, example.line) for one in heads))


def _sentences_behind(sentences: Sequence[Sentence], example: Example) -> Sequence[Sentence]:
    """The sentences of a paragraph that stand behind those of an example."""
    own = [k for k, one in enumerate(sentences) if one.line == example.line and set(one.formulas) & {*example.formulas}]
    start = own[-1] + 1 if own else 0
    return [one for one in sentences[start:] if one.line >= example.line]


def _is_general(context: Context, sentence: Sentence, names: frozenset[str]) -> bool:
    """Whether a sentence speaks of all values of what an example chose, or of all values at all."""
    if _IN_GENERAL.match(sentence.prose):
        return True
    prose = sentence.prose
    for found in _FOR_ALL.finditer(prose):
        place = prose[: found.end()].count("$$") - 1
        if place < len(sentence.formulas) and declared_names(context, sentence.formulas[place], sentence.line) & names:
            return True
    return False
