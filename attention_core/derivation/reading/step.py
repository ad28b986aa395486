r"""What reading makes of a document: steps, places that cannot be read, and words that are far from any step.

The words around a step are read, or leave it UNDECIDED. Words farther away (other sections, titles, comments, tags and
labels) say something of it only now and then ("The vectors of the next section are orthogonal."), and so do formulas
("In these notes, $A = A^\\top$."), so they are kept for steps that are found false: see `usual`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from attention_core.derivation.document.blocks import (
    Block,
    Display,
    Heading,
    Option,
    Paragraph,
    option_on,
    sentences_of,
)
from attention_core.derivation.latex.syntax import Chain, Expr
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.table_rows import relations_in_rows
from attention_core.derivation.records import BY_DISPLAY
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.caveats import is_goal, relation_in
from attention_core.derivation.words.paragraphs import is_declaration

_TAGGED = re.compile(r"\\(?:tag\*?|label)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_LABEL = compile_quick(r"\\label\s*\{([^{}]*)\}|\{#([^{}]*)\}")
_PERCENT = re.compile(r"(?m)(?<!\\)%+([^\n]*)$")
_FORMULA = re.compile(r"(?<!\\)\$[^$]*\$")
_MACRO = re.compile(r"\\[a-zA-Z]+\*?")
_NO_SIGNS = str.maketrans(dict.fromkeys("_:{}.-", " "))
_WORD = re.compile(r"[^\W\d_]{3}|\b(?:so|or)\b", re.IGNORECASE)
KEPT_WORDS = 2048  # how many sentences and paragraphs have their words kept
MAX_WORDS = 2000  # characters that are looked at in one piece: patterns with references take their square


@dataclass(frozen=True)
class FarWords:
    """Some words of a document: `words` without formulas, `quote` as they were written.

    A `title` names a topic: a heading. It speaks of the lines of its section, `until` that line; other words may speak
    of any.
    """

    line: int
    quote: str
    words: str
    title: bool = False
    until: int = sys.maxsize
    declares: bool = False  # they stand in a sentence that declares, and are about what it declares if they were read

    def may_mean(self, line: int, unread: Container[int]) -> bool:
        """Whether these words may be about a step on a line; unread: the lines of which something was not read."""
        if self.title:
            return self.line <= line < self.until
        return not self.declares or self.line in unread


@dataclass(frozen=True)
class FarRelation:
    """A relation that a document states in its prose, and its sentence; `denied` if words there may deny it."""

    line: int
    quote: str
    formula: str
    denied: bool = False


_DENIES = compile_quick(
    r"\b(?:unless|except|excluding|not|never|no|fails?|false|without|otherwise|else|outside|but|only|beyond|trivial|"
    r"nothing)\b",
    re.IGNORECASE,
)
_SET = re.compile(
    r"^\s*(?:(?:\\left\s*)?[(\[][^,]+,[^,]+(?:\\right\s*)?[)\]]|\\\{.+\\\}|"
    r"\\math(?:bb|bf)\s*\{?\s*[RNZQ]\s*\}?(?:\s*[_^].*)?)\s*$",
    re.DOTALL,
)
_RELATES = re.compile(
    r":=|\\(?:not|bmod|pmod|mid|nmid|leftarrow|gets|succ(?:eq)?|prec(?:eq)?|subset(?:eq)?|propto|equiv|parallel|"
    r"coloneqq|triangleq|cong|simeq)(?![a-zA-Z])"
)


def is_set(formula: str) -> bool:
    r"""Whether a formula is a set, or looks like one.

    Args:
        formula: The formula.

    Example:
        >>> [is_set(one) for one in (r"[0, \infty)", r"\mathbb{R}_+", r"\{0, 1\}", "f(x)")]
        [True, True, True, False]
    """
    return bool(_SET.match(formula))


def far_relations_in(blocks: Sequence[Block]) -> list[FarRelation]:
    """The relations that stand in prose and neither declare nor are a goal, in the order of the document.

    Args:
        blocks: The blocks of the document.
    """
    out: list[FarRelation] = []
    for block in blocks:
        if not isinstance(block, Paragraph | Heading):
            continue
        if isinstance(block, Paragraph):
            denied = bool(_DENIES.search(block.text))
            out += [FarRelation(*one, denied) for one in relations_in_rows(block)]
        declares = isinstance(block, Paragraph) and is_declaration(block)  # its relations are read there, not its sets
        for number, one in enumerate(sentences_of(Paragraph(block.line, block.text))):
            if isinstance(block, Paragraph) and (
                is_declaration(Paragraph(one.line, one.text)) or (declares and number == 0)
            ):
                continue  # "Let ..." after another sentence is read as well
            before = ""
            for place, part in enumerate(one.parts):
                if place % 2 == 0:
                    before += " " + part
                elif is_set(part) or (
                    not declares and (relation_in(part, one.line) or _RELATES.search(part)) and not is_goal(before)
                ):
                    out.append(FarRelation(one.line, one.text, part, bool(_DENIES.search(block.text))))
    return out


def far_words_in(text: str, blocks: Sequence[Block], more: Sequence[Paragraph] = ()) -> list[FarWords]:
    r"""The words of a document, in no order.

    Args:
        text: The document.
        blocks: Its blocks.
        more: Paragraphs as they were before words were taken from them.

    Example:
        >>> from attention_core.derivation.document.source import blocks_of
        >>> text = "# Rotations\n\n<!-- unit vectors -->\n\n$$ x = x \\tag{by norm} $$\n"
        >>> [one.words for one in far_words_in(text, blocks_of(text))]
        ['Rotations', 'by norm', 'unit vectors']
    """
    out = [piece for block in more for one in sentences_of(block) for piece in _pieces(one.line, one.text)]
    for place, block in enumerate(blocks):
        if isinstance(block, Heading):
            end = _end_of_section(blocks, place)
            out += [replace(one, title=True, until=end) for one in _pieces(block.line, block.text)]
        elif isinstance(block, Paragraph):
            sentences = sentences_of(block)
            for one in sentences:
                declares = is_declaration(Paragraph(one.line, one.text)) and one.end.strip() != "?"
                pieces = _pieces(one.line, one.text)
                out += [replace(piece, declares=True) for piece in pieces] if declares else pieces
            out += _pieces(block.line, block.text) if len(sentences) > 1 and not is_declaration(block) else []
        elif isinstance(block, Display):
            tags = (
                piece for found in _TAGGED.findall(block.text) for piece in _pieces(block.line, found.split(":")[-1])
            )
            out += [one for one in tags if " " in one.words]  # one word is a name of the step
    for found in _LABEL.finditer(text):  # of theorems and the like
        out += _pieces(1 + text.count("\n", 0, found.start()), found.group())
    for start, comment in comments_in(text):
        out += _pieces(1 + text.count("\n", 0, start), comment)
    for number, line in enumerate(text.splitlines(), 1):
        if "%" in line and option_on(line, number) is None:
            out += [piece for comment in _PERCENT.findall(line) for piece in _pieces(number, comment)]
    return [one for one in out if _WORD.search(one.words)]


def comments_in(text: str) -> Iterator[tuple[int, str]]:
    """Where the comments of HTML start, and what they hold; one that is never closed is none.

    Example:
        >>> list(comments_in("a <!-- b --> c <!-- d <!-- e"))
        [(2, ' b ')]
    """
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        yield start, text[start + 4 : end]
        at = end + 3


def _end_of_section(blocks: Sequence[Block], place: int) -> int:
    """The line of the heading that ends the section of one; that of a document has no end."""
    own = blocks[place]
    assert isinstance(own, Heading)
    ends = (one.line for one in blocks[place + 1 :] if isinstance(one, Heading) and one.level <= own.level)
    return sys.maxsize if place == 0 else next(ends, sys.maxsize)


def _pieces(line: int, text: str) -> list[FarWords]:
    """Some words, in pieces if they are many; the names of labels are words as well."""
    quote, words = _bare_words(text)
    return [FarWords(line, quote, words[start : start + MAX_WORDS]) for start in range(0, len(words), MAX_WORDS)]


@lru_cache(maxsize=KEPT_WORDS)
def _bare_words(text: str) -> tuple[str, str]:
    """A text on one line, and its words without formulas and commands."""
    labels = " ".join(" ".join(found) for found in _LABEL.findall(text))
    bare = _FORMULA.sub(" ", _LABEL.sub(" ", text)) + " " + labels
    words = " ".join((_MACRO.sub(" ", bare) if "\\" in bare else bare).translate(_NO_SIGNS).split())
    return " ".join(text.split()), words


@dataclass
class Step:
    """One relation to decide: its context, its two written sides, hypotheses of its own, options."""

    id: str
    line: int
    text: str
    context: Context
    left: Expr
    op: str
    right: Expr
    options: list[Option] = field(default_factory=list)
    assumed: list[tuple[Chain, list[Chain]]] = field(default_factory=list)
    conditions: tuple[Chain, ...] = ()
    chained: bool = False  # one of several relations of a chain
    quoted: tuple[str, ...] = ()  # reasons that hold a formula: they are named in the evidence, not checked
    restricts: bool = False  # it reads as a hypothesis
    later: list[Paragraph] = field(default_factory=list)  # those below in its section, for advice
    peers: list[Step | Unread] = field(default_factory=list, repr=False)  # all steps of the document
    far_words: Sequence[FarWords] = field(default_factory=list, repr=False)  # all words of the document
    far_relations: Sequence[FarRelation] = field(default_factory=list, repr=False)  # those that its prose states
    of: Chain | None = None  # the chain that it is a relation of
    beside: list[FarRelation] = field(default_factory=list, repr=False)  # in reasons and tags of its display
    companions: list[Step] = field(default_factory=list, repr=False)  # the other claims of its display
    opens: int = 0  # the line on which its display begins
    strange: str = ""  # why its section's readings do not fit it, if it is read by itself
    of_all_kinds: bool = False  # whether it holds whatever arrays its symbols are
    unread_words: tuple[str, ...] = ()  # words of its display that are not understood, and may say anything
    plain: Step | None = field(default=None, repr=False)  # as it stands, if it is read by its terms alone
    as_read: bool = False  # a person has confirmed what was read of it, see `reading.confirmed`
    tables: Step | None = field(default=None, repr=False)  # with joint tables in the place of laws, if it has any
    sharing: int = 1  # how many steps of the document are tested with random samples: they share alpha
    decided: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was found of this step, by how much was tried; a changed copy of it has none."""

    def option(self, key: str) -> str:
        """The value of an option, '' without."""
        return next((o.value for o in reversed(self.options) if o.key == key), "")

    def share_words(self, words: Sequence[FarWords], relations: Sequence[FarRelation]) -> None:
        """Set the words of the document and the relations of its prose, for all readings of the step."""
        for one in self._readings():
            one.far_words, one.far_relations = words, relations

    def share_peers(self, steps: list[Step | Unread]) -> None:
        """Set all steps of the document, for all readings of the step."""
        for one in self._readings():
            one.peers = steps

    def _readings(self) -> list[Step]:
        """The step, and as it is read by its terms alone and with joint tables, if it is."""
        return [self, *(one for one in (self.plain, self.tables) if one is not None)]

    def formulas(self) -> list[Expr | Chain]:
        """Its sides, its hypotheses and its conditions."""
        return [self.left, self.right, *(chain for chain, _ in self.assumed), *self.conditions]


@dataclass
class Unread:
    """A place that cannot be read."""

    id: str
    line: int
    text: str
    message: str
    options: list[Option] = field(default_factory=list)
    remark: bool = False  # it stands beside relations and has none
    sentence: bool = False  # it is prose, and states nothing that is checked


def without_defined(steps: list[Step | Unread], notes: Sequence[tuple[int, str]]) -> list[Step | Unread]:
    """The steps of a statement, without the equation that was noted as a definition; alone, it stays.

    Args:
        steps: The steps, as another reading of the statement has them.
        notes: What was understood of it at first, with lines.
    """
    defined = [text for _, text in notes if text.startswith(BY_DISPLAY)]
    kept = [one for one in steps if not any(text.startswith(f"{BY_DISPLAY}${one.text}$") for text in defined)]
    return kept or steps  # its value does not have the space that the statement says


def select_new(more: Sequence[tuple[int, str]], notes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """What was understood of a statement in another reading, without the definitions that were noted at first.

    Args:
        more: What was understood, with lines.
        notes: What was understood at first.

    Example:
        >>> select_new([(1, f"{BY_DISPLAY}$f(x) = x$ (of f)"), (1, "x")], [(1, f"{BY_DISPLAY}$f(x) = x$ (of f(x))")])
        [(1, 'x')]
    """
    defined = {(line, text.split("$ (")[0]) for line, text in notes if text.startswith(BY_DISPLAY)}
    return [one for one in more if one not in notes and (one[0], one[1].split("$ (")[0]) not in defined]
