r"""Sentences that take back what was assumed: "We drop this assumption.", "Now let $x \in \mathbb{R}$ be arbitrary."

A hypothesis holds until its section ends, and a document may end it earlier. That it does is never certain. So
after such a sentence no step is accepted that holds under the hypothesis alone: see `doubts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_SENTENCES, Block, Paragraph, Sentence, sentences_of
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.chosen_examples import Examples, find_examples
from attention_core.derivation.reading.general_words import is_example, widen
from attention_core.derivation.reading.labelled_blocks import LabelledBlocks, find_labels
from attention_core.derivation.reading.list_items import ListItems
from attention_core.derivation.terms.context import Caveat, Context, Independence
from attention_core.derivation.words.caveats import declared_names, shorten_quote
from attention_core.derivation.words.paragraphs import says_domain
from attention_core.derivation.words.phrase_patterns import is_joint

_ASSUMPTION = r"(?:assum\w+|conditions?|hypothes[ie]s|restrictions?|constraints?|requirements?)"
_TAKES_BACK = compile_quick(
    r"\b(?:drop(?:s|ped|ping)?|remov(?:e[sd]?|ing)|lift(?:s|ed|ing)?|relax(?:es|ed|ing)?|discard(?:s|ed|ing)?|"
    r"abandon(?:s|ed|ing)?|waiv(?:e[sd]?|ing)|withdraw\w*|give(?:s|n)? up|forget|do(?:es)? without|dispens\w+)\b"
    rf"[^.;]*?\b(?:{_ASSUMPTION}|it|this|that)\b|\b{_ASSUMPTION}\b[^.;]*?\b(?:is|are|can be|may be|will be) "
    r"(?:now |then |no longer |not )?(?:dropped|removed|lifted|relaxed|discarded|needed|superfluous|assumed)\b|"
    r"\b(?:suppose|assume) (?:now |instead |next )?(?:not\b|(?:that )?(?:this|it|that) is not\b)|"
    r"\b(?:need|does|do|may) not (?:always |necessarily )?hold\b|\b(?:is|are) not the case\b|"
    r"\bthe (?:non-?trivial|general|generic|other|opposite) (?:case|situation|setting)s?\b|"
    r"\bthe next (?:exercise|problem|question)\b|"
    r"\bno longer (?:assume|require|need|suppose|restrict|insist)\w*|\b(?:need|does|do) not (?:necessarily )?be\b|"
    rf"\bwithout (?:this|that|the|these|any|our) (?:\w+ )?{_ASSUMPTION}\b|\bmay (?:now |also )+be\b|"
    r"\bnow[^.;]{0,20}\bmay be\b|"
    r"\b(?:in|with) (?:full |complete )?generality\b|\b(?:now|next)[^.;]*\b(?:any|every|all)\b|"
    r"^\W*(?:but |and )?in general\W*(?:we (?:have|get)\W*)?$|"
    r"\bback to\b|\breturn(?:s|ing)? to\b|\bfor (?:a |an )?(?:general|arbitrary) \$\$|\bthe general case\b|"
    r"\b(?:in|for|combining|by) (?:both|either|all|any|every|each|these|the (?:two|three)) (?:\w+ )?cases?\b",
    re.IGNORECASE,
)
_PROPERTY = (
    r"(?:symmetric|orthogonal|orthonormal|diagonal|triangular|invertible|definite|semidefinite|stochastic|convex|binary|"
    r"one-hot|normali[sz]ed|independent)"
)
_QUALITY = (
    r"(?:symmetry|orthogonality|orthonormality|normali[sz]ation|independence|positivity|nonnegativity|convexity|"
    r"invertibility|definiteness|stochasticity)"
)
# "If $A$ is not symmetric," "Without symmetry we have", "Symmetry was not used here"
_LACKS = compile_quick(
    rf"\b(?:not|no longer|never)(?: (?:necessarily|always|assumed|required|to be|an?|\w+ly))* {_PROPERTY}\b|"
    rf"\bnon-?{_PROPERTY}\b(?! (?:entr|element|part|term))|\b(?:asymmetric|unsymmetric|indefinite|unnormali[sz]ed)\b|"
    r"\b(?:without|dropping|relaxing|lacking|beyond|not using|no|no longer using)(?: (?:the|any|this|\w+ing))* "
    rf"{_QUALITY}\b|\b{_QUALITY}\b[^.;]*?\b(?:is|was|are|were|need|does) (?:not|never|nowhere)\b",
    re.IGNORECASE,
)
# Words for the case that is the contrary of the one above.
OTHERWISE = re.compile(
    r"^\W*(?:and |but |now )?(?:otherwise|else|if not|(?:in|for) the (?:other|opposite|remaining|second) case)\b",
    re.IGNORECASE,
)
_INSTEAD = compile_quick(
    r"\b(?:assume|suppose|let)\b[^.;]*\binstead\b|\binstead\b[^.;]*\b(?:assume|suppose|let)\b|"
    r"\b(?:assum|suppos)(?:e|es|ing)\s+(?:now\s+)?(?:that\s+)?(?:just|only|merely)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(r"\b(?:arbitrary|general|any|every|each|all)\b", re.IGNORECASE)
_REAL = re.compile(r"\b(?:real|number|vector|matrix|arbitrary|general)\b", re.IGNORECASE)
_INTRODUCES = re.compile(
    r"^\W*(?:(?:now|next|then|so|finally|again)\W+)*(?:(?:we|let us|one) )?(?:can |may |now )*"
    r"(?:let|fix|take|consider|pick|choose|for|given)\b",
    re.IGNORECASE,
)
_SUBSCRIPT = re.compile(r"_\s*(?:\{[^{}]*\}|\\?[a-zA-Z0-9]+)")
_DOMAIN_OF = re.compile(r"^(.*?)\\in\b")


def find_withdrawal(context: Context, sentence: Sentence) -> Caveat | None:
    """What a sentence takes back of what is assumed above it, None if it takes nothing back.

    Args:
        context: What is declared there.
        sentence: The sentence.
    """
    symbols = context.symbols
    kept = context.hypotheses or any(one.law is not None and one.law.independent for one in symbols.values())
    if not kept and not any(_is_narrow(context, name) or is_example(symbols[name]) for name in symbols):
        return None
    formulas = sentence.formulas
    takes_back, instead, introduces = _read_words(sentence.prose)
    if not takes_back and not instead and not introduces:
        return None
    names = frozenset().union(*(declared_names(context, one, sentence.line) for one in formulas))
    if takes_back:
        return Caveat(sentence.line, shorten_quote(sentence.text), context.level, names or None, ends=sentence.line)
    if instead:  # what it says itself holds
        return Caveat(sentence.line, shorten_quote(sentence.text), context.level, None, ends=sentence.line - 1)
    names = frozenset(name for name in names if context.symbols[name].line < sentence.line)  # not declared anew
    if not names or not introduces:
        return None
    domains = [one for one in formulas if says_domain(one, sentence.line, False)]
    anew = frozenset().union(*(declared_names(context, _variables(one), sentence.line) for one in domains))
    if _GENERAL.search(sentence.prose) and _REAL.search(sentence.prose):
        anew |= {
            name
            for one in formulas
            if "\\in" not in one
            for name in declared_names(context, _variables(one), sentence.line)
        }
    anew &= names
    if not anew:
        return None
    return Caveat(sentence.line, shorten_quote(sentence.text), context.level, anew, ends=sentence.line - 1)


@lru_cache(maxsize=KEPT_SENTENCES)
def _read_words(prose: str) -> tuple[bool, bool, bool]:
    """Whether words take back what is assumed, put something else in its place, or introduce symbols."""
    takes_back = bool(_TAKES_BACK.search(prose) or _LACKS.search(prose) or OTHERWISE.match(prose))
    return takes_back, bool(_INSTEAD.search(prose)), bool(_INTRODUCES.match(prose))


def _variables(domain: str) -> str:
    """What a domain is given for; a subscript is not."""
    found = _DOMAIN_OF.match(domain)
    return _SUBSCRIPT.sub("", domain if found is None else found.group(1))


def _is_narrow(context: Context, name: str) -> bool:
    symbol = context.symbols[name]
    return symbol.lower is not None or symbol.upper is not None or bool(symbol.values)


def drop_ended_assumptions(context: Context, names: frozenset[str]) -> tuple[Context, Caveat] | None:
    """A context without the assumptions that may have ended, and what may end them; None if nothing does.

    Args:
        context: What is declared and assumed.
        names: The symbols of a step.
    """
    out, last = context.copy(), None
    for one in (c for c in context.caveats if c.ends):
        about = names if one.names is None else names & one.names
        for kept in [h for h in out.hypotheses if one.since <= h.line <= one.ends and h.mentions & about]:
            if one.names is None or kept.mentions & one.names:
                out.hypotheses = [h for h in out.hypotheses if h is not kept]
                last = one
        if _end_independence(out, one, about):
            last = one
        for name in about & set(out.symbols):
            symbol = out.symbols[name]
            narrow = _is_narrow(out, name) or (one.names is not None and is_example(symbol))
            if one.since <= symbol.line <= one.ends and narrow:
                out.symbols[name] = widen(symbol)
                last = one
    return None if last is None else (out, last)


def _end_independence(context: Context, caveat: Caveat, about: frozenset[str]) -> bool:
    """Drop what is said to be independent, as far as a caveat may end it; whether there was anything."""

    def ends(one: Independence) -> bool:
        names = one.families.union(*one.blocks)
        return caveat.since <= one.line <= caveat.ends and bool(names & about)

    return context.end_independence(ends)


def without_older(context: Context, line: int, names: frozenset[str]) -> Context | None:
    """A context without the hypotheses above a line about some symbols, None if there is none.

    Args:
        context: What is declared and assumed.
        line: The line.
        names: The symbols.
    """
    older = [one for one in context.hypotheses if one.line < line and one.mentions & names]
    if not older:
        return None
    out = context.copy()
    out.hypotheses = [one for one in out.hypotheses if not any(one is old for old in older)]
    return out


_TEMPORARY = compile_quick(
    r"\b(?:for (?:now|the moment|a moment|the time being)|momentarily|temporarily|for (?:this|the next) (?:step|"
    r"display|formula|equation|line|computation|calculation|paragraph)|"
    r"for (?:a |the sake of (?:a )?)?(?:contradiction|argument)|(?:to|on) the contrary|towards? a contradiction)\b",
    re.IGNORECASE,
)
_REACHES_ABSURDITY = re.compile(r"\b(?:contradict\w*|absurd\w*|impossible|cannot be)\b", re.IGNORECASE)
"""Words that end a proof by contradiction, also where they begin with "Hence"."""


_SUPPOSES = re.compile(r"\b(?:suppos\w+|assum(?:e[sd]?|ing)|if)\b", re.IGNORECASE)
_ABSURD = compile_quick(
    r"\b(?:contradict(?:s|ion|ory|ing)|absurd\w*|reductio)\b|\b(?:is|are|was|would be) (?:clearly |plainly |then )?"
    r"(?:impossible|false|wrong|untenable)\b|\bcannot (?:be|hold|happen|occur|both)\b|\bcan(?:'t|not| not) be true\b",
    re.IGNORECASE,
)


# "Given $x > 0$, the function grows." says what holds under a condition; a sentence that introduces, defines or asks
# goes on with what it names.
_UNDER = re.compile(
    r"^\W*(?:(?:and|but|now|so|hence|thus|then|also|moreover|conversely)\W+)*(?:given|assuming|supposing|provided|"
    r"providing|granted)(?:\s+that)?\s+\$\$(?:\s*(?:,|,?\s*and)\s*\$\$)*\s*,\s*(?P<clause>.+)$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^\W*(?:let|put|set|define|denote|write|consider|take|fix|find|show|prove|compute|recall|draw|choose|pick|"
    r"min\w+|max\w+)\b|\b(?:follow\w*|below|defin\w+|denot\w+|problems?|tasks?|goals?|aims?|questions?|given by|"
    r"call\w*|let)\b|\b(?:we|us|you|i|one)\s+(?!(?:\w+ly\s+|then\s+|also\s+)*(?:have|has|get|gets|see|sees|know|"
    r"knows|find|finds|obtain|obtains|conclude|concludes)\b)",
    re.IGNORECASE,
)
_RELATES = re.compile(r"[=<>]|\\(?:leq?|geq?|neq?|leqslant|geqslant)(?![a-zA-Z])")


def find_passing_conditions(context: Context, paragraph: Paragraph) -> list[tuple[Caveat, bool]]:
    """The conditions under which a sentence says something: they hold in its paragraph alone.

    Args:
        context: What is declared there.
        paragraph: The paragraph.

    Returns:
        Each as the caveat that takes it back, and whether it does so at the end of the paragraph, and not behind the
        display that the paragraph leads into.
    """
    sentences = sentences_of(paragraph)
    out = []
    for place, one in enumerate(sentences):
        if not (found := _UNDER.match(one.prose)) or not re.match(r"\s*[.;!]", one.end):
            continue
        count = found.string[: found.start("clause")].count("$$")
        conditions, others = one.formulas[:count], one.formulas[count:]
        if _GOES_ON.search(found["clause"]) or any(map(_RELATES.search, others)):
            continue
        names = frozenset().union(*(declared_names(context, each, one.line) for each in conditions))
        if names and all(map(_RELATES.search, conditions)):
            last = one.line + sum(part.count("\n") for part in one.parts)
            caveat = Caveat(one.line, shorten_quote(one.text), context.level, names, since=one.line, ends=last)
            out.append((caveat, all(re.match(r"\s*[.;!?]", each.end) for each in sentences[place:])))
    return out


@dataclass
class Passing:
    """What a document assumes for a while, each as the caveat that takes it back."""

    temporary: Caveat | None = None  # for the moment: it ends after its displays
    under: list[Caveat] = field(default_factory=list)  # conditions of one sentence: they end with its paragraph
    supposed: Caveat | None = None  # supposed last: it ends where that turns out to be absurd
    examples: Examples = field(default_factory=Examples)  # what one chooses ends where the text goes on to all values
    items: ListItems = field(default_factory=ListItems)  # of lists: what one supposes ends where the next begins
    labels: LabelledBlocks = field(default_factory=LabelledBlocks)  # what one assumes ends where the next begins

    @classmethod
    def start(cls, text: str, blocks: Sequence[Block]) -> Passing:
        """Nothing assumed yet, at the start of a document.

        Args:
            text: The document.
            blocks: Its blocks as they are written.
        """
        return cls(examples=Examples(find_examples(blocks)), labels=LabelledBlocks(find_labels(text)))

    def end_temporary(self, context: Context, paragraph: Paragraph, shown: Iterable[int]) -> None:
        """Take back what was assumed for the moment, where a display stands after it and the text does not go on.

        Args:
            context: What is declared there; the caveat is added to it.
            paragraph: The paragraph.
            shown: The lines of the steps of the last display.
        """
        context.caveats += self.under
        self.under = []
        one = self.temporary
        if one is None or not any(line > one.ends for line in shown):
            return
        if is_joint(paragraph.text) and not _REACHES_ABSURDITY.search(paragraph.text):
            return
        context.caveats.append(one)
        self.temporary = None

    def restart(self) -> None:
        """Begin a section: nothing is assumed for a while."""
        self.temporary = self.supposed = None
        self.under, self.examples.open, self.items.open = [], [], []

    def enter(self, context: Context, paragraph: Paragraph, assumes: bool, shown: int) -> None:
        """Note what a paragraph assumes for a while, and take back what it says is absurd.

        Args:
            context: What is declared there, with this paragraph; a caveat may be added to it.
            paragraph: The paragraph.
            assumes: Whether it brings hypotheses.
            shown: The last line of a display above it, 0 if there is none.
        """
        for one, closed in find_passing_conditions(context, paragraph) if assumes else ():
            (context.caveats if closed else self.under).append(one)
        self.examples.enter(context, paragraph, shown)
        self.temporary = _find_temporary(context, paragraph) or self.temporary
        self.supposed = (_find_supposed(context, paragraph) if assumes else None) or self.supposed
        if self.supposed is not None and _is_absurd(paragraph, self.supposed):
            context.caveats.append(self.supposed)
            self.supposed = None


def _find_temporary(context: Context, paragraph: Paragraph) -> Caveat | None:
    """What a paragraph assumes for the moment alone, as a caveat for what follows its displays."""
    if not _TEMPORARY.search(paragraph.text):
        return None
    found = [one for one in sentences_of(paragraph) if _TEMPORARY.search(one.prose)]
    if not found:
        return None
    quote, last = shorten_quote(found[0].text), paragraph.line + paragraph.text.count("\n")
    return Caveat(paragraph.line, quote, context.level, None, since=paragraph.line, ends=last)


def _find_supposed(context: Context, paragraph: Paragraph) -> Caveat | None:
    """What a paragraph supposes, as a caveat for what follows if that turns out to be absurd."""
    found = [one for one in sentences_of(paragraph) if _SUPPOSES.search(one.prose) and one.formulas]
    if not found:
        return None
    quote, last = shorten_quote(found[-1].text), paragraph.line + paragraph.text.count("\n")
    return Caveat(found[-1].line, quote, context.level, None, since=found[0].line, ends=last)


def _is_absurd(paragraph: Paragraph, supposed: Caveat) -> bool:
    """Whether a paragraph says that what was supposed, there or above, cannot be: "Then we get a contradiction"."""
    prose = [_TEMPORARY.sub(" ", one.prose) for one in sentences_of(paragraph)]  # "Suppose for contradiction"
    places = [place for place, one in enumerate(prose) if _SUPPOSES.search(one)]
    first = places[0] if places and paragraph.line <= supposed.line else 0
    return any(_ABSURD.search(one) for one in prose[first:])
