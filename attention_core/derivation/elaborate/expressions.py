"""The table of forms: how each written expression becomes a term.

From the written tree to typed terms: which subscript is an index, which product is which, and do the shapes fit.
`Elaborator` is complete where it is imported from here.
"""

from __future__ import annotations

from attention_core.derivation.elaborate.calls import call
from attention_core.derivation.elaborate.differentials import ALONG, derivative_along
from attention_core.derivation.elaborate.dotted import array, dotted_sum, group
from attention_core.derivation.elaborate.elaborator import HANDLERS, Elaborator
from attention_core.derivation.elaborate.entrywise_calls import apply_by_entries
from attention_core.derivation.elaborate.functions import (
    MARK,
    expand_definition,
    fence,
    root,
    slope_at,
    with_calls,
)
from attention_core.derivation.elaborate.indicators import require_function, with_indicators
from attention_core.derivation.elaborate.matrix_functions import (
    ENTRIES_ABOVE,
    is_pseudo_inverse,
    matrix_call,
    with_spectra,
)
from attention_core.derivation.elaborate.products import derivative, ordinary, times
from attention_core.derivation.elaborate.products_by_entries import divide
from attention_core.derivation.elaborate.row_functions import with_row_functions
from attention_core.derivation.elaborate.subscripts import elaborate_letter_power, elaborate_subscript, power, symbol
from attention_core.derivation.elaborate.sums import big
from attention_core.derivation.latex.syntax import (
    SLOPE,
    Array,
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Slice,
    Sub,
    Sup,
    Times,
    Transpose,
)
from attention_core.derivation.terms.terms import Term, integer, negative, transpose


def _sum(elab: Elaborator, expr: Plus) -> Term:
    """A sum, with dots between its terms or without."""
    if any(isinstance(t, Dots) or t == Minus(Dots()) for t in expr.terms):
        return dotted_sum(elab, expr.terms)
    return elab.total([elab.term(t) for t in expr.terms])


def _product(elab: Elaborator, expr: Times) -> Term:
    """A product, once indicators and applied functions in it are calls."""
    called = with_indicators(elab, expr)
    if isinstance(called, Times):
        called = with_row_functions(lambda name: elab.lookup(name) is not None, called)
    called = with_spectra(elab, called) if isinstance(called, Times) else called
    called = with_calls(elab, called) if isinstance(called, Times) else called
    if not isinstance(called, Times):
        return elab.term(called)
    require_function(elab, called)
    return times(elab, called.factors, called.ops)


def _fraction(elab: Elaborator, expr: Frac) -> Term:
    """A quotient, or a derivative that is written as one."""
    found = ordinary(elab, expr)
    if found is None:
        return divide(elab.term(expr.top), elab.term(expr.bottom))
    if found.body == Dots():
        raise elab.fail("a derivative of nothing: write what is differentiated after it")
    return derivative(elab, found)


def _power(elab: Elaborator, expr: Sup) -> Term:
    """A pseudo-inverse where the document speaks of one, else a power; no power where it speaks of entries."""
    if isinstance(expr.base, Name) and f"{ENTRIES_ABOVE}{expr.base.text}" in elab.context.stated:
        name = expr.base.text
        raise elab.fail(
            f"the document says that marks above {name} number its entries, and are not powers: write {name}_i"
        )
    if is_pseudo_inverse(elab, expr.base, expr.exponent):
        return matrix_call(elab, "pinv", [elab.term(expr.base)])
    return power(elab, expr, expr.base, expr.exponent)


def _call(elab: Elaborator, expr: Call) -> Term:
    """A function of the document, or one with a name in mathematics."""
    if expr.function.startswith(SLOPE):
        head, argument = (one.exprs[0] for one in expr.args)
        order = int(expr.function.removeprefix(SLOPE))
        entries = isinstance(head, Call)  # known functions of numbers are taken entry by entry
        return apply_by_entries(elab, argument, lambda inner, at: slope_at(inner, order, head, at), entries)
    if expr.function == ALONG:
        return derivative_along(elab, *(one.exprs[0] for one in expr.args))
    if not expr.function.startswith(MARK):
        return call(elab, expr)
    function = elab.context.symbols[expr.function.removeprefix(MARK)]
    if len(expr.args) != 1 or not expr.args[0].alone:
        return elab.term(expand_definition(elab, function, expr.args))

    def apply(inner: Elaborator, at: Expr) -> Term:
        return inner.term(expand_definition(inner, function, (Chain((at,)),)))

    return apply_by_entries(elab, expr.args[0].exprs[0], apply)


def _transposed(elab: Elaborator, expr: Transpose) -> Term:
    r"""A transpose, and no number's of which only `x \ne 0` is known: it may as well be a vector."""
    if expr.letter:
        return elaborate_letter_power(elab, expr.base)
    found = elab.lookup(expr.base.text) if isinstance(expr.base, Name) else None
    if found is not None and found.unequal:
        raise elab.fail(
            f"{found.name} is transposed, and line {found.line} says only that it is not 0: write where it lives, as "
            f"in '${found.name} \\in \\mathbb{{R}}^n$'"
        )
    return transpose(elab.term(expr.base))


def _dots(elab: Elaborator, expr: Dots) -> Term:
    raise elab.fail("the dots do not stand between terms of one pattern: write the sum with \\sum")


def _slice(elab: Elaborator, expr: Slice) -> Term:
    raise elab.fail("a slice is only understood as a subscript")


HANDLERS.update(
    {
        Num: lambda elab, expr: integer(expr.value),
        Name: lambda elab, expr: symbol(elab, expr.text),
        Sub: elaborate_subscript,
        Sup: _power,
        Transpose: _transposed,
        Group: group,
        Minus: lambda elab, expr: negative(elab.term(expr.body)),
        Plus: _sum,
        Times: _product,
        Frac: _fraction,
        Root: lambda elab, expr: root(elab, expr.body, expr.degree),
        Call: _call,
        Big: big,
        Fence: lambda elab, expr: fence(elab, expr.kind, expr.body),
        Array: lambda elab, expr: array(elab, expr.rows),
        Derivative: derivative,
        Dots: _dots,
        Slice: _slice,
    }
)

__all__ = ["Elaborator"]
