"""Properties in a declaration, applied to their symbols, and the words that remain to be understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_statement, parse_tokens
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Dots, Expr, Group, Sub, Unreadable
from attention_core.derivation.reading.any_function import functions_in
from attention_core.derivation.reading.assuming import clause_before
from attention_core.derivation.reading.assuming_sentences import (
    is_of_something_else,
    says_of_symbols,
    words_of_sentence,
)
from attention_core.derivation.reading.independence_words import says_independent
from attention_core.derivation.reading.properties import PropertyMention, plain_words, properties_in, without_properties
from attention_core.derivation.reading.property_endings import is_changed
from attention_core.derivation.terms.context import Caveat, Symbol
from attention_core.derivation.words.caveats import LAW_IN_WORDS, relation_in, shorten_quote
from attention_core.derivation.words.paragraphs import cut_at_commas
from attention_core.derivation.words.roles import without_free_role
from attention_core.derivation.words.vocabulary import DEGREE, PROPERTY, RANDOM

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import ReaderState

_JOINS = re.compile(r"^[\s,]*(?:and|both|,)?[\s,]*$")
_PLURAL = re.compile(
    r"\b(?:are|both|all|vectors|matrices|numbers|scalars|columns|rows|families|be|have|commute|lie|coincide|form|"
    r"numbers|do|differ|vanish)\b",
    re.IGNORECASE,
)
_SINGULAR = re.compile(r"\b(?:is|an?)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:false|wrong|untrue|impossible|incorrect|absurd|not|never|nor|neither|hardly|rarely|fails?|unless|"
    r"except|without|"
    r"contrary|deny|denies|doubt\w*|whether|(?:one|some|any|either|two|most|half|few|many) of)\b",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"\b(?:shows?|shown|prove[ns]?|claims?|verif(?:y|ies)|check|establish(?:es)?|demonstrates?|conclude|deduce|derive|"
    r"turns? out|follows|(?:will|shall|can|to) see|question)\b"
    r"(?:(?!\b(?:assum|suppos|requir|if\b|when|given|provided|for\b))[^.;:])*\b(?:that|whether)\s*$",
    re.IGNORECASE,
)  # a hypothesis is not what is to be shown
_OPENS_PREMISE = re.compile(r"(?:^|[.;:!?]\s)\W*(?:But |And )?(?:If|When|Whenever|In case)(?: the \w+)?\s*$")
_CONCLUSION = re.compile(r"\s*(?:,\s*(?!and\b|or\b)|then\b)[^.;!?]*\w[^.;!?]*[.;!?](?:\s|$)")
_INDEPENDENT = re.compile(r"\bindependent(?:ly)?\b", re.IGNORECASE)
_KNOWN = re.compile(r"\b(?:independent(?:ly)?|i\.?i\.?d\.?|identically distributed)(?![\w-])", re.IGNORECASE)


def describe(reader: ReaderState, parts: list[str], place: int, line: int) -> str:
    """Assume what the prose at a place says of the symbols around it; the prose without these words.

    What may restrict a symbol and is not read becomes a caveat of the steps below.
    """
    rest = text = plain_words(parts[place])
    if not _JOINS.match(text):
        reader.ahead, reader.ahead_at = [], place
    plain = without_properties(parts)
    for one in properties_in(text, follows=bool(place), leads=place + 1 < len(parts)):
        before, behind = _words_around(plain, place, one)
        if is_of_something_else(before) if not one.ahead else is_changed(behind, ahead=True):
            _refuse(reader, parts, place, line)
            continue
        if not says_of_symbols(before, behind, one.ahead):
            _refuse(reader, parts, place, line)
        elif one.ahead:
            reader.ahead.append(one)
        elif (
            _is_denied(parts, place)
            or _is_premise(parts, place, one)
            or not _assume(reader, one, _subjects(reader, text), line)
        ):
            continue
        rest = rest[: one.start] + " " * (one.end - one.start) + rest[one.end :]
    _note_unread(reader, parts, place, rest, line)
    return _without_other_independence(reader, parts, place, rest, line)


def _without_other_independence(reader: ReaderState, parts: list[str], place: int, text: str, line: int) -> str:
    """The words without an "independent" that is not about all symbols that the sentence draws; that is a caveat."""
    found = _INDEPENDENT.search(text)
    if found is None:
        return text
    plain = without_properties(parts)
    assumed = says_of_symbols(*words_of_sentence(plain, place, found.start()), ahead=False)
    subjects = [name for names in reader.subjects for name in names]
    other = _names_at(reader, parts, place + 1, line)
    if assumed and says_independent(text, subjects, reader.drawn, other):
        return text
    before = f"${parts[place - 1]}$" if place else ""
    after = f"${parts[place + 1]}$" if place + 1 < len(parts) else ""
    reader.context.caveats.append(
        Caveat(
            line,
            shorten_quote(f"{before}{parts[place]}{after}"),
            reader.context.level,
            frozenset({*subjects, *reader.drawn, *other}) or None,
            random=True,
            plain=True,
        )
    )
    return _INDEPENDENT.sub(lambda found: " " * len(found[0]), text)


def _names_at(reader: ReaderState, parts: list[str], place: int, line: int) -> list[str]:
    """The declared symbols of the formula at a place; [] where it cannot be read."""
    try:
        return _names_of(reader, parts[place], line) if place < len(parts) else []
    except (Unreadable, RecursionError):
        return []


def _words_around(plain: list[str], place: int, mention: PropertyMention) -> tuple[str, str]:
    """The words of the sentence of a property, in front of it and behind it; `plain` has no properties."""
    return words_of_sentence(plain, place, mention.start)[0], words_of_sentence(plain, place, mention.end)[1]


def _refuse(reader: ReaderState, parts: list[str], place: int, line: int) -> None:
    """Leave open what the words at a place say of the symbols around them."""
    names = {name for some in reader.subjects for name in some} | set(_names_at(reader, parts, place + 1, line))
    before = f"${parts[place - 1]}$" if place else ""
    after = f"${parts[place + 1]}$" if place + 1 < len(parts) else ""
    _caveat(reader, f"{before}{parts[place]}{after}", frozenset(names) or None, line)


def _is_denied(parts: list[str], place: int) -> bool:
    """Whether the words up to the formula before a place deny what they say of it, or only announce it."""
    clause = clause_before(parts, place - 1) if place else ""
    return bool(_DENIES.search(clause) or _ANNOUNCES.search(clause))


def _is_premise(parts: list[str], place: int, mention: PropertyMention) -> bool:
    """Whether a property is a condition of its own sentence alone, as in "If $A$ is symmetric, its trace is real."."""
    if place < 2 or not _OPENS_PREMISE.search(parts[place - 2]):
        return False
    return bool(_CONCLUSION.match(parts[place][mention.end :] + "$$".join(["", *parts[place + 2 :: 2]])))


def name_subjects(reader: ReaderState, parts: list[str], place: int, line: int) -> None:
    """What a formula is about, for the words after it; properties that stand before it are assumed."""
    try:
        names = functions_in(parts[place]) or _names_of(reader, parts[place], line)
    except (Unreadable, RecursionError):
        names = []
    joined = place > 1 and bool(_JOINS.match(parts[place - 1]))
    reader.subjects = [*reader.subjects, names] if joined else [names]
    if not reader.ahead:
        return
    first = reader.ahead_at == place - 1
    goes_on = place + 2 < len(parts) and bool(_JOINS.match(parts[place + 1])) and parts[place + 1].strip() != ""
    plain = not relation_in(parts[place + 2], line) if goes_on else True
    for one in list(reader.ahead):
        if goes_on and (one.many or (plain and one.bare)):
            continue  # "the unit vectors $u$ and $v$": both are
        about = [name for some in reader.subjects for name in some] if not first else names
        ambiguous = goes_on and one.bare  # "positive $x$ and $y \\in ...$": of which?
        if ambiguous or not _assume(reader, one, about, line):
            _caveat(reader, f"{one.text} ${parts[place]}$", frozenset(about) or None, line)
        reader.ahead.remove(one)


def _subjects(reader: ReaderState, text: str) -> list[str]:
    """The symbols that words after them are about: all that were joined, or only the last formula's."""
    if len(reader.subjects) < 2:
        return [name for names in reader.subjects for name in names]
    if _SINGULAR.search(text):
        return reader.subjects[-1]
    return [name for names in reader.subjects for name in names] if _PLURAL.search(text) else []


def _names_of(reader: ReaderState, formula: str, line: int) -> list[str]:
    """The declared symbols left of the relations of an inline formula, or that stand alone in it."""
    out: list[str] = []
    pieces = _heads_of(formula)
    if (whole := _entries_of(reader, pieces, line)) is not None:
        return [whole]
    for first in pieces:
        inner = [c.exprs[0] for c in first.items if c.exprs] if isinstance(first, Group) else [first]
        for expr in inner:
            name = _symbol(reader, expr)
            if name is None and not isinstance(expr, Dots):
                return []
            if name is not None and name not in out:
                out.append(name)
    return out


KEPT_HEADS = 2048
"""How many formulas have their first sides kept: declarations name the same symbols again and again."""


@lru_cache(maxsize=KEPT_HEADS)
def _heads_of(formula: str) -> tuple[Expr, ...]:
    """What stands left of the relations of a formula, or alone between its commas; () where it cannot be read."""
    try:
        return tuple(parse_tokens(tokens).chains[0].exprs[0] for tokens in cut_at_commas(tokenize(formula)))
    except Unreadable:
        return ()


def _entries_of(reader: ReaderState, pieces: Sequence[Expr], line: int) -> str | None:
    r"""The vector of which a list names all entries, `p_1, \dots, p_n`, None of any other list."""
    members = [one for one in pieces if not isinstance(one, Dots)]
    if len(members) == len(pieces) or not all(isinstance(one, Sub) for one in members):
        return None
    bases = {symbol_name(one.base) for one in members if isinstance(one, Sub)}
    symbol = reader.context.symbols.get(next(iter(bases)) or "") if len(bases) == 1 else None
    kind = None if symbol is None or symbol.kind != "array" else symbol.type
    if symbol is None or kind is None or not (kind.vector and kind.column):
        return None
    elab = Elaborator(reader.context, line=line)
    ends = [elab.size(one.items[0].exprs[0]) for one in (members[0], members[-1]) if isinstance(one, Sub)]
    return symbol.name if str(ends[0]) == "1" and ends[-1] == kind.rows else None


def _symbol(reader: ReaderState, expr: Expr) -> str | None:
    known = reader.context.symbols
    name = symbol_name(expr)
    if name in known:
        return name
    base = known.get(symbol_name(expr.base) or "") if isinstance(expr, Sub) else None
    return base.name if base is not None and base.kind == "family" else None


def _assume(reader: ReaderState, mention: PropertyMention, names: list[str], line: int) -> bool:
    """Assume a property of some symbols, if it means something certain for them."""
    from attention_core.derivation.reading.memberships import random_symbols
    from attention_core.derivation.reading.reader_state import Item, Pending

    symbols: list[Symbol] = [reader.context.symbols[name] for name in names if name in reader.context.symbols]
    formulas = mention.about.meaning(reader.context, symbols) if symbols and len(symbols) == len(names) else None
    arrays = [one for one in symbols if one.kind != "size"]
    if formulas is None and len(symbols) == len(names) and 0 < len(arrays) < len(symbols):
        # "Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be orthogonal": A is
        formulas = mention.about.meaning(reader.context, arrays)
    if formulas is None:
        return False
    for formula, condition in formulas:
        chain = parse_statement(formula, line).chains[0]
        if chain.ops == ("sim",):
            left = [
                c
                for piece in cut_at_commas(tokenize(formula.split(r"\sim")[0], line))
                for c in parse_tokens(piece).chains
            ]
            random_symbols(reader, Item([c.exprs[0] for c in left], chain), line)
            continue
        conditions = list(parse_statement(condition, line).chains) if condition else []
        shown = f"{formula}{f' for {condition}' if condition else ''} ({mention.about.name})"
        reader.pending.append(
            Pending(chain, line, shown, conditions, _without_ends(chain) if mention.about.open else None)
        )
    return True


def _note_unread(reader: ReaderState, parts: list[str], place: int, rest: str, line: int) -> None:
    """Words that may restrict a symbol and were not read become a caveat."""
    rest = without_free_role(rest)
    if not rest.strip(" ,.\n"):
        return
    behind = "$$" if place + 1 < len(parts) else ""
    if reader.drawn or reader.ahead:
        rest = _KNOWN.sub(" ", rest)
    if reader.indices:
        rest = re.sub(r"\bdistinct\b", " ", rest)
    if all(_is_square(reader, name) for some in reader.subjects for name in some):
        rest = re.sub(r"\bsquare(?= matri)", " ", rest)
    found = PROPERTY.search(rest) or LAW_IN_WORDS.search(" ".join((rest + behind).split())) or DEGREE.search(rest)
    if found is None:
        return
    names = {name for some in reader.subjects for name in some}
    after = parts[place + 1] if place + 1 < len(parts) and not re.search(r"[.;]\s*$", rest) else ""
    with suppress(Unreadable, RecursionError):
        names |= set(_names_of(reader, after, line)) if after else set()
    before = parts[place - 1] if place else ""
    quote = f"{f'${before}$' if before else ''}{parts[place]}{f'${after}$' if after else ''}"
    _caveat(reader, quote, frozenset(names) or None, line)


def _is_square(reader: ReaderState, name: str) -> bool:
    kind = reader.context.symbols[name].type if name in reader.context.symbols else None
    return kind is not None and kind.kind == "matrix" and kind.rows == kind.cols


def _caveat(reader: ReaderState, quote: str, names: frozenset[str] | None, line: int) -> None:
    about = (line, shorten_quote(quote), reader.context.level, names)
    reader.context.caveats.append(Caveat(*about, random=bool(RANDOM.search(quote)), plain=True))


def _without_ends(chain: Chain) -> Chain:
    """A bound as those mean it who leave its end out."""
    return replace(chain, ops=tuple(op.removesuffix("=") if op in ("<=", ">=") else op for op in chain.ops))
