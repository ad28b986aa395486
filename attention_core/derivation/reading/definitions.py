r"""Definitions of symbols and functions.

What a symbol or a function stands for: `M := 2 A A^\top`, `\alpha_i := ...`, `f(t) := ...`, `\sigma^2 := ...`.
Behind Let, Put, Define and Where an equation defines a symbol that is not known yet.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.functions import function_form, rename_bound_indices, require_used_parameters
from attention_core.derivation.elaborate.hypotheses import find_defined_name
from attention_core.derivation.elaborate.index_ranges import inferred_range
from attention_core.derivation.elaborate.subscripts import index_items
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Expr, Num, Root, Sub, Sup, Unreadable, names_in
from attention_core.derivation.reading.memberships import introduce
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import ShapeMismatch, Size

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import Item, ReaderState


DEFINING = ("let", "put", "define", "where")


def defines(reader: ReaderState, item: Item) -> bool:
    """Whether `=` defines: after Let or Put with an undeclared symbol on the left."""
    form = function_form(item.left[-1])
    squared = _find_squared_name(item.left[-1])
    if form or squared:
        fresh = (form[0] if form else squared) not in reader.context.symbols
        return fresh and reader.verb in DEFINING and len(item.left) == 1 and len(item.chain.ops) == 1
    name = symbol_name(item.left[-1])
    if reader.verb not in DEFINING or name is None or len(item.left) > 1 or len(item.chain.ops) > 1:
        return False
    known, target = reader.context.symbols, item.left[-1]
    root = known.get(symbol_name(target.base) or "") if isinstance(target, Sub) else None
    if name in known:
        return False
    if root is None or not isinstance(target, Sub):
        return True
    return root.kind != "family" and index_items(Elaborator(reader.context), target.items) is None


def define(reader: ReaderState, item: Item, text: str, line: int) -> None:
    """`M := 2 A A^\\top`, also with indices: `\\alpha_i := ...`."""
    left, right = item.left[-1], item.chain.exprs[-1]
    reader.context.applied = 0
    elab = Elaborator(with_same_sizes(reader.context), line=line)
    form, squared = function_form(left), _find_squared_name(left)
    if form is not None and len(item.chain.ops) == len(item.left) == 1:
        _define_function(reader, form, right, line)
        return
    if squared:
        assert isinstance(left, Sup)
        left, right = left.base, Root(right)
    name, params = find_defined_name(elab, left, right)
    if name is None or item.chain.ops not in (("=",), (":=",)) or len(item.left) != 1:
        raise Unreadable(f"'{text}' is not understood as a definition: write 'Put $M := ...$'", line)
    ranges: list[tuple[Size, Size]] = []
    for param in params:
        ranges.append(inferred_range(elab, param, right))
        elab.bound[param] = None
    if name in names_in(right) and name in reader.context.symbols and reader.context.symbols[name].kind != "definition":
        raise Unreadable(f"{name} is defined by itself", line)
    try:
        term = elab.term(right)
    except ShapeMismatch as error:
        raise Unreadable(f"in the definition of {name}: {error}", line) from None
    low, high = ranges[0] if ranges else (None, None)
    about = frozenset(all_names(right) - set(params))
    place = (name, "definition", line, reader.context.level)
    symbol = Symbol(*place, None, low, high, term=term, params=tuple(params), mentions=about)
    introduce(reader, symbol, f"{name} is defined as {to_latex(right)}, {term.type}")


def _define_function(reader: ReaderState, form: tuple[str, tuple[str, ...]], right: Expr, line: int) -> None:
    """`f(t) := ...`."""
    name, params = form
    elab = Elaborator(reader.context, line=line)
    require_used_parameters(elab, right, params)
    if name in names_in(right):
        raise Unreadable(f"{name} is defined by itself", line)
    about = frozenset(all_names(right) - set(params))
    body = rename_bound_indices(reader.context, right, params)
    symbol = Symbol(name, "function", line, reader.context.level, params=params, body=body, mentions=about)
    introduce(reader, symbol, f"{name}({', '.join(params)}) is defined as {to_latex(right)}")


def _find_squared_name(expr: Expr) -> str:
    r"""The name in `\sigma^2`, which defines sigma as the root; '' of anything else."""
    return (symbol_name(expr.base) or "") if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)) else ""
