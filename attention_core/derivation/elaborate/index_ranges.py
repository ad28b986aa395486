r"""Ranges of indices as they are written.

Which values an index runs over: i = 1, \dots, n and i \in \{1, \dots, n\} and i \in [n] say the same.
Conditions come as chains cut at commas; here they are put together again before anybody reads one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Dots, Expr, Group, Name, Num, Sub, Unreadable, children
from attention_core.derivation.terms.context import Symbol, range_of_member
from attention_core.derivation.terms.terms import ONE, Size, Term

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


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
        length = _count_list(chains, place)
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


def _count_list(chains: Sequence[Chain], place: int) -> int:
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
        raise Unreadable(
            f"'{to_latex(chains[place])}, \\dots' does not say where it ends: write it, as in 'i = 1, \\dots, n'"
        )
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
                raise elab.fail(f"'{to_latex(expr)}' leaves values out: only ranges without gaps are understood")
            return cells[0], cells[-1]
    raise elab.fail(f"'{to_latex(expr)}' is not understood as a set of indices: write \\{{1, \\dots, n\\}}")


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


def inferred_range(elab: Elaborator, name: str, body: object, conditions: Sequence[Chain] = ()) -> tuple[Size, Size]:
    """The range of an index whose bounds are not written: that of the arrays and families it stands at."""
    found: set[tuple[Size, Size]] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        stack.extend(children(node))
        if not isinstance(node, Sub):
            continue
        base = symbol_name(node.base)
        symbol = elab.lookup(base) if base else None
        if symbol is None:
            continue
        items = [item.exprs[0] for item in node.items]
        if len(items) == 1 and not isinstance(items[0], Name) and hasattr(items[0], "factors"):
            items = list(items[0].factors)
        for place, item in enumerate(items):
            if item == Name(name):
                extent = _extent(symbol, place, len(items))
                if extent is not None:
                    found.add(extent)
    if not found:  # an index that differs from another by a condition runs over the same values
        for chain in conditions:
            if Name(name) in chain.exprs:
                found |= {r for e in chain.exprs if (r := _declared_range(elab, symbol_name(e) or "")) is not None}
    declared = elab.lookup(name)
    if not found and declared is not None and declared.kind == "index" and declared.highest is not None:
        assert declared.lowest is not None
        return declared.lowest, declared.highest
    if len(found) != 1:
        why = "nothing it indexes has a declared range" if not found else "the arrays it indexes have different ranges"
        raise elab.fail(
            f"the range of the index {name} is not clear ({why}): write it out, such as _{{{name}=1}}^{{n}}"
        )
    return found.pop()


def _declared_range(elab: Elaborator, name: str) -> tuple[Size, Size] | None:
    symbol = elab.lookup(name)
    if symbol is None or symbol.kind != "index" or symbol.lowest is None or symbol.highest is None:
        return None
    return symbol.lowest, symbol.highest


def _extent(symbol: Symbol, place: int, count: int) -> tuple[Size, Size] | None:
    kind = symbol.type or (None if symbol.term is None else symbol.term.type)
    if symbol.kind == "family" or symbol.params:
        members = len(symbol.params) or 1
        if place < members:
            return range_of_member(symbol, place)
        place, count = place - members, count - members  # an entry of a member
    if kind is None or kind.kind != "matrix":
        return None
    if kind.vector and count == 1:
        return ONE, kind.rows if kind.column else kind.cols
    return ONE, (kind.rows, kind.cols)[min(place, 1)]
