r"""Derivatives and their shapes.

Derivatives written with \partial, \nabla or d, and the shapes that they have.
`\frac{d y}{d x}` is a derivative only where d is not a declared symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Derivative, Dots, Expr, Frac, Name, Sup, Times
from attention_core.derivation.latex.tree import order
from attention_core.derivation.terms.shapes import transpose
from attention_core.derivation.terms.terms import Term, Type, matrix

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


ROW_GRADIENTS = "row gradients"  # other conventions, see `conventions`
DENOMINATORS = "denominator layout"


def derivative(elab: Elaborator, expr: Derivative) -> Term:
    """Partial derivatives: of a number with the shape of the variable, of a vector the Jacobian J_ij = dy_i / dx_j."""
    body = elab.term(expr.body)
    for variable in reversed(expr.by):
        by = elab.term(variable)
        if not _is_variable(by):
            known = elab.lookup(symbol_name(variable) or "")
            if known is not None and known.term is not None:
                raise elab.fail(
                    f"'{to_latex(variable)}' is defined (line {known.line}) by other symbols: differentiate by one "
                    f"of these, or declare '{to_latex(variable)}' with its domain"
                )
            raise elab.fail(f"'{to_latex(variable)}' is not a declared variable, so nothing is differentiated by it")
        slope = Term("deriv", (body, by), _derivative_type(elab, body.type, by.type))
        gradient = body.type.scalar and not by.type.scalar
        jacobian = body.type.vector and by.type.vector
        turned = (gradient and ROW_GRADIENTS in elab.context.readings) or (
            jacobian and DENOMINATORS in elab.context.readings
        )
        body = transpose(slope) if turned else slope
    return body


def ordinary(elab: Elaborator, expr: Frac) -> Derivative | None:
    r"""`\frac{d y}{d x}` and `\frac{d^2}{d x^2}` (then the body is `Dots`), where `d` is not a declared symbol."""
    head, rest = _led(expr.top)
    below, variable = _led(expr.bottom)
    if head is None or below != Name("d") or variable is None:
        return None
    if elab.lookup("d") is not None or "d" in elab.bound:
        by = variable.base if isinstance(variable, Sup) else variable
        name = symbol_name(by)
        found = elab.lookup(name) if name is not None else None
        if found is None or found.kind not in ("array", "family"):
            return None
        raise elab.fail(
            f"'{to_latex(expr)}' may be a derivative or a quotient, as d is declared: write \\partial, or cancel d"
        )
    power = head.exponent if isinstance(head, Sup) else None
    return Derivative(rest if rest is not None else Dots(), order(power, (variable,)))


def _led(expr: Expr) -> tuple[Expr | None, Expr | None]:
    """`d y` as (d, y), `d` as (d, nothing); what does not start with d as (None, ...)."""
    first, rest = expr, None
    if isinstance(expr, Times) and expr.ops[0] == "":
        first = expr.factors[0]
        rest = expr.factors[1] if len(expr.factors) == 2 else Times(expr.factors[1:], expr.ops[1:])
    plain = first == Name("d") or (isinstance(first, Sup) and first.base == Name("d"))
    return (first if plain else None), rest


def _is_variable(term: Term) -> bool:
    return term.op in ("leaf", "member") or (term.op == "entry" and term.args[0].op in ("leaf", "member"))


def _derivative_type(elab: Elaborator, body: Type, by: Type) -> Type:
    if body.scalar:
        return by
    if by.scalar:
        return body
    if body.vector and by.vector:
        return matrix(body.rows if body.column else body.cols, by.rows if by.column else by.cols)
    raise elab.fail(f"the derivative of {body} by {by} has more than two indices: take an entry of one of them")
