r"""Which words stand in the scope of a step: those around its display, inside it, and in sentences about its symbols.

Words that lead into a display or go on after it, and words inside it, concern its steps whatever they name. Farther
up a sentence counts if it names a symbol, stands in a paragraph that declares, or says that it speaks of all that
follows.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Code, Display, Heading, Paragraph, Sentence, sentences_of
from attention_core.derivation.document.segments import ARROWS, BINDS, JOINS, bare
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.general_words import find_general
from attention_core.derivation.reading.sentence_caveats import (
    MAX_REASON,
    REASON,
    find_caveat,
    is_closed,
    is_known,
    names_of,
    topic_caveats,
    was_read,
)
from attention_core.derivation.reading.spelled_eigenvalues import keep_open
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.withdrawals import OTHERWISE, find_withdrawal
from attention_core.derivation.terms.context import Caveat, Context, Symbol
from attention_core.derivation.words.caveats import (
    caveats_of,
    declared_names,
    relation_in,
    shorten_quote,
)
from attention_core.derivation.words.headings import has_restricting_words, may_restrict
from attention_core.derivation.words.inert import NUMBERS
from attention_core.derivation.words.leftovers import conditional_words, left_over
from attention_core.derivation.words.paragraphs import is_declaration
from attention_core.derivation.words.phrase_patterns import (
    is_pattern,
    is_read_declaration,
    is_title,
    leads_to_value,
)
from attention_core.derivation.words.vocabulary import CONDITION, NOUN, PROPERTY

_FORMULAS = re.compile(r"(?<!\\)\$")
_UNIVERSAL = re.compile(
    r"\b(?:throughout|everything|everywhere|in (?:what follows|the (?:following|sequel|rest))|from (?:now|here) on|"
    r"henceforth|hereafter|suppos\w+|assum\w+|restrict\w*|in (?:this|these|our|the (?:present|rest of this)) "
    r"(?:\w+ )?(?:section|note|document|page|post|proof|chapter|article|subsection|lecture|paper|text|"
    r"tutorial)s?|always|(?:is|are) for|we (?:only |always )?"
    r"(?:consider|look at|deal with|work with|study|treat))\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"^\W*(?:here |below )?(?:all|every) (?:of (?:the|our) )?(?:hypothes[ie]s|assumptions?|conditions?)"
    r"(?: here| below)? "
    r"(?:is|are) (?:declared |written |stated |given |said )?(?:as |in |by )?(?:an? )?formulas?\W*$",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"^\W*(?:\(?[ivx\d]+[.)]\s*)?(?:the )?(?:special |simple |particular )?(?:cases?|when|if|for|assuming|with|without|"
    r"under|suppose|on|at|after|once|only|provided|unless)\b",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"^\W*(?:[a-z]|(?:This|Here|That|It|These|Note|Recall|Both|We used|Only|In (?:this|the|each|every)|The (?:\w+ )?"
    r"(?:equality|step|inequality|identity|bound|equation|relation|formula|equalities|steps|claim|line|result))\b)"
)
_WORDS_IN_DISPLAY = compile_quick(
    r"(?P<label>[_^]\s*\{?\s*)?\\(?:text|textrm|textit|textbf|textsf|texttt|mbox|hbox|intertext|shortintertext|"
    r"textnormal|"
    r"emph)\s*\{(?P<words>(?:[^{}]|\{[^{}]*\})*)\}"
)
_BRACES = re.compile(r"\\(?:underbrace|overbrace|underset|overset|stackrel|xrightarrow|xrightequal)\b")


_GENERAL = re.compile(
    r"\b(?:all|every|each|both|no|our|these|the two|any two) .*\b(?:is|are|be|has|have|lies?|stays?|remains?|sums?|"
    r"vanish(?:es)?|agrees?|coincides?|share[sd]?)\b",
    re.IGNORECASE,
)
_USED = re.compile(
    r"\b(?:have|has)(?= (?:used|taken|assumed|set|put|chosen|fixed|let|replaced|written)\b)", re.IGNORECASE
)
_UNEQUAL = re.compile(r"\\neq?(?![a-zA-Z])|\\not\b")


def words_of_paragraph(
    context: Context, paragraph: Paragraph, leads: bool, behind: bool = False
) -> tuple[list[Caveat], list[Caveat]]:
    """What the words of a paragraph leave open.

    Args:
        context: What is declared there, with this paragraph.
        paragraph: The paragraph.
        leads: Whether a display follows directly.
        behind: Whether a display stands right above it: then a comment that goes on after it is about that one alone.

    Returns:
        Caveats for all that follows in the section, and caveats for the next display alone.
    """
    declares = is_declaration(paragraph)
    lasting: list[Caveat] = []
    passing: list[Caveat] = []
    sentences = sentences_of(paragraph)
    for place, one in enumerate(sentences):
        named = names_of(one)
        if _PROMISE.match(one.prose):
            context.formal = context.level if context.formal is None else min(context.formal, context.level)
            continue
        last = leads and place == len(sentences) - 1
        ended = (find_withdrawal(context, one), find_general(context, one))
        lasting += [each for each in ended if each is not None] + _read_equations(context, one)
        lasting += keep_open(context, one)
        if OTHERWISE.match(one.prose):
            lasting.append(_contrary(context, one))
            continue
        found = find_caveat(context, one, named, was_read(context, one, declares), _is_bold(one), last)
        if found is None or (behind and place == 0 and not named and _COMMENT.match(one.prose)):
            continue
        alone = last and not (
            declares or named or _CONDITIONAL.match(one.prose) or is_closed(one) or _is_universal(one)
        )
        (passing if alone or found.value else lasting).append(found)
    return lasting, passing


def is_promise(prose: str) -> bool:
    """Whether a sentence promises that all hypotheses are formulas.

    Example:
        >>> is_promise("All hypotheses are declared as formulas.")
        True
    """
    return bool(_PROMISE.match(prose))


def _is_universal(sentence: Sentence) -> bool:
    """Whether a sentence speaks of all that follows, or of all things of a kind."""
    prose = sentence.prose
    return bool(_UNIVERSAL.search(prose) or (_GENERAL.search(prose) and NOUN.search(prose)))


def _contrary(context: Context, sentence: Sentence) -> Caveat:
    """What "Otherwise" leaves open: the contrary of a case above is assumed, whatever all hypotheses are written as."""
    quote, words = shorten_quote(sentence.text), (" ".join(sentence.prose.split()[:1]).strip(".,:"),)
    return Caveat(sentence.line, quote, context.level, None, words=words, plain=True, whole=True)


_EQUATES = re.compile(
    r"^\s*(?:now |then |again )?(?:be|is|are|equals?|becomes?)(?: now| then)?(?: equal to)?\s*$", re.I
)


def _read_equations(context: Context, sentence: Sentence) -> list[Caveat]:
    """The equations that a sentence writes with a word between two formulas: "Let $a$ be $1$."."""
    out: list[Caveat] = []
    for place in range(1, len(sentence.parts) - 2, 2):
        left, words, right = sentence.parts[place : place + 3]
        about = declared_names(context, left, sentence.line)
        plain = not any(relation_in(one, sentence.line) for one in (left, right))
        if plain and about and _EQUATES.match(words):
            quote = shorten_quote(sentence.text)
            out.append(Caveat(sentence.line, quote, context.level, about, f"{left} = {right}", written=True))
    return out + _relations_cut_short(context, sentence)


_GOES_ON = re.compile(r"^\s*(=|<=|>=|≤|≥|<|>|≠)\s*(-?\d+(?:\.\d+)?)(?![\w.]*\w)")
_SIGNS = {"<=": r"\le", "≤": r"\le", ">=": r"\ge", "≥": r"\ge", "≠": r"\ne"}


def _relations_cut_short(context: Context, sentence: Sentence) -> list[Caveat]:
    r"""The relations whose formula ends too early: "`$\|x\|$ = 1`"."""
    out: list[Caveat] = []
    for left, words in zip(sentence.parts[1::2], sentence.parts[2::2], strict=False):
        found, about = _GOES_ON.match(words), declared_names(context, left, sentence.line)
        if found and about and not relation_in(left, sentence.line):
            formula = f"{left} {_SIGNS.get(found[1], found[1])} {found[2]}"
            out.append(Caveat(sentence.line, shorten_quote(sentence.text), context.level, about, formula, written=True))
    return out


# Words after a display that say of it that it is a special case.
_SPECIAL = compile_quick(
    r"\b(?:the|our|its|their) (?:fully |most |more )?general (?:cases?|statements?|versions?|settings?|results?|"
    r"situations?|forms?)\b|\b(?:other|remaining|opposite|harder|second|third) cases?\b|\bmore generally\b|"
    r"\b(?:in|with) full generality\b|\bgenerali[sz]\w+",
    re.IGNORECASE,
)


def _says_special(context: Context, paragraph: Paragraph) -> list[Caveat]:
    """What a paragraph after a display leaves open for it where it turns to the general case."""
    return [
        Caveat(one.line, shorten_quote(one.text), context.level, None, whole=True)
        for one in sentences_of(paragraph)
        if _SPECIAL.search(one.prose)
    ]


_COMMENT = re.compile(r"^\s*(?:which is|which was|with equality)\b")  # in small letters: the display's sentence goes on
_OF_THE_WHOLE = re.compile(rf"{_UNIVERSAL.pattern}|\b(?:here|above|have (?:used|taken|assumed|set))\b", re.IGNORECASE)


def words_of_the_whole(context: Context, paragraph: Paragraph) -> list[Caveat]:
    """What unread sentences farther down in a section leave open, if they speak of all of it: "as always", "here".

    Args:
        context: What is declared above.
        paragraph: A paragraph below a display, but not the one right after it.
    """
    if is_declaration(paragraph):
        return []
    out: list[Caveat] = []
    for one in sentences_of(paragraph):
        if _OF_THE_WHOLE.search(one.prose) and not one.formulas:
            found = find_caveat(context, one, names_of(one), was_read(context, one, False))
            out += [found] if found is not None and found.whole else []
    return out + _says_special(context, paragraph)


def words_below(context: Context, paragraph: Paragraph, leads: bool) -> list[Caveat]:
    """What a paragraph leaves open for the display above it where other prose stands between.

    Args:
        context: What is declared above the display.
        paragraph: The paragraph.
        leads: Whether another display follows it: then its last sentence leads into that one.
    """
    if is_declaration(paragraph):
        return []
    sentences = sentences_of(paragraph)
    out: list[Caveat] = []
    for one in sentences[: len(sentences) - leads]:
        if not _PROMISE.match(one.prose):
            found = find_caveat(context, one, names_of(one), was_read(context, one, False))
            out += [] if found is None else [found]
    return out


def words_of_remark(context: Context, sentence: Sentence, declares: bool) -> list[Caveat]:
    """What a sentence of a section farther down leaves open for the steps above it.

    Args:
        context: What is declared above one of these steps.
        sentence: The sentence.
        declares: Whether its paragraph declares.
    """
    if _PROMISE.match(sentence.prose):
        return []
    named = names_of(sentence)
    found = find_caveat(context, sentence, named, declares)
    out = caveats_of(context, sentence) + ([] if found is None else [found])
    kept = [one for one in out if context.infers or not (named and one.names is None)]  # they may be declared by use
    return [replace(one, level=0, names=named or None) for one in kept]


def words_behind(context: Context, paragraph: Paragraph, leads: bool, read: bool) -> list[Caveat]:
    """What the words right after a display leave open.

    Args:
        context: What is declared there.
        paragraph: The paragraph.
        leads: Whether another display follows it: then its last sentence leads into that one.
        read: Whether its first sentence was read as a condition.
    """
    out = _says_special(context, paragraph)
    sentences = sentences_of(paragraph)
    for place, one in enumerate(sentences):
        if _PROMISE.match(one.prose):
            continue
        back = place == 0 and bool(_BACKWARD.match(one.prose.replace("$$", "x")))
        if leads and place == len(sentences) - 1 and not is_closed(one) and (not back or leads_to_value(one.prose)):
            continue
        words = find_caveat(context, one, names_of(one), was_read(context, one, False))
        if words is not None and read and place == 0:
            words = replace(words, whole=words.whole and not is_read_declaration(one.parts))
            words = words if words.words or words.maybe or words.whole else None
        out += [] if words is None else [words]
        if not (read and place == 0):
            out += _relations_behind(context, one)
    return out


def words_declared_behind(context: Context, after: Context, paragraph: Paragraph) -> list[Caveat]:
    """What a paragraph that declares leaves open for the display right above it: it may point either way.

    A sentence that declares a symbol of its own is about what follows, as far as it can be read.

    Args:
        context: What is declared above the display.
        after: What is declared with the paragraph.
        paragraph: The paragraph.
    """
    known = set(context.symbols)
    fresh = set(after.symbols) - known
    quote = shorten_quote(paragraph.text)
    out = [one for one in after.caveats if not any(one is old for old in context.caveats)]
    for name in known:
        old, new = context.symbols[name], after.symbols.get(name)
        if new is not None and new is not old and _narrows(new) and not _narrows(old):
            out.append(Caveat(paragraph.line, quote, context.level, frozenset({name}), random=new.law is not None))
    for one in after.hypotheses:
        if not any(one is old for old in context.hypotheses) and not one.mentions & fresh:
            out.append(Caveat(one.line, quote, context.level, frozenset(one.mentions & known) or None, one.text))
    for sentence in sentences_of(paragraph):
        if _PROMISE.match(sentence.prose):
            continue
        named = names_of(sentence)
        found = find_caveat(after, sentence, named, was_read(after, sentence, True))
        if found is not None and not (named & fresh and not named & known):
            out.append(found)
    return out


def _narrows(symbol: Symbol) -> bool:
    """Whether a declaration says more of a symbol than its shape."""
    bounds = (symbol.law, symbol.term, symbol.lower, symbol.upper)
    return bool(symbol.values) or any(one is not None for one in bounds)


def _relations_behind(context: Context, sentence: Sentence) -> list[Caveat]:
    """The relations of a sentence after a display; that one is excluded there says that it holds here."""
    parts = tuple(_USED.sub("", part) if place % 2 == 0 else part for place, part in enumerate(sentence.parts))
    found = [one for one in caveats_of(context, replace(sentence, parts=parts)) if one.formula]
    return [replace(one, formula="") if _UNEQUAL.search(one.formula) else one for one in found]


def words_inside(context: Context, display: Display) -> list[Caveat]:
    r"""What the words in a display leave open: `\text{...}`, but not labels of symbols such as `W_\text{out}`."""
    out: list[Caveat] = []
    for found in _WORDS_IN_DISPLAY.finditer(re.sub(r"(?m)(?<!\\)%[^\n]*", "", display.text)):
        before = display.text[: found.start()]
        braced = _BRACES.search(before[-200:]) and not re.search(r"\n\s*\n", before[-200:])
        if re.match(r"\s*(?:\\left|\\[bB]ig+l?)?\s*[(\[_^]", display.text[found.end() :]) and " " not in found.group(
            "words"
        ):
            continue  # `\\text{Var}[x]`, `\\text{loss}_i`: a name
        if found.group("label") and not (braced and re.search(r"\}\s*$", before)):
            continue
        parts = _FORMULAS.split(found.group("words"))
        found_words = words = left_over(parts, claims=False)
        if not CONDITION.match(found.group("words").strip()) or REASON.match(found.group("words")):
            words = tuple(word for word in words if not is_known(context, word))
        prose = " ".join("$$".join(parts[::2]).split())
        known = bool(found_words) and not words and len(prose.split()) <= MAX_REASON  # a reason that was assumed
        whole = not (
            known or _is_joint(prose) or is_pattern(prose) or REASON.match(prose) or is_read_declaration(parts)
        )
        if words or whole:
            line = display.line + before.count("\n")
            out.append(Caveat(line, shorten_quote(found.group("words")), context.level, None, words=words, whole=whole))
    return out + _words_of_tags(context, display)


def words_of_code(context: Context, code: Code) -> Caveat:
    """What code leaves open: it may compute what holds, or say it in a comment."""
    return Caveat(code.line, shorten_quote(code.text), context.level, None, whole=True)


_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")


def _words_of_tags(context: Context, display: Display) -> list[Caveat]:
    r"""The tags that may be a condition: `\tag{unit vectors}`, `\tag{$x \perp y$}`; not names of steps."""
    out: list[Caveat] = []
    for found in _TAG.finditer(display.text):
        tag = found.group(1).strip()
        if "$" in tag or (" " in tag and (PROPERTY.search(tag) or NOUN.search(tag))):  # one word is a name
            line = display.line + display.text.count("\n", 0, found.start())
            out.append(Caveat(line, shorten_quote(tag), context.level, None, words=(tag,)))
    return out


def _is_joint(words: str) -> bool:
    """Whether words in a display only join formulas, bind an index or stand for an arrow."""
    link = bare(words)
    return link in JOINS or link in BINDS or link in ARROWS or link in ("or", "otherwise", "else", "")


def words_of_heading(context: Context, heading: Heading) -> list[Caveat]:
    """What a heading leaves open for all below it: nothing if it names a subject, and all of it otherwise."""
    out: list[Caveat] = []
    if is_title(heading.text) or not may_restrict(heading.text):
        words = conditional_words((heading.text,))
        out = [Caveat(heading.line, shorten_quote(heading.text), context.level, None, maybe=words)] if words else []
        return out + topic_caveats(context, heading.text, heading.line)
    for one in sentences_of(Paragraph(heading.line, heading.text)):
        found = find_caveat(context, one, frozenset(), was_read(context, one, False), title=True)
        out += [] if found is None else [found]
    return out


def drop_counts(step: Step, headings: Container[int]) -> None:
    """Drop what headings say by a number or a kind of arrays alone, as "Two classes", for a step of numbers.

    Nothing in such a step is counted, and nothing in it is an array. One word in front of a display stands like a
    heading: "Rotations:".

    Args:
        step: The step; its context is changed.
        headings: The lines of the headings.
    """
    counts = [
        c
        for c in step.context.caveats
        if c.words and c.names is None and _is_count(c) and (c.line in headings or _ALONE.fullmatch(c.quote))
    ]
    if not counts:
        return
    known = step.context.symbols
    found = fresh = {*all_names(step.left), *all_names(step.right)} & set(known)
    while fresh:
        fresh = {name for one in fresh for name in known[one].mentions if name in known} - found
        found = found | fresh
    if all(_is_number(known[name]) and name not in step.context.inferred for name in found):
        step.context.caveats = [one for one in step.context.caveats if not any(one is each for each in counts)]


_ALONE = re.compile(r"\W*\w+\s*:\s*")
_KINDS = re.compile(r"(?:rotation|reflection|permutation)\w*", re.IGNORECASE)


def _is_count(caveat: Caveat) -> bool:
    """Whether all words of a caveat say how many there are of something, or which arrays."""
    return all(word.lower() in NUMBERS or _KINDS.fullmatch(word) for word in caveat.words)


def _is_number(symbol: Symbol) -> bool:
    """Whether a symbol is a number, or a function of numbers, and nothing that has a size or counts."""
    kind = symbol.type if symbol.term is None else symbol.term.type
    return symbol.kind in ("array", "definition", "function") and (kind is None or kind.scalar)


def names_document(heading: Heading, blocks: Sequence[Block]) -> bool:
    """Whether a heading is the title of its document, and no word of it may restrict a symbol: "Shifted scores".

    A title stands above all else and is the only heading of its level. It names what the document is about, in words
    of its own; those that are known to restrict, in headings too, leave it open all the same.

    Args:
        heading: The heading.
        blocks: All blocks of the document.
    """
    if not blocks or blocks[0] is not heading or heading.level != 1:
        return False
    if any(isinstance(one, Heading) and one.level == 1 for one in blocks[1:]):
        return False
    return not has_restricting_words(heading.text)


OPENS_CONDITION = re.compile(
    r"^\W*(?:for|if|when|whenever|provided|assuming|given|under|unless|except|as long as|only)\b", re.IGNORECASE
)  # in a display: it may hold for those below as well


def _is_bold(sentence: Sentence) -> bool:
    """Whether a line is set in bold and so is a title."""
    if not sentence.parts[0].lstrip().startswith(("**", "__")):
        return False
    return bool(re.match(r"^\s*(?:\*\*|__)[^*]+(?:\*\*|__)\W*$", "$$".join(sentence.parts[::2]) + sentence.end))
