r"""What stands in the prose of a document, may be a hypothesis, and was not assumed.

A step that is false without such a hypothesis may be true with it, so it is not REFUTED: see `doubts`. A caveat holds
until the heading that ends its section, like a declaration, and concerns the steps that share a symbol with it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attention_core.derivation.document.blocks import Sentence
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Chain, Sub, Unreadable
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.terms.context import Caveat, Context, has_open_functions
from attention_core.derivation.words.derivative_claims import argued_derivative
from attention_core.derivation.words.inert import CLAIMED_SUM
from attention_core.derivation.words.paragraphs import cut_at_commas
from attention_core.derivation.words.phrase_patterns import is_pattern, leads_to_value
from attention_core.derivation.words.roles import repeats_softmax
from attention_core.derivation.words.vocabulary import (
    ASSUMES,
    CLAIM,
    CONDITION,
    DEGREE,
    GOAL,
    HARD,
    NOUN,
    PROPERTY,
    RANDOM,
)

MAX_QUOTE = 120
SIGNS = re.compile(r"[\u00b0\u2200-\u220d\u220f-\u22ff\u27c0-\u27ef\u2980-\u2aff]")  # all but the end of a proof
_VERBS = ("assume", "assumed", "assumes", "assuming", "suppose", "supposed", "supposing", "require", "requires",
          "required", "restrict", "impose", "postulate", "demand")  # fmt: skip
LAW_IN_WORDS = compile_quick(
    r"\b(?:mean|variance|covariance|deviation|expectation|rank|trace|determinant|sum|average|norm|length)s?"
    r"(?: (?:of|is|are|equals?|equal to))? (?:0|zero|1|one|unity|\$\$)",
    re.IGNORECASE,
)
_SETS = re.compile(
    r"\s*(?:(?:now|next|here|so|then|also|again|and),? )*(?:we )?(?:set|put|take|fix|choose|let)\s*", re.I
)
_VAGUE = re.compile(r"\b(?:first|leading|lowest) order|neglect|ignor|dropping", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:unless|except|without|not|never|no)\b[^,;]*$", re.IGNORECASE)
_RELATES = frozenset({"=", "!=", "<", "<=", ">", ">=", "~", ">>", "<<", "in", "sim", "perp", "->"})


def shorten_quote(text: str) -> str:
    """The words to show of a sentence."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else text[:MAX_QUOTE].rsplit(" ", 1)[0] + " ..."


_REAL = compile_quick(r"\breal\b(?!\s+and\s+imaginary\b|\s+parts?\b)")


def real_complexes(context: Context, sentence: Sentence) -> list[Caveat]:
    """A caveat where a sentence calls complex numbers real, which says nothing of any other symbol."""
    if not _REAL.search(sentence.prose):
        return []
    names = frozenset().union(*(declared_names(context, f, sentence.line) for f in sentence.formulas))
    names = frozenset(n for n in names if n in context.symbols and context.symbols[n].kind == "complex")
    quote = shorten_quote(sentence.text)
    return [Caveat(sentence.line, quote, context.level, names, plain=True)] if names else []


KEPT_NAMES = 2048
"""How many formulas of sentences have their names kept: each sentence is looked at by several readers."""


def declared_names(context: Context, formula: str, line: int) -> frozenset[str]:
    """The declared symbols that a formula mentions, read as far as it can be."""
    found = names_of_formula(formula)
    if found is None:
        return frozenset(
            n for n in context.symbols if re.search(rf"(?<![a-zA-Z\\]){re.escape(n)}(?![a-zA-Z])", formula)
        )
    return found & set(context.symbols)


@lru_cache(maxsize=KEPT_NAMES)
def names_of_formula(formula: str) -> frozenset[str] | None:
    """The names in a formula, read as far as it can be; None where not even its signs are known.

    Args:
        formula: An inline formula.
    """
    try:
        tokens = tokenize(formula)
    except Unreadable:
        return None
    found = {t.value for t in tokens if t.kind == "NAME"}
    for piece in cut_at_commas(tokens):
        try:
            found |= set().union(*(all_names(chain) for chain in parse_tokens(piece).chains))
        except (Unreadable, RecursionError):
            continue
    return frozenset(found)


def relation_in(formula: str, line: int) -> bool:
    """Whether an inline formula relates anything, and does not only define or name it."""
    return _relates(formula)


@lru_cache(maxsize=KEPT_NAMES)
def _relates(formula: str) -> bool:
    """What `relation_in` says on any line."""
    try:
        tokens = tokenize(formula)
    except Unreadable:
        return bool(re.search(r"[=<>]|\\(?:in|sim|leq?|geq?|neq?|perp|to)\b", formula))
    return any(t.kind == "REL" and t.value in _RELATES for t in tokens)


def caveats_of(context: Context, sentence: Sentence, leads: bool = False) -> list[Caveat]:
    """What a sentence that is not read as an assumption may say about the steps below it.

    Args:
        context: What is declared there.
        sentence: The sentence.
        leads: Whether it leads into a display.

    Returns:
        One caveat for its words, where they may restrict a symbol, and one for each relation: what is claimed ("We have
        $q = k$.") may be what the steps below rest on.
    """
    names = frozenset().union(*(declared_names(context, f, sentence.line) for f in sentence.formulas))
    out = [one for one in (_of_words(context, sentence, names, leads),) if one is not None]
    claimed = ""
    for place, part in enumerate(sentence.parts):
        if place % 2 == 0:
            claimed += " " + part
        elif relation_in(part, sentence.line) and not _names_anew(context, part, sentence.line):
            about = declared_names(context, part, sentence.line)
            if about:
                plain = is_assumption(claimed) or bool(_SETS.fullmatch(claimed))
                quote = shorten_quote(sentence.text)
                denied = bool(_DENIED.search(claimed))
                if denied and is_claim(claimed):
                    continue  # "We never claim that $x = 0$" says nothing of x
                part = "" if denied else part
                out.append(Caveat(sentence.line, quote, context.level, about, part, "sim" in part, plain))
    return out


def is_assumption(before: str) -> bool:
    """Whether the words in front of a relation open with a verb that assumes, whatever follows it."""
    found = ASSUMES.match(before.strip())
    return found is not None and found.group("verb").lower() in _VERBS


def _names_anew(context: Context, formula: str, line: int) -> bool:
    """Whether a formula only gives a new letter to what is known: `o = V^\\top p`."""
    try:
        (chain,) = chains_of(formula, line)
    except (Unreadable, RecursionError, ValueError):
        return False
    name = symbol_name(chain.exprs[0])
    base = chain.exprs[0]
    while isinstance(base, Sub):
        base = base.base
    known = name in context.symbols or symbol_name(base) in context.symbols
    return chain.ops == ("=",) and name is not None and not known and name not in all_names(chain.exprs[1])


def is_claim(before: str) -> bool:
    """Whether the words in front of a relation announce a result, with no condition after them."""
    ends = [found.end() for found in CLAIM.finditer(before)]
    return bool(ends) and not CONDITION.search(before, ends[-1])


def is_goal(before: str) -> bool:
    """Whether the words in front of a relation announce what is to be shown or is denied, with no condition after."""
    ends = [found.end() for found in GOAL.finditer(before)]
    return bool(ends) and not CONDITION.search(before, ends[-1])


@lru_cache(maxsize=KEPT_NAMES)
def _find_property(prose: str) -> re.Match[str] | None:
    return PROPERTY.search(prose) or LAW_IN_WORDS.search(prose)


def _has_free_squares(context: Context) -> bool:
    """Whether a square matrix is declared that no definition gives: it may be the derivative that words speak of."""
    kinds = [one.type for one in context.symbols.values() if one.term is None and one.type is not None]
    return any(kind.kind == "matrix" and kind.rows == kind.cols and not kind.scalar for kind in kinds)


def _of_words(context: Context, sentence: Sentence, names: frozenset[str], leads: bool) -> Caveat | None:
    prose = sentence.prose
    if not _may_restrict(prose, bool(names), leads) or repeats_softmax(context, sentence):
        return None
    if argued_derivative(prose) and not (has_open_functions(context) or _has_free_squares(context)):
        return None
    about = (sentence.line, shorten_quote(sentence.text), context.level, names or None)
    return Caveat(*about, random=bool(RANDOM.search(prose)), plain=is_assumption(prose))


@lru_cache(maxsize=KEPT_NAMES)
def _may_restrict(prose: str, named: bool, leads: bool) -> bool:
    """Whether words may restrict a symbol: those that they name, if any are `named`, or any."""
    if (leads and CLAIMED_SUM.match(prose)) or is_pattern(prose, leads) or (leads and leads_to_value(prose)):
        return False
    assumes = is_assumption(prose)
    match = _find_property(prose)
    if not named and not assumes:  # of words that name no symbol only those that can hardly be talk
        match = HARD.search(prose) or LAW_IN_WORDS.search(prose)
        match = match if match and NOUN.search(prose) else None
    if assumes:
        return bool(named or match or NOUN.search(prose))
    if not match:
        vague = DEGREE.search(prose)
        return bool(vague and (named or leads) and (CONDITION.search(prose) or _VAGUE.search(prose)))
    condition = CONDITION.search(prose)
    behind = condition is not None and match.start() >= condition.end()
    goal = GOAL.search(prose[: match.start()])
    return behind or goal is None or CONDITION.search(prose, goal.end()) is not None


def chains_of(formula: str, line: int) -> list[Chain]:
    """The relations of a formula; raises `Unreadable`."""
    chains = [chain for piece in cut_at_commas(tokenize(formula, line)) for chain in parse_tokens(piece).chains]
    return [chain for chain in chains if not chain.alone]
