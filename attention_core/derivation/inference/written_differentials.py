r"""Differentials as a document writes them: $dY = dX \, W + X \, dW$, $df = \operatorname{tr}(G^\top dY)$.

In a document that speaks of differentials, an equation with `d Y` alone on its left and a differential on its right is
about changes: dX is an array of its own, and dY of a Y that is defined follows from it. What varies is what is behind a
d in the section, and what the quantities behind a d on the right are made of; all else is held fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from attention_core.derivation.elaborate.differentials import DIFFERENTIALS, differential_of
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.elaborate.intermediates import gather_entries
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Expr, Frac, Name, Sub, Times, Transpose
from attention_core.derivation.terms.context import Caveat, Context, Symbol
from attention_core.derivation.terms.terms import SCALAR, Term

_D = Name("d")


def write_differentials(
    context: Context, chains: tuple[Chain, ...], line: int, around: Callable[[], Iterable[Chain]]
) -> tuple[Chain, ...]:
    """The chains with names in the place of differentials, which are declared.

    Args:
        context: What is declared; it is changed.
        chains: The relations of a statement.
        line: Its line.
        around: Gives the relations of its section.
    """
    if DIFFERENTIALS not in context.stated or len(chains) != 1 or not _is_of_changes(context, chains[0]):
        return chains
    written: Chain = _write(context, chains[0])  # type: ignore[assignment]
    behind, right = _names_behind(context, chains[0].exprs), _names_behind(context, chains[0].exprs[1:])
    here = {name for target in right for name in _made_of(context, target)}
    others = [expr for chain in around() if _is_of_changes(context, chain) for expr in chain.exprs]
    free = {name for name in _names_behind(context, others) if context.symbols[name].kind in ("array", "family")}
    varied = here | free
    changes = {name: f"d {name}" for name in sorted(varied)}
    for name, change in changes.items():
        known = replace(context.symbols[name], lower=None, upper=None, values=(), law=None)
        context.symbols[change] = replace(known, name=change, mentions=known.mentions | {name})
    for name in sorted(behind - varied):
        _define(context, name, changes, line)
    bodies = {one for name in behind for one in _made_of(context, name)}
    if held := (varied - here) & bodies:
        quote = f"what {', '.join(sorted(held))} does in this step"
        about = frozenset(changes[name] for name in held)
        context.caveats.append(Caveat(line, quote, context.level, about, whole=True))
    return (written,)


def _define(context: Context, name: str, changes: dict[str, str], line: int) -> None:
    """Define the change of a quantity by those of what it is made of."""
    known = context.symbols[name]
    term = gather_entries(known) or known.term or Term("zeros", (), known.type or SCALAR)
    used = {str(one.data) for one in term.walk() if one.op in ("leaf", "member")}
    change = differential_of(term, changes)
    about = frozenset({name, *(changes[one] for one in used if one in changes)})
    context.symbols[f"d {name}"] = Symbol(f"d {name}", "definition", line, context.level, term=change, mentions=about)


def may_be_of_changes(context: Context, left: Expr, right: Expr) -> bool:
    """Whether an equation in which d is a symbol may be one of differentials.

    Args:
        context: What is declared.
        left: Its left side.
        right: Its right side.
    """
    return "d" in context.symbols and _is_of_changes(context, Chain((left, right), ("=",), (0,)))


def _is_of_changes(context: Context, chain: Chain) -> bool:
    """Whether an equation has a differential alone on its left and others on its right."""
    left = chain.exprs[0]
    alone = isinstance(left, Times) and left.ops == ("",) and left.factors[0] == _D
    return chain.ops[:1] == ("=",) and alone and all(_names_behind(context, (one,)) for one in chain.exprs[:2])


def _names_behind(context: Context, exprs: Iterable[object]) -> set[str]:
    """The symbols that stand behind a d, outside of denominators."""
    found = (_known(context, target) for expr in exprs for target in _pairs(expr))
    return {name for name in found if name is not None}


def _pairs(node: object) -> Iterator[Expr]:
    if isinstance(node, Frac):
        yield from _pairs(node.top)
        return
    if isinstance(node, Times):
        for place, factor in enumerate(node.factors[:-1]):
            if factor == _D and not node.ops[place]:
                yield node.factors[place + 1]
    for name in getattr(node, "__slots__", ()):
        for part in _parts(getattr(node, name)):
            yield from _pairs(part)


def _parts(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _known(context: Context, target: Expr) -> str | None:
    """The array or the quantity that stands behind a d, with an index or a transpose or without."""
    base = target.base if isinstance(target, Transpose) else target
    while isinstance(base, Sub) and symbol_name(base) not in context.symbols:
        base = base.base
    name = symbol_name(base) or ""
    known = context.symbols.get(name)
    return name if known is not None and known.kind in ("array", "family", "definition") else None


def _write(context: Context, node: object) -> object:
    """A tree with names in the place of differentials."""

    def rule(part: object) -> object | None:
        if isinstance(part, Frac):
            top = _write(context, part.top)
            return part if top is part.top else replace(part, top=top)  # type: ignore[arg-type]
        if not isinstance(part, Times) or _D not in part.factors:
            return None
        factors, ops, place = list(part.factors), list(part.ops), 0
        while place < len(ops):
            name = _known(context, factors[place + 1]) if factors[place] == _D and not ops[place] else None
            if name is not None:
                factors[place : place + 2] = [_name_change(factors[place + 1], name)]
                del ops[place]
            place += 1
        inner = tuple(_write(context, one) for one in factors)
        return Times(inner, tuple(ops)) if ops else inner[0]  # type: ignore[arg-type]

    return substitute(node, rule)


def _name_change(target: Expr, name: str) -> Expr:
    """The name of a change, with the index or the transpose of what changes."""
    if isinstance(target, Transpose):
        return Transpose(_name_change(target.base, name), target.letter)
    if isinstance(target, Sub) and symbol_name(target) != name:
        return Sub(_name_change(target.base, name), target.items)
    return Name(f"d {name}")


def _made_of(context: Context, name: str) -> set[str]:
    """The arrays and families that a symbol is made of, itself if it is one."""
    known = context.symbols.get(name)
    if known is None or known.kind in ("array", "family"):
        return set() if known is None else {name}
    term = known.term
    leaves = () if term is None else (one for one in term.walk() if one.op in ("leaf", "member"))
    return {str(one.data) for one in leaves}
