r"""Which words stand in the scope of a step: those around its display, inside it, and in sentences about its symbols.

Words that lead into a display or go on behind it, and words inside it, concern its steps whatever they name. Farther
up a sentence counts if it names a symbol, stands in a paragraph that declares, or says that it speaks of all that
follows.
"""

from __future__ import annotations

import re
from dataclasses import replace

from attention_core.derivation.document.blocks import Display, Heading, Paragraph
from attention_core.derivation.document.sentences import Sentence, sentences_of
from attention_core.derivation.elaborate.hypotheses import all_names
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.describe import without_properties
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import caveats_of, quoted
from attention_core.derivation.words.inert_words import NUMBERS
from attention_core.derivation.words.leftovers import conditional_words, left_over
from attention_core.derivation.words.paragraphs import cut_at_commas, is_declaration
from attention_core.derivation.words.vocabulary import CONDITION, NOUN, PROPERTY

_FORMULAS = re.compile(r"(?<!\\)\$")
_UNIVERSAL = re.compile(
    r"\b(?:throughout|everything|everywhere|in (?:what follows|the (?:following|sequel|rest))|from (?:now|here) on|"
    r"henceforth|hereafter|suppos\w+|assum\w+|restrict\w*|in (?:this|the (?:present|rest of this)) "
    r"(?:section|note|document|page|post|proof|chapter|article|subsection)|always|(?:is|are) for|we (?:only |always )?"
    r"(?:consider|look at|deal with|work with|study|treat))\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"^\W*(?:here |below )?(?:all|every) (?:of (?:the|our) )?(?:hypothes[ie]s|assumptions?|conditions?)"
    r"(?: here| below)? "
    r"(?:is|are) (?:declared |written |stated |given |said )?(?:as |in |by )?(?:an? )?formulas?\W*$",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"\$\$\s*(?:\([^()]*\)\s*)?(?:,? ?(?:which|who|that) )?(?:always |never |also |only |both |all )?"
    r"(?:is|are|be|being|has|have|having|stays?|remains?|lies?|do(?:es)?|never|always|cannot|must|may|can|will|shall|"
    r"should)\b|\bof \$\$ (?:is|are|has|have)\b|"
    r"^\W*(?:keep|hold|only|now|here|our|again|but|and|with|for|if|when|at|on|under|after|since|because|given|unless|"
    r"while|let|take|fix|consider|once|as)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"^\W*(?:\(?[ivx\d]+[.)]\s*)?(?:the )?(?:special |simple |particular )?(?:cases?|when|if|for|assuming|with|without|"
    r"under|suppose|on|at|after|once|only|provided|unless)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"(?<![\w-])(?:independent(?:ly)?|i\.?i\.?d\.?|identically|distributed|distinct|random|broadcast|draw[ns]?|drawn|"
    r"normal|gaussian|uniform(?:ly)?)(?![\w-])",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"^\W*(?:[a-z]|(?:This|Here|That|It|These|Note|Recall|Both|We used|Only|In (?:this|the|each|every)|The (?:\w+ )?"
    r"(?:equality|step|inequality|identity|bound|equation|relation|formula|equalities|steps|claim|line|result))\b)"
)
_WORDS_IN_DISPLAY = re.compile(
    r"(?P<label>[_^]\s*\{?\s*)?\\(?:text|textrm|textit|textbf|textsf|texttt|mbox|hbox|intertext|shortintertext|textnormal|"
    r"emph)\s*\{(?P<words>(?:[^{}]|\{[^{}]*\})*)\}"
)
_BRACES = re.compile(r"\\(?:underbrace|overbrace|underset|overset|stackrel|xrightarrow|xrightequal)\b")


_GENERAL = re.compile(
    r"\b(?:all|every|each|both|no|our|these|the two|any two) .*\b(?:is|are|be|has|have|lies?|stays?|remains?|sums?|"
    r"vanish(?:es)?|agrees?|coincides?|share[sd]?)\b",
    re.IGNORECASE,
)
_NOT_NAMES = NUMBERS | {
    "no",
    "unit",
    "noise",
    "noiseless",
    "single",
    "only",
    "special",
    "same",
    "alike",
    "tied",
    "itself",
}
_OPENS = re.compile(r"\b(?:suppos\w+|(?:special )?cases?)\b", re.IGNORECASE)  # in a sentence that was read
_NUMBERED = re.compile(rf"\b(?:{'|'.join(sorted(NUMBERS))})\b(?=\s*(?:$|[:,.;(\u2013\u2014-]))", re.IGNORECASE)
_LISTED = re.compile(r"^[ \t]*(?:[>|]|[-*+] |\d+[.)] )", re.MULTILINE)
_USED = re.compile(
    r"\b(?:have|has)(?= (?:used|taken|assumed|set|put|chosen|fixed|let|replaced|written)\b)", re.IGNORECASE
)
_UNEQUAL = re.compile(r"\\neq?(?![a-zA-Z])|\\not\b")


def words_of_paragraph(
    context: Context, paragraph: Paragraph, leads: bool, opens: bool = False
) -> tuple[list[Caveat], list[Caveat]]:
    """What the words of a paragraph leave open.

    Args:
        context: What is declared there, with this paragraph.
        paragraph: The paragraph.
        leads: Whether a display follows directly.
        opens: Whether a declaration follows directly: then formulas speak of what it declares.

    Returns:
        Caveats for all that follows in the section, and caveats for the next display alone.
    """
    declares = is_declaration(paragraph)
    listed = bool(_LISTED.search(paragraph.text))
    lasting: list[Caveat] = []
    passing: list[Caveat] = []
    for one in sentences_of(paragraph):
        named = names_of(one)
        universal = bool(_UNIVERSAL.search(one.prose) or (_GENERAL.search(one.prose) and NOUN.search(one.prose)))
        if _PROMISE.match(one.prose):
            context.formal = context.level
            continue
        if "?" in one.end:
            continue
        stands = bool(named) and (opens or bool(_STANDING.search(one.prose)))
        if not (declares or leads or stands or universal or listed):
            continue
        found = _caveat(context, one, named, was_read(context, one, declares))
        if found is None:
            continue
        last = not declares and leads and not named and not universal and not _CONDITIONAL.match(one.prose)
        (passing if last else lasting).append(found)
    return lasting, passing


def words_behind(context: Context, paragraph: Paragraph, leads: bool, read: bool) -> list[Caveat]:
    """What the words right behind a display leave open.

    Args:
        context: What is declared there.
        paragraph: The paragraph.
        leads: Whether another display follows it: then its last sentence leads into that one.
        read: Whether its first sentence was read as a condition.
    """
    out: list[Caveat] = []
    sentences = sentences_of(paragraph)
    for place, one in enumerate(sentences):
        if "?" in one.end or _PROMISE.match(one.prose):
            continue
        back = place == 0 and bool(_BACKWARD.match(one.prose.replace("$$", "x")))
        if leads and place == len(sentences) - 1 and not back:
            continue
        words = _caveat(context, one, names_of(one), was_read(context, one, False))
        out += [] if words is None else [words]
        if not (read and place == 0):
            out += _relations_behind(context, one)
    return out


def _relations_behind(context: Context, sentence: Sentence) -> list[Caveat]:
    """The relations of a sentence behind a display; that one is excluded there says that it holds here."""
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
        words = left_over(parts, claims=False)
        if not CONDITION.match(found.group("words").strip()) or _REASON.match(found.group("words")):
            words = tuple(word for word in words if not _is_known(context, word))
        if words:
            line = display.line + before.count("\n")
            out.append(Caveat(line, quoted(found.group("words")), context.level, None, words=words))
    return out


def words_of_heading(context: Context, heading: Heading) -> list[Caveat]:
    """What a heading leaves open for all below it. Names such as LoRA, and names in titles, restrict nothing."""
    out: list[Caveat] = []
    text = _NUMBERED.sub(" ", heading.text)
    for one in sentences_of(Paragraph(heading.line, text)):
        found = _caveat(context, one, frozenset(), was_read(context, one, False))
        if found is None:
            continue
        words = tuple(word for word in found.words if not _is_name(word, heading.level == 1))
        if words or _CONDITIONAL.match(one.prose):
            out.append(replace(found, words=words or found.words))
    return out


def _is_name(word: str, title: bool) -> bool:
    """Whether a word of a heading is a name, as far as its capital letters tell."""
    if re.search(r"[A-Z]", word[1:]):
        return True
    return title and word[:1].isupper() and not PROPERTY.search(word) and word.lower() not in _NOT_NAMES


def names_of(sentence: Sentence) -> frozenset[str]:
    """The symbols that the formulas of a sentence mention, declared or not."""
    found: set[str] = set()
    for formula in sentence.formulas:
        try:
            tokens = tokenize(formula, sentence.line)
        except Unreadable:
            found |= set(re.findall(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", formula))
            continue
        found |= {t.value for t in tokens if t.kind == "NAME"}
        for piece in cut_at_commas(tokens):
            try:
                found |= set().union(*(all_names(chain) for chain in parse_tokens(piece).chains))
            except (Unreadable, RecursionError):
                continue
    return frozenset(found)


def was_read(context: Context, sentence: Sentence, declares: bool) -> bool:
    """Whether a sentence was read as an assumption, so that its properties are known or have a caveat of their own."""
    lines = {sentence.line + k for k in range(sentence.text.count("\n") + 3)}
    return declares or any(line in lines and text.startswith("assumed") for line, text in context.understood)


_REASON = re.compile(
    r"^\W*(?:(?:and|so|hence|thus|now|then)\b\W*)*(?:by|since|because|as|using|due|thanks|from|via|with|which|this|recall)\b",
    re.IGNORECASE,
)
# Words of reasons, and what a hypothesis that they refer to looks like.
_REFERS = (
    (re.compile(r"^orthogonal|^perpendicular", re.IGNORECASE), re.compile(r"= 0|orthogonal")),
    (re.compile(r"^orthonormal", re.IGNORECASE), re.compile(r"= I|= 1|orthonormal")),
    (re.compile(r"^normali[sz]|^unit$|^unit-|^sums?$|^one$", re.IGNORECASE), re.compile(r"= 1")),
    (re.compile(r"^(?:anti|skew-?)?symmetr", re.IGNORECASE), re.compile(r"\\top")),
    (
        re.compile(r"^positiv|^negativ|^non-?negativ|^non-?positiv|^signs?$", re.IGNORECASE),
        re.compile(r"(?:[<>]|\\[lg]eq?) ?0"),
    ),
    (re.compile(r"^non-?zero", re.IGNORECASE), re.compile(r"\\ne ?0|> ?0")),
    (re.compile(r"^stochastic|^probabilit|^distribution", re.IGNORECASE), re.compile(r"= 1")),
)
_OF_WEIGHTS = re.compile(
    r"^(?:attention|softmax) |^(?:a|by the|from the) softmax$|^probabilit|^distribution", re.IGNORECASE
)
_SUMS = re.compile(r"(?:\\sum|\\mathbf\s*\{?1).*= ?1\s*$")
_SIGNED = re.compile(r"(?:\\geq?|>|\u2265) ?0\s*$")
_OF_LAWS = re.compile(
    r"^(?:independen|uncorrelat|mean|means|zero|cent|varianc|normal|gaussian|random|i\.?i\.?d|unit|isotrop)",
    re.IGNORECASE,
)


def _is_known(context: Context, word: str) -> bool:
    """Whether a word of a reason refers to what is assumed."""
    if _OF_LAWS.match(word) and any(symbol.law is not None for symbol in context.symbols.values()):
        return True
    if word.lower().startswith("by "):  # "by assumption"
        return bool(context.hypotheses) or any(symbol.term is not None for symbol in context.symbols.values())
    return any(about.match(word) and any(form.search(h.text) for h in context.hypotheses) for about, form in _REFERS)


def _is_weights(context: Context, name: str) -> bool:
    """Whether a symbol is made by a softmax or declared to sum to 1: then "attention weights" says nothing new."""
    term = context.symbols[name].term
    if term is not None:
        ops = {part.op for part in term.walk()}
        return "softmax" in ops or {"exp", "div"} <= ops
    said = [h.text for h in context.hypotheses if name in h.mentions]
    signed = context.symbols[name].lower is not None or any(_SIGNED.search(text) for text in said)
    return signed and any(_SUMS.search(text) for text in said)


def _caveat(context: Context, sentence: Sentence, names: frozenset[str], read: bool) -> Caveat | None:
    parts = list(sentence.parts)
    if read:
        parts = without_properties(parts)
        parts[::2] = [_READ.sub(" ", _OPENS.sub(" ", PROPERTY.sub(" ", part))) for part in parts[::2]]
    words = left_over(parts, read=read)
    if _REASON.match(sentence.prose):
        words = tuple(word for word in words if not _is_known(context, word))
    about = names & set(context.symbols)
    if about and all(_is_weights(context, name) for name in about):
        words = tuple(word for word in words if not _OF_WEIGHTS.match(word))
    maybe = conditional_words(sentence.parts)
    if not words and not maybe:
        return None
    return Caveat(sentence.line, quoted(sentence.text), context.level, about or None, words=words, maybe=maybe)
