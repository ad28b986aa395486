r"""Assumptions in prose that no declaration opens: "We assume that ...", "For $\mu = 0$:", "if $A$ is symmetric".

What a sentence assumes for all that follows is read like a declaration. A condition that leads into a display, or goes
on after it, holds for that display alone; for the displays below it stays a caveat, as its reach is not known.
What is read must be understood to the last word that could restrict a symbol; else it is left as a caveat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Paragraph, Sentence, sentences_of
from attention_core.derivation.inference.described import Described
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.assuming_sentences import speaks_of_elsewhere
from attention_core.derivation.reading.declared_anew import declare_anew
from attention_core.derivation.reading.properties import PROPERTIES
from attention_core.derivation.reading.statements import is_open, statement_of
from attention_core.derivation.terms.context import Caveat, Context, Hypothesis, Symbol
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import SIGNS, caveats_of, declared_names, relation_in, shorten_quote
from attention_core.derivation.words.leftovers import left_over
from attention_core.derivation.words.paragraphs import is_declaration
from attention_core.derivation.words.role_phrases import kind_of_role
from attention_core.derivation.words.vocabulary import ASSUMES, CONDITION, GOAL, PROPERTY

_DECLARES = (
    "let", "assume", "assumes", "assuming", "suppose", "supposing", "require", "requires", "consider", "take", "fix",
    "choose", "pick", "set", "put", "draw", "define", "given", "restrict", "denote", "write", "sample", "introduce",
)  # fmt: skip
_DEFINES = {"define": "Define", "put": "Put", "set": "Put", "write": "Put", "denote": "Put", "introduce": "Let",
            "let": "Let", "take": "Let", "fix": "Let", "choose": "Let", "pick": "Let", "consider": "Let",
            "draw": "Draw", "sample": "Draw"}  # fmt: skip
_UNREAD = (
    "unless", "except", "since", "because", "as", "once", "while", "such that", "using", "whose", "having", "let",
    "where", "satisfying",
)  # fmt: skip
_BACK = re.compile(
    r"^\W*(?:(?:and|so|hence|thus|then|therefore|also|again|moreover|furthermore|similarly|likewise)\b\W*)*"
    r"(?:(?:still )?(?:in|under|with) (?:this|that|these|those|the same) (?:case|assumptions?|conditions?|"
    r"hypothes[ie]s|"
    r"setting|choices?)\b|(?:and|so|hence|thus|then|therefore|also|or|that is|i\.e\.|which (?:gives|is|yields|"
    r"means|equals)|"
    r"it follows(?: that)?|so that|and so|and hence|we (?:get|have|obtain|find)|further)\W*$)",
    re.IGNORECASE,
)
_BACK_TO_CASE = re.compile(
    r"^\W*(?:\w+\W+)?(?:(?:still )?(?:in|under|with) (?:this|that|these|those|the same) )\w", re.IGNORECASE
)
_MAIN = re.compile(
    r"(?<=\$)\s+(?:this|it|that|the|we|one|both|they|these|gives?|yields?|leads?|reduces?|becomes?|simplif\w+|makes?|"
    r"shows?|results?|turns?|implies)\b|"
    r"[,;:]?\s*\bthen\b|[,;:]\s*(?:we|it|this|the|that|one|there|so|our|they|these|all|both|both sides|i|you)\b|:\s*|"
    r"\b(?:we|one|you) (?:also |then |thus )?(?:have|get|gets|has|obtain|obtains|find|finds|see|can|may|know|"
    r"arrive)\b|[,;]\s*$",
    re.IGNORECASE,
)
# Words that assume without a verb, and words that only say for how long or why something is assumed.
_SIMPLY = re.compile(
    r"^\W*(?:w\.?l\.?o\.?g\.?|without (?:any )?loss of generality|for (?:simplicity|convenience|concreteness|"
    r"brevity)|"
    r"throughout(?: this (?:section|note|post|page|proof))?|from (?:now|here) on|henceforth|hereafter|in what follows|"
    r"in the sequel|by assumption)\b[\s,:]*",
    re.IGNORECASE,
)
_ASIDES = re.compile(
    r",?\s*\b(?:for (?:simplicity|convenience|concreteness|brevity|now)|without (?:any )?loss of generality|"
    r"throughout|"
    r"from (?:now|here) on|in (?:this|the rest of this) (?:section|note|post|page|proof)|here|as usual|below)\b",
    re.IGNORECASE,
)
_TRAILS = re.compile(
    r"^[\s,;(]*(?:but )?(?:only )?(?:if|when|whenever|for|assuming|provided|providing|under|as long as|so long "
    r"as|with|given|in case|"
    r"unless|except|supposing|subject|once|because|since|while)\b"
)
_USES = compile_quick(
    r"\b(?:used|uses|using|holds? (?:only )?(?:if|when|for|under|because)|valid|requires?|needs?|relies|"
    r"assum\w+|provided|"
    r"throughout)\b",
    re.IGNORECASE,
)


# What goes on beyond a condition, in front of it, after it, or in the sentence after that.
_BEYOND_BEFORE = re.compile(
    r"\b(?:not|never|even|also|without|regardless|irrespective|whether|beyond|nor|neither)\b(?:\W+\w+){0,2}\W*$",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:otherwise|else|in general|also (?:if|when|for|in|without|not)|and beyond|or not|as well|likewise|too|"
    r"(?:all|any|every|the|most) other (?:cases?|values?)|everywhere|anyway|anyhow|in (?:any|either|both|every|"
    r"all) (?:cases?|events?)|the (?:same|converse) (?:is|holds|goes|applies))\b",
    re.IGNORECASE,
)
_FORMULAS = re.compile(r"(?<!\\)\$")


def read_prose(context: Context, paragraph: Paragraph, leads: bool) -> list[Hypothesis]:
    """Read a paragraph that is not a declaration; what leads into a display comes back as its hypotheses.

    Args:
        context: What is declared there; assumptions and caveats are added to it.
        paragraph: The paragraph.
        leads: Whether a display follows directly.
    """
    sentences = sentences_of(paragraph)
    local: list[Hypothesis] = []
    for place, one in enumerate(sentences):
        last = leads and place == len(sentences) - 1 and not re.search(r"[.;?!]", one.end)
        opened = ASSUMES.match(one.prose)
        conditions = _condition(context, one) if last else None
        stated = _state(context, one, last, sentences) if conditions is None else None
        if conditions is not None:
            local += conditions
        elif stated is not None:
            local += stated
        elif one.formulas and (opened or _SIMPLY.match(one.prose)) and _assume(context, one):
            continue
        else:
            context.caveats += caveats_of(context, one, last)
    return local


def _state(context: Context, sentence: Sentence, leads: bool, around: list[Sentence]) -> list[Hypothesis] | None:
    """Read a statement about symbols: what holds for the next display alone, None where it is not read.

    Args:
        context: What is declared there; what holds from here on is added to it.
        sentence: The sentence.
        leads: Whether it leads into a display.
        around: The sentences of its paragraph; where one of them announces a claim, a statement may be that claim.
    """
    found = statement_of(sentence.parts, leads)
    if found is None or sentence.end.strip() == "?":
        return None
    if not found.assumes and (not is_open(context, found) or any(GOAL.search(one.prose) for one in around)):
        return None
    hypotheses = commit_assumption(context, f"Assume that {found.text}.", sentence.line, laws=not found.reason)
    if hypotheses is None or found.reason:
        return hypotheses
    context.hypotheses += hypotheses
    return []


def split_paragraph(paragraph: Paragraph, leads: bool) -> tuple[Paragraph | None, Paragraph | None]:
    """A declaration, and prose: the last sentence of a declaration may be a condition of the display below it."""
    if not is_declaration(paragraph):
        return None, paragraph
    sentences = sentences_of(paragraph)
    last = sentences[-1]
    opens = CONDITION.match(last.prose) and not re.match(r"(?i)where|with", last.prose)
    if not leads or len(sentences) < 2 or re.search(r"[.;?!]", last.end) or not opens:
        return paragraph, None
    head = paragraph.text[: last.start]
    line = paragraph.line + head.count("\n")
    return Paragraph(paragraph.line, head), Paragraph(line, paragraph.text[last.start :])


def reads_on(context: Context, paragraph: Paragraph, held: list[Hypothesis]) -> bool:
    """Whether a paragraph between two displays only joins them: "and", "so that", "In this case,".

    Args:
        context: What is declared there.
        paragraph: The paragraph.
        held: What was assumed for the display above: a case that was not read does not go on.
    """
    text = " ".join(paragraph.text.split())
    if "$" in text or SIGNS.search(text) or not _BACK.match(text):
        return False
    return not _BACK_TO_CASE.match(text) or bool(held or context.hypotheses or _has_ranges(context))


def _has_ranges(context: Context) -> bool:
    return any(s.law or s.lower or s.upper or s.values for s in context.symbols.values())


def read_behind(context: Context, paragraph: Paragraph, leads: bool) -> tuple[list[Hypothesis], list[Caveat]]:
    """What a paragraph right after a display says of that display: the condition it goes on with, and caveats.

    Args:
        context: What is declared there.
        paragraph: The paragraph.
        leads: Whether another display follows it.
    """
    local: list[Hypothesis] = []
    caveats: list[Caveat] = []
    sentences = sentences_of(paragraph)
    for place, one in enumerate(sentences):
        if leads and place and place == len(sentences) - 1 and not one.end:
            continue  # belongs to the next display
        if not place and _TRAILS.match(one.prose):
            goes_on = any(_BEYOND.search(more.prose) for more in sentences[1:])
            found = None if goes_on else _condition(context, one)
            local += found or []
            caveats += caveats_of(context, one, True) if found is None else []
        elif _USES.search(one.prose):
            caveats += caveats_of(context, one)
    return local, caveats


def later(hypotheses: list[Hypothesis], context: Context) -> list[Caveat]:
    """Hypotheses of one display as caveats of the displays below it."""
    return [
        Caveat(
            h.line, h.text, context.level, frozenset(h.mentions & set(context.symbols)) or None, h.text, written=True
        )
        for h in hypotheses
    ]


def _raw(sentence: Sentence) -> str:
    return "$".join(sentence.parts)


def _blank_formulas(raw: str) -> str:
    """The text with formulas blanked out, place by place."""
    parts = _FORMULAS.split(raw)
    return "$".join(part if place % 2 == 0 else "\1" * len(part) for place, part in enumerate(parts))


def _assume(context: Context, sentence: Sentence) -> bool:
    """Read a sentence that assumes for all that follows; nothing is changed where that fails."""
    raw = _raw(sentence)
    first = _FORMULAS.split(raw)[0]
    found, simply = ASSUMES.match(first), _SIMPLY.match(first)
    if found is not None and speaks_of_elsewhere(found[0]):
        return False
    if found is not None and found.group("verb").lower() in _DECLARES:
        verb, rest = _DEFINES.get(found.group("verb").lower(), "Assume"), raw[found.end() :]
    elif simply is not None:
        verb, rest = "Assume", raw[simply.end() :]
    else:
        return False
    pieces = _FORMULAS.split(rest)
    pieces[::2] = [_ASIDES.sub("", piece) for piece in pieces[::2]]
    text = f"{verb} {'$'.join(pieces)}."
    hypotheses = commit_assumption(context, text, sentence.line)
    if hypotheses is None and verb == "Let":
        return declare_anew(context, sentence, text)
    context.hypotheses += hypotheses or []
    return hypotheses is not None


def _condition(context: Context, sentence: Sentence) -> list[Hypothesis] | None:
    """The hypotheses of the condition in a sentence around a display; None where there is none that can be read."""
    raw = _raw(sentence)
    masked = _blank_formulas(raw)
    for found in CONDITION.finditer(masked):
        word = " ".join(found.group("word").lower().split())
        if word in _UNREAD:
            return None
        cut = _MAIN.search(masked, found.end())
        end = cut.start() if cut else len(masked)
        condition = raw[found.end() : end]
        if "$" not in condition or not (
            any(relation_in(f, sentence.line) for f in _FORMULAS.split(condition)[1::2])
            or PROPERTY.search(masked[found.end() : end])
            or any(one.pattern.search(masked[found.end() : end]) for one in PROPERTIES)
        ):
            continue
        others = [raw[: found.start()], raw[end:]]
        if _BEYOND_BEFORE.search(masked[: found.start()]) or _BEYOND.search(masked):
            return None
        if any(caveats_of(context, one) for text in others for one in sentences_of(Paragraph(sentence.line, text))):
            return None
        return commit_assumption(context, f"Assume {condition}.", sentence.line)
    return None


def _draws(old: Symbol, new: Symbol | None) -> bool:
    """Whether a symbol only gained a law."""
    if new is None or old.law is not None or new.law is None:
        return False
    return (old.kind, old.type, old.lowest, old.highest) == (new.kind, new.type, new.lowest, new.highest)


def _repeats(old: Symbol, new: Symbol | None) -> bool:
    """Whether a symbol was declared once more as what it is."""
    return new is not None and new.term is None and replace(new, line=old.line, level=old.level) == old


_BOUNDED = re.compile(
    r"(?<!\\)\$\s*(?P<name>\\?[A-Za-z]+)\s*\\in\s*(?P<open>[\[(])\s*(?P<low>[^\[\](),]+?)\s*,\s*"
    r"(?P<high>[^\[\](),]+?)\s*(?P<close>[\])])\s*\$"
)


def _spell_bounds(context: Context, text: str) -> str:
    r"""The text with the bounds of numbers that are declared already in the place of `x \in [0, 1]`."""

    def write(found: re.Match[str]) -> str:
        symbol = context.symbols.get(found["name"])
        if symbol is None or symbol.kind != "array" or symbol.type is None or not symbol.type.scalar:
            return found[0]
        low, high = ("<" if found[end] in "()" else r"\le" for end in ("open", "close"))
        return f"${found['low']} {low} {symbol.name} {high} {found['high']}$"

    return _BOUNDED.sub(write, text)


def commit_assumption(context: Context, text: str, line: int, laws: bool = False) -> list[Hypothesis] | None:
    """Declare a text if every word and relation in it is understood.

    Args:
        context: What is declared; it is changed where that succeeds.
        text: The text.
        line: Its line.
        laws: Whether it may draw a symbol that is declared as an array.

    Returns:
        The hypotheses that it brings, None if it was not understood.
    """
    from attention_core.derivation.reading.declare import declare

    trial = context.copy()
    trial.understood = []
    try:
        declare(trial, Paragraph(line, _spell_bounds(context, text)), context.infers)
    except (Unreadable, ShapeMismatch, RecursionError):
        return None
    changed = [(one, trial.symbols.get(name)) for name, one in context.symbols.items()]
    kept = all(any(one is other for other in trial.hypotheses) for one in context.hypotheses)
    restated = [
        one
        for one, new in changed
        if new is not one and not (laws and _draws(one, new)) and not (kept and _repeats(one, new))
    ]
    unread = trial.caveats[len(context.caveats) :] or any(t.startswith("not assumed") for _, t in trial.understood)
    if restated or unread:
        return None
    fresh = trial.hypotheses[len(context.hypotheses) :]
    if any(context.symbols[n].term is not None for one in fresh for n in one.mentions & set(context.symbols)):
        return None  # what is defined is not free to be assumed: another case of it is meant, or a claim
    context.symbols, context.dropped, context.broadcast = trial.symbols, trial.dropped, trial.broadcast
    context.imaginary, context.unit = trial.imaginary, trial.unit
    context.understood += trial.understood
    return fresh


def assume_descriptions(context: Context, described: Mapping[str, Described]) -> None:
    """Assume what words say of symbols whose shapes were inferred: "Let $A$ be a symmetric matrix".

    Args:
        context: What is declared and inferred; hypotheses are added to it.
        described: For each name its description.
    """
    for name, one in described.items():
        symbol = context.symbols.get(name)
        if symbol is None or name not in context.inferred or context.described.get(name) is symbol:
            continue
        context.described[name] = symbol
        text = replace(one, names=(name,)).text
        fresh = commit_assumption(context, text, one.line)
        context.hypotheses += fresh or []
        if words := _unread_words(one.phrase, name):
            about = context.level, frozenset({name})
            context.caveats.append(Caveat(one.line, shorten_quote(text), *about, words=words, whole=True))
        elif fresh is not None and all(other in context.described for other in one.names):
            context.caveats = [each for each in context.caveats if not _repeats_description(each, one)]


def caveats_of_descriptions(context: Context, described: Sequence[Described], block: Paragraph) -> list[Caveat]:
    """What a paragraph says of symbols without a size: where these are declared otherwise, it is not assumed.

    Args:
        context: What is declared and inferred.
        described: All that is described.
        block: The paragraph.
    """
    lines = range(block.line, block.line + block.text.count("\n") + 1)
    return [
        Caveat(one.line, f"{', '.join(f'${name}$' for name in one.names)} be {one.phrase}", context.level,
               frozenset(one.names), plain=True)
        for one in described
        if one.line in lines and PROPERTY.search(one.phrase) and not _is_assumed(context, one)
    ]  # fmt: skip


def _is_assumed(context: Context, one: Described) -> bool:
    """Whether all that a description says of its symbols is assumed of them."""
    known = all(name in context.described and context.described[name] is context.symbols.get(name)
                for name in one.names)  # fmt: skip
    own = [h for h in context.hypotheses if h.line == one.line]
    return known and bool(own) and not any(_unread_words(one.phrase, name) for name in one.names)


def _repeats_description(caveat: Caveat, one: Described) -> bool:
    """Whether a caveat has nothing but what a description says."""
    plain = caveat.plain and not (caveat.words or caveat.whole or caveat.formula)
    return plain and caveat.line == one.line and caveat.names == frozenset(one.names)


def _unread_words(phrase: str, name: str) -> tuple[str, ...]:
    """The words of a noun phrase that say something of a symbol and are not assumed: "a frobnicated vector"."""
    if kind_of_role(phrase) in ("free", "array"):
        return ()  # "the weight matrix"
    parts = ("Let ", name, f" be {PROPERTY.sub(' ', ' '.join(phrase.split()))}.")
    return left_over(parts, read=True)


def unread_declaration(context: Context, paragraph: Paragraph) -> Caveat:
    """The caveat of a declaration that could not be read to its end."""
    names = frozenset().union(
        *(declared_names(context, formula, paragraph.line) for formula in _FORMULAS.split(paragraph.text)[1::2])
    )
    return Caveat(paragraph.line, shorten_quote(paragraph.text), context.level, names or None, random=True, plain=True)
