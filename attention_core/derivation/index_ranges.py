# Which values an index runs over: i = 1, \dots, n and i \in \{1, \dots, n\} and i \in [n] say the same.
# Conditions come as chains cut at commas; here they are put together again before anybody reads one alone.
r"""Ranges of indices as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from attention_core.derivation.elaborate import Elaborator
from attention_core.derivation.syntax import Chain, Dots, Expr, Group, Name, Num, Unreadable
from attention_core.derivation.terms import Size, Term
from attention_core.derivation.written import written


def spread(chains: Sequence[Chain]) -> list[Chain]:
    r"""Conditions one by one: `i \ne a, b` is `i \ne a` and `i \ne b`, `i = 1, \dots, n` is `i \in \{1, \dots, n\}`.

    Example:
        >>> spread([Chain((Name("i"), Num(Fraction(1))), ("=",)), Chain((Num(Fraction(2)),), ())])[0].ops
        ('in',)
    """
    out: list[Chain] = []
    place = 0
    while place < len(chains):
        chain = chains[place]
        length = _listed(chains, place)
        if length > 1:
            values = [chain.exprs[1], *(c.exprs[0] for c in chains[place + 1 : place + length])]
            items = tuple(Chain((value,), ()) for value in values)
            out.append(Chain((chain.exprs[0], Group("{", items, "}")), ("in",), chain.lines))
        elif chain.alone and out and out[-1].ops == ("!=",):
            out.append(Chain((out[-1].exprs[0], chain.exprs[0]), ("!=",), out[-1].lines))
        else:
            out.append(chain)
        place += length
    return out


def _listed(chains: Sequence[Chain], place: int) -> int:
    r"""How many chains from a place on are one list of values, `i = 1, \dots, n` or `i = 1, 2`; 1 without a list."""
    if chains[place].ops != ("=",) or not isinstance(chains[place].exprs[0], Name):
        return 1
    end = place + 1
    while end < len(chains) and chains[end].alone and isinstance(chains[end].exprs[0], Num):
        end += 1
    dotted = end < len(chains) and chains[end].alone and isinstance(chains[end].exprs[0], Dots)
    if dotted and end + 1 < len(chains) and chains[end + 1].alone:
        return end + 2 - place
    if dotted:
        raise Unreadable(f"'{written(chains[place])}, \\dots' does not say where it ends")
    return end - place


def index_ends(elab: Elaborator, expr: Expr) -> tuple[Expr, Expr]:
    r"""The lowest and the highest value of `\{1, \dots, n\}`, `\{1, 2, \dots, n\}`, `\{2, 3\}` or `[n]`."""
    if isinstance(expr, Group) and all(item.alone for item in expr.items):
        cells = [item.exprs[0] for item in expr.items]
        if expr.bracket == "[" and len(cells) == 1 and not expr.semicolons:
            return Num(Fraction(1)), cells[0]
        dotted = len(cells) >= 3 and isinstance(cells[-2], Dots)
        listed = cells[:-2] if dotted else cells
        if expr.bracket == "{" and listed and not any(isinstance(c, Dots) for c in listed):
            if len(listed) > 1 and not _consecutive(elab, listed):
                raise elab.fail(f"'{written(expr)}' leaves values out: only ranges without gaps are understood")
            return cells[0], cells[-1]
    raise elab.fail(f"'{written(expr)}' is not understood as a set of indices: write \\{{1, \\dots, n\\}}")


def _consecutive(elab: Elaborator, listed: Sequence[Expr]) -> bool:
    sizes = [elab.size(one) for one in listed]
    return all(later == sizes[0] + Size.number(Fraction(k)) for k, later in enumerate(sizes))


def index_set(elab: Elaborator, expr: Expr) -> tuple[Term, Term]:
    """The ends of a set of indices as terms."""
    low, high = index_ends(elab, expr)
    return elab.term(low), elab.term(high)


def between(elab: Elaborator, chain: Chain) -> Chain:
    r"""`i \in \{a, \dots, b\}` as `a \le i \le b`, for an index that has a range already."""
    low, high = index_ends(elab, chain.exprs[1])
    return Chain((low, chain.exprs[0], high), ("<=", "<="), chain.lines * 2)
