r"""`x, y \sim ...`, `x_1, \dots, x_n \sim ...`, `k_i \sim \mathcal{N}(\mu_i, ...)`.

Random symbols from a declaration: single ones, families with one law, families whose law mentions the member.
What the parameters of a law must satisfy becomes a hypothesis of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import index_ends, inferred_range, spread
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Dots, Expr, Name, Sub, Unreadable
from attention_core.derivation.reading.domains import law_of
from attention_core.derivation.terms.context import Context, Distribution, Symbol
from attention_core.derivation.terms.random_symbols import derive_conditions, is_random
from attention_core.derivation.terms.shapes import size_term
from attention_core.derivation.terms.terms import Relation, Size

Drawn = tuple[Symbol, list[Relation]]


def drawn_symbols(context: Context, left: Sequence[Expr], right: Expr, line: int) -> list[Drawn]:
    """The random symbols of one declaration, each with what its law asks of its parameters."""
    runs = [k for k, e in enumerate(left) if isinstance(e, Dots)]
    if runs:
        first, last = left[0], left[-1]
        if not (
            isinstance(first, Sub) and isinstance(last, Sub) and first.base == last.base and runs == [len(left) - 2]
        ):
            raise Unreadable("a random family is written x_1, \\dots, x_n \\sim ...", line)
        elab = Elaborator(context, line=line)
        extent = elab.size(first.items[0].exprs[0]), elab.size(last.items[0].exprs[0])
        before = context.symbols.get(symbol_name(first.base) or "")
        if before is not None and before.kind != "family":
            context = _without(context, before.name)
        return [_declare_random(context, first.base, right, line, extent, "")]
    return [_single(context, expr, right, line) for expr in left]


def _single(context: Context, expr: Expr, right: Expr, line: int) -> Drawn:
    """One symbol, or a family `k_i` with an index that is not declared."""
    if isinstance(expr, Sub) and len(expr.items) == 1 and expr.items[0].alone:
        inner, base = expr.items[0].exprs[0], symbol_name(expr.base) or ""
        family = context.symbols.get(base)
        if isinstance(inner, Name) and inner.text not in context.symbols:
            index = inner.text
            if family is not None and family.kind == "family":
                assert family.lowest is not None and family.highest is not None
                return _declare_random(context, expr.base, right, line, (family.lowest, family.highest), index)
            if index in _subscripts(right):
                extent = inferred_range(Elaborator(context, line=line), index, right)
                return _declare_random(_without(context, base), expr.base, right, line, extent, index)
            if family is not None:
                raise Unreadable(
                    f"write the law of {base} as a whole, such as {base} \\sim \\mathcal{{N}}(m, s^2 I_d)", line
                )
        elif family is not None and family.kind == "family":
            raise Unreadable(
                f"one member of {base} cannot have a law of its own: draw all of them, as k_i with a letter that is "
                "not declared, and write what is different as a symbol of its own",
                line,
            )
    symbol = symbol_name(expr)
    before = context.symbols.get(symbol or "")
    range_: tuple[Size, Size] | None = None
    if before is not None and before.lowest is not None and before.highest is not None:
        range_ = before.lowest, before.highest
    return _declare_random(context, expr, right, line, range_, "")


def _without(context: Context, name: str) -> Context:
    """The context without one name, which is about to be declared anew."""
    copy = context.copy()
    copy.symbols.pop(name, None)
    return copy


def _subscripts(node: object) -> set[str]:
    from attention_core.derivation.latex.syntax import children, names_in

    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        stack.extend(children(one))
        if isinstance(one, Sub):
            found |= {n for item in one.items for n in names_in(item)}
    return found


def _collect_mentions(context: Context, names: set[str]) -> set[str]:
    """The declared names among some, and those that their definitions mention."""
    found: set[str] = set()
    todo = [n for n in names if n in context.symbols]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [n for n in context.symbols[name].mentions if n in context.symbols]
    return found


def _declare_random(
    context: Context, target: Expr, right: Expr, line: int, extent: tuple[Size, Size] | None, index: str
) -> Drawn:
    name = symbol_name(target)
    if name is None:
        raise Unreadable(f"'{to_latex(target)}' is not a symbol that can be random", line)
    elab = Elaborator(context, {index: None} if index else None, line)
    kind, law_name, parameters, mentions = law_of(elab, right)
    hidden = sorted(n for n in _collect_mentions(context, mentions) if n != name and is_random(context.symbols[n]))
    if hidden:
        raise Unreadable(f"the law of {name} depends on {hidden[0]}, which is random: that is not understood", line)
    before = context.symbols.get(name)
    actual = before.type if before is not None and before.type is not None else kind
    turned = actual == kind.transpose and parameters[0].type.kind != "matrix"  # a row whose mean is a number
    if actual != kind and not kind.scalar and not turned:
        raise Unreadable(f"{name} is {actual}, but the law draws {kind}", line)
    low, high = extent if extent is not None else (None, None)
    more = high.symbols() | low.symbols() if high is not None and low is not None else set()
    law = Distribution(law_name, parameters, 0, False, index)
    about = frozenset((mentions | more) - {index})
    shape = "family" if high is not None else "array"
    symbol = Symbol(name, shape, line, context.level, actual, low, high, law=law, mentions=about)
    relations = derive_conditions(law, line)
    if index and low is not None and high is not None:
        relations = [replace(r, over=((index, size_term(low), size_term(high)),)) for r in relations]
    return symbol, relations


def require_whole_range(context: Context, symbol: Symbol, conditions: Sequence[Chain], line: int) -> None:
    """`for i \\in \\{1, \\dots, n\\}` after a law must say the family's own range."""
    assert symbol.law is not None
    index = Name(symbol.law.index)
    rest = spread(conditions)
    if len(rest) == 1 and rest[0].ops == ("in",) and rest[0].exprs[0] == index:
        elab = Elaborator(context, line=line)
        low, high = index_ends(elab, rest[0].exprs[1])
        if (elab.size(low), elab.size(high)) == (symbol.lowest, symbol.highest):
            return
    if len(rest) == 1 and rest[0].alone and rest[0].exprs[0] == index:
        return
    raise Unreadable(f"a law is for every member of {symbol.name}, from {symbol.lowest} to {symbol.highest}", line)
