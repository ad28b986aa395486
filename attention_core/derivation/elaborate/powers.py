"""Exponents and transposes.

What stands above the line: a power, an inverse, a transpose, a label or an index in brackets.
`A^T` is a transpose or a power, as T is declared; where it may be both, it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.names import symbol
from attention_core.derivation.elaborate.subscripts import elaborate_subscript
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Expr, Group, Minus, Name, Num, Sub, Sup, Unreadable
from attention_core.derivation.terms.context import Symbol, has_entries
from attention_core.derivation.terms.shapes import product, scalar_function, transpose
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Term

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def elaborate_letter_power(elab: Elaborator, base: Expr) -> Term:
    """`base^T`: a power of a number where T is a number, else a transpose of what is not a number."""
    found = elab.lookup("T")
    number = "T" in elab.bound or (found is not None and _symbol_is_number(found))
    name = to_latex(base)
    if number and base == Name("e") and elab.lookup("e") is None:
        return power(elab, Sup(base, Name("T")), base, Name("T"))
    body = elab.term(base)
    if body.type.scalar and number:
        return power(elab, Sup(base, Name("T")), base, Name("T"))
    if body.type.scalar:
        raise elab.fail(
            f"'{name}^T' transposes a number: write '{name}^\\top' if that is meant; for a power declare T, as in "
            "'Let $T \\in \\mathbb{N}$'"
        )
    if number and body.type.rows == body.type.cols:
        raise elab.fail(f"'{name}^T' may be a transpose or a power, as T is declared: write '{name}^\\top'")
    return transpose(body)


def _symbol_is_number(found: Symbol) -> bool:
    """Whether a declared symbol alone is a number."""
    if found.params or found.kind in ("family", "function"):
        return False
    kind = found.term.type if found.term is not None else found.type
    return found.kind in ("size", "index") or (kind is not None and kind.scalar)


def power(elab: Elaborator, expr: Expr, base: Expr, exponent: Expr) -> Term:
    """`base^exponent`: a name with a mark, an exponential, a power, an inverse, or an index in brackets."""
    name = symbol_name(expr)
    if name is not None and elab.lookup(name) is not None:
        return symbol(elab, name)
    if isinstance(exponent, Group) and exponent.bracket == "(" and len(exponent.items) == 1:
        inner = exponent.items[0]
        found = elab.lookup(base.text) if isinstance(base, Name) else None
        if found is not None and has_entries(found) and inner.alone and elab.is_integer(inner.exprs[0]):
            return elaborate_subscript(elab, Sub(base, (inner,)))
    label = isinstance(exponent, Group) and exponent.bracket in ("(", "[") and symbol_name(base) is not None
    if label and not (base == Name("e") and elab.lookup("e") is None):
        raise elab.fail(
            f"{name or to_latex(expr)} is not declared: in brackets it is a label, a symbol of its own; write 'Let "
            f"${name or to_latex(expr)} \\in \\mathbb{{R}}$' (or its shape), or a power without brackets"
        )
    if isinstance(base, Name) and base.text == "e" and elab.lookup("e") is None:
        return scalar_function("exp", elab.term(exponent))
    if exponent in (Name("-"), Name("+")):
        raise elab.fail(
            f"a sign above '{to_latex(base)}' is not an exponent: write the whole exponent in braces, 10^{{-3}}"
        )
    body = elab.term(base)
    if body.type.kind in ("matrix", "eye"):
        return _matrix_power(elab, body, exponent)
    to = elab.term(exponent)
    if not to.type.scalar:
        raise ShapeMismatch(f"{to.type} cannot be an exponent")
    return Term("pow", (body, to), SCALAR)


def _matrix_power(elab: Elaborator, body: Term, exponent: Expr) -> Term:
    """Inverses and whole powers of square matrices."""
    match exponent:
        case Minus(Num(value)):
            whole = -value
        case Num(value):
            whole = value
        case _:
            raise elab.fail("the exponent of a matrix is a whole number, \\top or -1")
    if body.type.rows != body.type.cols:
        hint = ": write x^\\top x, \\|x\\|^2 or x \\odot x" if body.type.vector else ""
        raise Unreadable(f"{body.type} has no power{hint}", elab.line)
    if whole == -1:
        return Term("inv", (body,), body.type)
    if whole.denominator != 1 or not 0 < whole <= 12:
        raise elab.fail(f"the power {whole} of a matrix is not understood")
    result = body
    for _ in range(int(whole) - 1):
        result = product(result, body)
    return result
