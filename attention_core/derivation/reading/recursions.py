r"""Sequences that a document defines by recursion, and closed forms of them, which are decided by induction.

"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$." makes a sequence. `a_3 = \alpha^3 x` is read with the recursion put in
three times. `a_n = \alpha^n x`, for every n in \mathbb{N}, holds just if it holds at n = 1 and the right side passes
from n to n + 1 as the recursion says: both equations stand in one column, which is decided as any other equation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import (
    Array,
    Chain,
    Dots,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Statement,
    Sub,
    Sup,
    Unreadable,
    children,
    names_in,
)
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.paragraphs import cut_at_commas

MOST_STEPS = 12  # of a recursion that are put in
_PREVIOUS = Name("previous")
_DEFINES = re.compile(r"(?:\b(?:let|put|define|set|where|given by|recursively|start)\b[^.;$]*)$", re.IGNORECASE)
_JOINS = re.compile(r"\s*,?\s*(?:and|with)?\s*,?\s*$", re.IGNORECASE)
_CLOSES = re.compile(r"\s*(?:[.,;:]|$|and\b)")
_FOR = re.compile(r"\s*,?\s*for (?:all |every |each )?$", re.IGNORECASE)


@dataclass(frozen=True)
class Recursion:
    """`name_first = base`, and `name_letter = step` in terms of `previous`, which stands for `name_{letter - 1}`."""

    name: str
    first: int
    base: Expr
    letter: str
    step: Expr
    level: int
    shift: int = 0  # 1 where the document says what `name_{letter + 1}` is

    def at(self, index: int) -> Expr:
        """A member, with the recursion put in.

        Args:
            index: Which; `first` at least, and `MOST_STEPS` beyond it at most.
        """
        value = self.base
        for k in range(self.first + 1, index + 1):
            value = self.next(Num(Fraction(k)), value)
        return value

    def next(self, index: Expr, previous: Expr) -> Expr:
        """The member at an index after a given one."""
        rules = {self.letter: _group(index), _PREVIOUS.text: _group(previous)}
        return _replace(self.step, rules)


def take_recursions(context: Context, parts: list[str], line: int) -> list[str]:
    """The prose and formulas of a declaration in turn, without the sequences that it defines by recursion.

    Args:
        context: What is declared; the sequences are added.
        parts: Prose and formulas.
        line: The line of the declaration.
    """
    out = list(parts)
    for place in range(1, len(parts), 2):
        if not _DEFINES.search(out[place - 1]):
            continue
        ends = [place]
        if place + 2 < len(parts) and _JOINS.fullmatch(parts[place + 1]):
            ends.append(place + 2)
        for end in reversed(ends):
            found = _recursion_in(context, ", ".join(parts[place : end + 1 : 2]), line)
            if found is None:
                continue
            if end + 2 < len(parts) and _FOR.fullmatch(parts[end + 1]):
                if not _is_whole_range(found, parts[end + 2]):
                    break
                end += 2
            if not _CLOSES.match(parts[end + 1] if end + 1 < len(parts) else ""):
                break  # "for even k": another rule may follow
            context.recursions[found.name] = found
            shown = f"{found.name}_{{{found.first}}} = {to_latex(found.base)}"
            context.understood.append((line, f"{found.name}: a sequence, {shown}, and on by recursion"))
            out[place] = ""
            for k in range(place + 1, end + 1):
                out[k] = "\n" * parts[k].count("\n")
            break
    return out


def _is_whole_range(sequence: Recursion, condition: str) -> bool:
    """Whether a recursion is about every member after the first: `k \\ge 1` of one that starts at 0."""
    from_one = re.fullmatch(
        rf"\s*{re.escape(sequence.letter)}\s*(?:\\in\s*\\mathbb\{{?N\}}?|=\s*1,\s*2,\s*(?:3,\s*)?\\l?dots)\s*",
        condition,
    )
    bound = re.fullmatch(rf"\s*{re.escape(sequence.letter)}\s*(\\geq?(?![a-zA-Z])|>)\s*(\d+)\s*", condition)
    if from_one is None and bound is None:
        return False
    lowest = 1 if bound is None else int(bound[2]) + (bound[1] == ">")
    return lowest + sequence.shift == sequence.first + 1


def write_members(context: Context, statement: Statement) -> Statement:
    """A statement with numbered members of sequences put in, and closed forms of a member as base and step.

    Args:
        context: What is declared.
        statement: The statement; what speaks of other members comes back as it is.
    """
    if not context.recursions:
        return statement
    chains = []
    for chain in statement.chains:
        chain = replace(chain, exprs=tuple(_put_members(context, one) for one in chain.exprs))
        chains.append(_write_induction(context, chain) or chain)
    return replace(statement, chains=tuple(chains))


def _write_induction(context: Context, chain: Chain) -> Chain | None:
    """`a_n = R` as two equations in a column: at n = 1, and from n to n + 1; None of anything else."""
    if chain.ops != ("=",):
        return None
    for side, other in (chain.exprs, chain.exprs[::-1]):
        found = _member(context, side)
        if found is None or found[0].name in names_in(other) or _has_dots(other):
            continue
        sequence, letter, offset = found
        symbol = context.symbols.get(letter)
        tied = any(letter in s.mentions for s in context.symbols.values())
        tied = tied or any(letter in h.mentions for h in context.hypotheses)
        start = 1 + offset
        if symbol is None or symbol.kind != "size" or tied or not 0 <= start - sequence.first <= MOST_STEPS:
            continue
        later = Plus((Name(letter), Num(Fraction(1))))
        index = Plus((Name(letter), Num(Fraction(1 + offset)))) if offset != -1 else Name(letter)
        lefts = sequence.at(start), sequence.next(index, other)
        rights = _replace(other, {letter: Num(Fraction(1))}), _replace(other, {letter: _group(later)})
        columns = tuple(Array(tuple((cell,) for cell in cells)) for cells in (lefts, rights))
        context.understood.append((chain.lines[0] if chain.lines else 0, f"by induction over {letter}: base and step"))
        return replace(chain, exprs=columns)
    return None


def _member(context: Context, expr: Expr) -> tuple[Recursion, str, int] | None:
    """The sequence, the letter and the offset of `a_{n + c}`, None of anything else."""
    if not isinstance(expr, Sub) or not isinstance(expr.base, Name) or len(expr.items) != 1:
        return None
    sequence = context.recursions.get(expr.base.text)
    found = _offset(expr.items[0].exprs[0])
    return None if sequence is None or found is None or not found[0] else (sequence, *found)


def _put_members(context: Context, expr: Expr) -> Expr:
    """An expression with its numbered members put in."""

    def rule(node: object) -> object | None:
        if not isinstance(node, Sub) or not isinstance(node.base, Name) or len(node.items) != 1:
            return None
        sequence, found = context.recursions.get(node.base.text), _offset(node.items[0].exprs[0])
        if sequence is None or found is None or found[0]:
            return None
        inside = 0 <= found[1] - sequence.first <= MOST_STEPS
        return _group(sequence.at(found[1])) if inside else None

    return substitute(expr, rule)  # type: ignore[return-value]


def _recursion_in(context: Context, text: str, line: int) -> Recursion | None:
    """The sequence that formulas define: one member by its number, and the next by the one before it."""
    if text.count("_") < 2:  # each member has an index
        return None
    try:
        tokens = tokenize(text, line)
        if sum(t.kind == "REL" for t in tokens) < 2 or sum(t.kind == "UNDER" for t in tokens) < 2:
            return None  # most declarations: they need no parsing here
        pieces = [parse_tokens(piece).chains for piece in cut_at_commas(tokens)]
    except (Unreadable, RecursionError):
        return None
    chains = [chain for piece in pieces for chain in piece]
    if len(chains) != 2 or any(one.ops not in ((":=",), ("=",)) for one in chains):
        return None
    heads = [one.exprs[0] for one in chains]
    if not all(isinstance(h, Sub) and isinstance(h.base, Name) and len(h.items) == 1 for h in heads):
        return None
    names = {h.base.text for h in heads if isinstance(h, Sub) and isinstance(h.base, Name)}
    places = [_offset(h.items[0].exprs[0]) if isinstance(h, Sub) else None for h in heads]
    if len(names) != 1 or names & set(context.symbols) or None in places:
        return None
    (name,) = names
    (base_letter, first), (letter, shift) = places[0], places[1]  # type: ignore[misc]
    known = context.symbols.get(letter)
    if base_letter or not letter or first not in (0, 1) or shift not in (0, 1) or (known and known.kind != "size"):
        return None
    step = _step_of(name, letter, shift, chains[1].exprs[1])
    base = chains[0].exprs[1]
    if step is None or name in names_in(base):
        return None
    return Recursion(name, first, base, letter, step, context.level, shift)


def _step_of(name: str, letter: str, shift: int, expr: Expr) -> Expr | None:
    """What stands after `a_k =` in terms of k and of the member before; None if another member stands there."""

    def rule(node: object) -> object | None:
        if isinstance(node, Sub) and node.base == Name(name) and len(node.items) == 1:
            return _PREVIOUS if _offset(node.items[0].exprs[0]) == (letter, shift - 1) else None
        return None

    step: Expr = substitute(expr, rule)  # type: ignore[assignment]
    if name in names_in(step) or _PREVIOUS.text not in names_in(step):
        return None
    less = Group("(", (Chain((Plus((Name(letter), Minus(Num(Fraction(1))))),)),), ")")
    return _replace(step, {letter: less}) if shift else step


def _offset(expr: Expr) -> tuple[str, int] | None:
    """Letter and number of `k`, `k - 1`, `k + 2` or `3`, None of anything else."""
    match expr:
        case Name(letter):
            return letter, 0
        case Num(value) if value.denominator == 1:
            return "", int(value)
        case Plus((Name(letter), Num(value))) if value.denominator == 1:
            return letter, int(value)
        case Plus((Name(letter), Minus(Num(value)))) if value.denominator == 1:
            return letter, -int(value)
    return None


def _replace(expr: Expr, values: dict[str, Expr]) -> Expr:
    """An expression with other ones for some names; in an exponent they stand without brackets, which mark a label."""

    def rule(node: object) -> object | None:
        if isinstance(node, Sup) and isinstance(node.exponent, Name) and node.exponent.text in values:
            return Sup(_replace(node.base, values), _bare(values[node.exponent.text]))
        return values.get(node.text) if isinstance(node, Name) else None

    return substitute(expr, rule)  # type: ignore[return-value]


def _bare(expr: Expr) -> Expr:
    return expr.items[0].exprs[0] if isinstance(expr, Group) else expr


def _group(expr: Expr) -> Expr:
    return expr if isinstance(expr, Name | Num | Group) else Group("(", (Chain((expr,)),), ")")


def _has_dots(node: object) -> bool:
    return isinstance(node, Dots) or any(_has_dots(one) for one in children(node))
