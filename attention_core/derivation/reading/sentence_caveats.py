"""What one sentence leaves open: the words of it that nothing read, and the symbols that they may be about."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache, partial

from attention_core.derivation.document.blocks import KEPT_SENTENCES, Sentence
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.defining_formulas import declared_in
from attention_core.derivation.reading.properties import without_properties
from attention_core.derivation.reading.statements import statement_of
from attention_core.derivation.terms.context import Caveat, Context, has_open_functions
from attention_core.derivation.words.caveats import (
    SIGNS,
    declared_names,
    names_of_formula,
    shorten_quote,
)
from attention_core.derivation.words.derivative_claims import argued_derivative
from attention_core.derivation.words.fragments import says_nothing_of_symbols
from attention_core.derivation.words.inert import CLAIMED_SUM, SOFTMAX_OF_ROWS
from attention_core.derivation.words.leftovers import conditional_words, left_over
from attention_core.derivation.words.phrase_patterns import (
    is_pattern,
    is_read_declaration,
    is_title,
    leads_to_value,
    opens_declaration,
)
from attention_core.derivation.words.roles import (
    is_weights,
    repeats_softmax,
    says_independent,
    says_roles,
    without_roles,
)
from attention_core.derivation.words.topics import restricting_topics
from attention_core.derivation.words.vocabulary import CONDITION, PROPERTY

_QUANTIFIED = compile_quick(
    r"(?:\bthere (?:is|are|exists?|must be)\b|\bexists?\b).*\b(?:such that|so that|for which|with)\W*$|"
    r"\bfor some\b|\b(?:large|small|close) enough\b|\bsufficiently\b|"
    r"\beventually\b|\b(?:false|wrong|untrue|not true|not the case)\b.*\bthat\W*$",
    re.IGNORECASE,
)  # what is claimed, and no hypothesis: a promise about hypotheses leaves it open

_READ = re.compile(
    r"(?<![\w-])(?:independent(?:ly)?|i\.?i\.?d\.?|identically|distributed|distinct|random|broadcast|draw[ns]?|drawn|"
    r"normal|gaussian|uniform(?:ly)?|reals|square(?= matri)|two(?= (?:\s|real |numbers|vectors|matrices|scalars|"
    r"reals))|"
    r"lies?(?=\s{2})|(?:form|constitute)s?(?: an?)?(?=\s{2})|(?<=\s{2})(?:systems?|sets?|famil(?:y|ies)))(?![\w-])",
    re.IGNORECASE,
)

_LABEL = re.compile(r"\W*(?:\d+|[ivx]+|[a-z])\W*", re.IGNORECASE)  # of an item: "1."
_OPENS = re.compile(r"\b(?:suppos\w+|(?:special )?cases?)\b", re.IGNORECASE)  # in a sentence that was read


def is_closed(sentence: Sentence) -> bool:
    """Whether a sentence ends with its full stop: it leads into no display then, and may point either way."""
    text = _TAGS_AT_END.sub("", sentence.text + sentence.end)
    return text.rstrip(" *_)\"'")[-1:] in (".", "!", "?")


_TAGS_AT_END = compile_quick(r"(?:\s*</\w+>)+\s*$")


def topic_caveats(context: Context, text: str, line: int) -> list[Caveat]:
    """What a harmless phrase leaves open all the same: it may say what a symbol is."""
    return [
        Caveat(line, shorten_quote(text), context.level, None, words=(word,), made_by=ops)
        for word, ops in restricting_topics(text)
    ]


_TALKS_OF = re.compile(
    r"\b(?:stud(?:y|ies)|turn|recall|comput|consider|look|discuss|analy[sz]|insert|substitut|us(?:e|ing)\b)",
    re.IGNORECASE,
)


def names_of(sentence: Sentence) -> frozenset[str]:
    """The symbols that the formulas of a sentence mention, declared or not."""
    return _names_in(sentence.formulas)


@lru_cache(maxsize=KEPT_SENTENCES)
def _names_in(formulas: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for formula in formulas:
        known = names_of_formula(formula)
        found |= set(re.findall(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", formula)) if known is None else known
    return frozenset(found)


def was_read(context: Context, sentence: Sentence, declares: bool) -> bool:
    """Whether a sentence was read as an assumption, so that its properties are known or have a caveat of their own."""
    if declares:
        return True
    first, end = sentence.line, sentence.line + sentence.text.count("\n") + 3
    if _says_where(context, sentence, range(first, end)):
        return True
    near = [text for line, text in context.understood if first <= line < end]
    defines = bool(near) and bool(_DEFINES.match(sentence.prose))
    return any(
        text.startswith("assumed") or ": random, " in text or (defines and " is defined as " in text) for text in near
    )


_DEFINES = re.compile(r"^\W*(?:set|put|define)\s+\$\$", re.IGNORECASE)
_DECLARES = re.compile(r"^\W*let\s+\$\$", re.IGNORECASE)


def _says_where(context: Context, sentence: Sentence, lines: range) -> bool:
    """Whether a sentence opens with "Let", and all its formulas only say where symbols live that are declared there."""
    if not _DECLARES.match(sentence.prose):
        return False
    names = [declared_in(one) for one in sentence.formulas]
    known = context.symbols
    return all(names) and all(name in known and known[name].line in lines for one in names for name in one)


REASON = re.compile(
    r"^\W*(?:(?:and|so|hence|thus|now|then)\b\W*)*(?:by|since|because|as|using|due|thanks|from|via|with|which|"
    r"this|recall)\b",
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

_OF_LAWS = re.compile(
    r"^(?:independen|uncorrelat|mean|means|zero|cent|varianc|normal|gaussian|random|i\.?i\.?d|unit|isotrop)",
    re.IGNORECASE,
)


def is_known(context: Context, word: str) -> bool:
    """Whether a word of a reason refers to what is assumed."""
    if _OF_LAWS.match(word) and any(symbol.law is not None for symbol in context.symbols.values()):
        return True
    if word.lower().startswith("by "):  # "by assumption"
        return bool(context.hypotheses) or any(
            symbol.term is not None and not symbol.whole for symbol in context.symbols.values()
        )
    return any(about.match(word) and any(form.search(h.text) for h in context.hypotheses) for about, form in _REFERS)


About = partial[Caveat]
"""Makes a caveat about a sentence, of these symbols: half of the time of a caveat that is made and then changed."""


def find_caveat(
    context: Context,
    sentence: Sentence,
    names: frozenset[str],
    read: bool,
    title: bool = False,
    leads: bool = False,
) -> Caveat | None:
    """Find what a sentence leaves open, None if nothing.

    Args:
        context: What is declared there.
        sentence: The sentence.
        names: The symbols that its formulas mention.
        read: Whether it was read as an assumption.
        title: Whether it is a heading.
        leads: Whether a display follows it directly.
    """
    if repeats_softmax(context, sentence):
        return None
    maybe = conditional_words(sentence.parts)
    about = partial(Caveat, sentence.line, shorten_quote(sentence.text), context.level, maybe=maybe)
    if read and opens_declaration(sentence.prose):  # of what could not be read there is a caveat
        parts = [_SOME.sub("with", part) if k % 2 == 0 else part for k, part in enumerate(sentence.parts)]
        sentence = replace(sentence, parts=tuple(parts))
    if read and statement_of(sentence.parts, leads) is not None:
        return None
    if (subject := argued_derivative(sentence.prose)) and not has_open_functions(context):
        return about(None, words=(subject,), maybe=(), made_by=frozenset({"deriv"}))
    if read and (behind := _behind_condition(context, sentence)) is not None:
        sentence = behind
    sentence = _without_known_product(context, sentence)
    matched = _match_patterns(context, sentence, names, about, title, leads)
    return _find_leftovers(context, sentence, names, about, read) if matched is None else next(iter(matched), None)


_FOR = re.compile(r"^\W*(?:for|if|when|with|given)\s*$", re.IGNORECASE)


def _behind_condition(context: Context, sentence: Sentence) -> Sentence | None:
    """What follows the one condition that opens a sentence and is assumed: "For $|x| < 1$ the bound is"."""
    if len(sentence.parts) != 3 or not _FOR.match(sentence.parts[0]) or not re.search(r"\w", sentence.parts[2]):
        return None
    lines = range(sentence.line, sentence.line + sentence.text.count("\n") + 1)
    condition = re.sub(r"\s", "", sentence.parts[1])
    texts = [re.sub(r"\s", "", text) for line, text in context.understood if line in lines]
    return replace(sentence, parts=(sentence.parts[2].lstrip(" ,"),)) if f"assumed:{condition}" in texts else None


_PRODUCT = re.compile(
    r"\s+(?:in|for|with respect to) the inner product\s+(?:of|given by|induced by|defined by)\s*$", re.IGNORECASE
)


def _without_known_product(context: Context, sentence: Sentence) -> Sentence:
    """A sentence without "in the inner product of $A$" of an A that is assumed to be positive definite."""
    parts = sentence.parts
    for place in range(1, len(parts) - 1, 2):
        found, name = _PRODUCT.search(parts[place - 1]), parts[place].strip()
        if found and any(name in h.mentions and "(positive definite)" in h.text for h in context.hypotheses):
            joined = parts[place - 1][: found.start()] + parts[place + 1]
            return replace(sentence, parts=(*parts[: place - 1], joined, *parts[place + 2 :]))
    return sentence


def _match_patterns(
    context: Context, sentence: Sentence, names: frozenset[str], about: About, title: bool, leads: bool
) -> list[Caveat] | None:
    """What a sentence that fits a pattern leaves open; None where it fits none.

    Args:
        about: Makes a caveat about the sentence as it was written, with its conditional words, of its symbols.
        context, sentence, names, title, leads: As `find_caveat` has them.
    """
    if _LABEL.fullmatch(sentence.prose):
        return []
    quantified = _QUANTIFIED.search(sentence.prose) if leads else None
    if quantified is not None:
        return [about(None, plain=True, words=(quantified[0].lower(),), maybe=(), whole=True)]
    signs = tuple(dict.fromkeys(SIGNS.findall("".join(sentence.parts[::2]))))
    if signs:  # no pattern knows what they say
        return [about(names & set(context.symbols) or None, words=signs, maybe=())]
    if not sentence.formulas and (is_title(sentence.text) or (not leads and says_nothing_of_symbols(sentence.prose))):
        topics = topic_caveats(context, sentence.prose, sentence.line)
        return [about(None)] if about.keywords["maybe"] else topics
    claimed = leads and bool(CLAIMED_SUM.match(sentence.prose))
    if claimed or is_pattern(sentence.prose, leads) or (title and is_title(sentence.text)):
        topics = topic_caveats(context, sentence.prose, sentence.line) if _TALKS_OF.search(sentence.prose) else []
        open_topic = min(topics, key=lambda one: len(one.made_by), default=None)
        if open_topic is not None:
            return [replace(open_topic, quote=about(None).quote, maybe=about.keywords["maybe"])]
        return [about(None)] if about.keywords["maybe"] else []
    return [about(None, value=True)] if leads and leads_to_value(sentence.prose) else None


def _find_leftovers(
    context: Context, sentence: Sentence, names: frozenset[str], about: About, read: bool
) -> Caveat | None:
    """The words of a sentence that nothing read, None if nothing is left; arguments as of `_match_patterns`."""
    maybe = about.keywords["maybe"]
    plain = without_roles(context, _without_read(sentence.parts) if read else sentence.parts)
    unread = left_over(plain, read=read)
    words = unread
    if REASON.match(sentence.prose):
        words = tuple(word for word in words if not is_known(context, word))
    symbols = names & set(context.symbols)
    if words and symbols and all(is_weights(context, name) for name in symbols):
        words = tuple(word for word in words if not _OF_WEIGHTS.match(word))
    known = bool(unread) and not words and len(sentence.prose.split()) <= MAX_REASON
    if not maybe and (says_roles(context, sentence) or says_independent(context, sentence)):
        return None
    declares = read and opens_declaration(sentence.prose) and is_read_declaration(plain)
    plainly = not words and (_is_announced(sentence) or _only_names(context, sentence))
    whole = not (known or declares or plainly)
    if not words and not maybe and not whole:
        return None
    written = (
        (whole or bool(words))
        and is_closed(sentence)
        and sentence.end.strip() != "?"
        and _ties_formulas(context, sentence)
    )
    return about(symbols or None, words=words, whole=whole, written=written)


@lru_cache(maxsize=KEPT_SENTENCES)
def _without_read(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a sentence that was read, without the words that reading it knows."""
    out = without_properties(list(parts))
    out[::2] = [_READ.sub(" ", _OPENS.sub(" ", PROPERTY.sub(" ", part))) for part in out[::2]]
    return tuple(out)


def _only_names(context: Context, sentence: Sentence) -> bool:
    """Whether a sentence only defines what it names: "Put $P$" of what was read as `P = ...`, and "Put $P := ...$"."""
    if not sentence.formulas or CONDITION.search(_NAMING.sub(" ", " ".join(sentence.prose.split()))):
        return False
    lines = range(sentence.line, sentence.line + sentence.text.count("\n") + 1)
    defined = [context.symbols.get(one.partition(":=")[0].strip()) for one in sentence.formulas]
    return all(one is not None and one.term is not None and one.line in lines for one in defined)


_NAMING = re.compile(
    rf"^\W*(?:with|let|setting|taking|choosing|letting|putting|using|where)\b|\bwith(?=\W*$)|{SOFTMAX_OF_ROWS}", re.I
)
_BETWEEN = re.compile(r"^(?!.*\b(?:where|when|while|if|that|which|because|whose|since)\b)\s*[^,;:.()]*[\w)]\s*$")

_JOINED = re.compile(
    r"\s*(?:and|or)\b.*|\s*(?:for|with|where|as|so|then|while|when|if|let|in|of|at|per)\s*|.*(?:^|\s)(?:and|or|"
    r"let|that|the|an?)\s*",
    re.IGNORECASE,
)


def _ties_formulas(context: Context, sentence: Sentence) -> bool:
    """Whether words alone stand between two symbols or numbers: "$x$ exceeds $0$", "$A$ commutes with $B$"."""
    bare = [_is_bare(context, one, sentence.line) for one in sentence.formulas]
    return any(
        first and second and "symbol" in (first, second) and _BETWEEN.match(words) and not _JOINED.fullmatch(words)
        for first, words, second in zip(bare, sentence.parts[2::2], bare[1:], strict=False)
    )


def _is_bare(context: Context, formula: str, line: int) -> str:
    """Whether a formula is a declared symbol or a number, '' if neither."""
    if re.fullmatch(r"\s*[-+]?\d+\s*", formula):
        return "number"
    return "symbol" if _PLAIN.fullmatch(formula) and declared_names(context, formula, line) else ""


_PLAIN = re.compile(r"\s*(?:\\[a-zA-Z]+\s*)?\{?\\?[a-zA-Z]+\}?(?:_\{?\w+\}?)?\s*")

MAX_REASON = 4  # words of a reason that only names what is assumed

_SOME = re.compile(r"\bfor some(?: (?:real|positive|fixed|number|scalar|constant|vector|matrix))*(?=\s*$)")

_ANNOUNCES = re.compile(
    r"^\W*(?:(?:now|next|first|finally|here|so|hence|thus|indeed),? )*(?:we|let us|it) (?:(?:can|now|next|first|"
    r"finally|"
    r"also|will|again|want to|wish to|have to|remains to|suffices to) )*(?:show|prove|verify|check|claim|see) that\b",
    re.IGNORECASE,
)


def _is_announced(sentence: Sentence) -> bool:
    """Whether a sentence announces what it says, with no condition: then it claims, and its words are plain."""
    found = _ANNOUNCES.match(sentence.prose)
    return found is not None and not CONDITION.search(sentence.prose, found.end())
