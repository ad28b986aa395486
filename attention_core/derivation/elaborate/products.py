r"""Products and derivatives with their shapes.

Factors side by side, with \cdot, \times, \odot or a slash between them, from left to right.
Where a product may be read in two ways that differ, it is refused and both are named.

Derivatives are written with \partial, \nabla or d.
`\frac{d y}{d x}` is a derivative only where d is not a declared symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.functions import derivative_type
from attention_core.derivation.elaborate.intermediates import goes_through
from attention_core.derivation.elaborate.matrix_functions import tensor_product
from attention_core.derivation.elaborate.products_by_entries import divide, multiply_by_entries
from attention_core.derivation.latex.parse import order
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Derivative, Dots, Expr, Frac, Name, Num, Sub, Sup, Times
from attention_core.derivation.latex.tokens import UNREAD_OPERATIONS
from attention_core.derivation.terms.terms import (
    SCALAR,
    ShapeMismatch,
    Term,
    hadamard,
    number_of,
    product,
    transpose,
)

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


ROW_GRADIENTS = "row gradients"  # other conventions, see `conventions`
DENOMINATORS = "denominator layout"
LAPLACIAN = "Laplacian"


def derivative(elab: Elaborator, expr: Derivative) -> Term:
    """Partial derivatives: of a number with the shape of the variable, of a vector the Jacobian J_ij = dy_i / dx_j."""
    body = elab.term(expr.body)
    traced = LAPLACIAN in elab.context.readings and body.type.scalar and is_hessian(expr)
    for variable in reversed(expr.by):
        by = elab.term(variable)
        if not _is_variable(by) and not goes_through(body, by):
            known = elab.lookup(symbol_name(variable) or "") or elab.lookup(symbol_name(_base(variable)) or "")
            if known is not None and known.term is not None:
                raise elab.fail(
                    f"'{to_latex(variable)}' is defined (line {known.line}) by other symbols, and what is "
                    "differentiated is not made of it: differentiate by one of these, or declare "
                    f"'{to_latex(variable)}' with its domain"
                )
            raise elab.fail(f"'{to_latex(variable)}' is not a declared variable, so nothing is differentiated by it")
        slope = Term("deriv", (body, by), derivative_type(elab, body.type, by.type))
        gradient = body.type.scalar and not by.type.scalar
        jacobian = body.type.vector and by.type.vector
        turned = (gradient and ROW_GRADIENTS in elab.context.readings) or (
            jacobian and DENOMINATORS in elab.context.readings
        )
        body = transpose(slope) if turned else slope
    return Term("tr", (body,), SCALAR) if traced and body.type.kind == "matrix" else body


def _base(variable: Expr) -> Expr:
    return _base(variable.base) if isinstance(variable, Sub) else variable


def is_hessian(expr: object) -> bool:
    r"""Whether a derivative is `\nabla_x^2` of something: its matrix of second derivatives here, for some its trace."""
    return isinstance(expr, Derivative) and expr.nabla and len(expr.by) == 2 and expr.by[0] == expr.by[1]


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


def times(elab: Elaborator, factors: tuple[Expr, ...], ops: tuple[str, ...]) -> Term:
    """Factors from left to right; where a 1 x 1 product further right is a number, it is taken first."""
    for place, factor in enumerate(factors[:-1]):
        found = ordinary(elab, factor) if isinstance(factor, Frac) else None
        if found is not None and found.body == Dots():  # \frac{d}{dx} takes the factors that follow
            rest = factors[place + 1] if place + 2 == len(factors) else Times(factors[place + 1 :], ops[place + 1 :])
            factors = (*factors[:place], Derivative(rest, found.by))
            ops = ops[:place]
            break
    if "x" in ops:
        return _tensor(elab, factors, ops)
    if unread := UNREAD_OPERATIONS & set(ops):
        raise elab.fail(f"\\{min(unread)} is read and not computed here: write what is meant with sums and products")
    _require_one_divisor(elab, factors, ops)
    terms = [elab.term(f) for f in factors]
    if "o" in ops:
        return _entrywise(elab, terms, ops)
    return _multiply_in_order(elab, terms, ops)


def _tensor(elab: Elaborator, factors: tuple[Expr, ...], ops: tuple[str, ...]) -> Term:
    r"""`A C \otimes B D`: the products between the signs come first."""
    if set(ops) - {"", ".", "x"}:
        raise elab.fail(r"\otimes beside / or \odot is not understood: write brackets")
    cuts = [place for place, op in enumerate(ops) if op == "x"]
    parts: list[Term] = []
    for start, end in pairwise([0, *(c + 1 for c in cuts), len(factors)]):
        inner = factors[start:end]
        parts.append(times(elab, inner, ops[start : end - 1]) if len(inner) > 1 else elab.term(inner[0]))
    result = parts[0]
    for part in parts[1:]:
        result = tensor_product(elab, result, part)
    return result


def _require_one_divisor(elab: Elaborator, factors: Sequence[Expr], ops: Sequence[str]) -> None:
    r"""`x / 2 s` is read as x / (2 s) by some and as (x / 2) s by others."""
    for k, (op, following) in enumerate(pairwise(ops)):
        plain = isinstance(factors[k], Num) and isinstance(factors[k + 1], Num) and (k == 0 or ops[k - 1] != "/")
        if op == "/" and following == "" and not plain:
            message = f"{to_latex(factors[k])} / {to_latex(factors[k + 1])} {to_latex(factors[k + 2])}"
            raise elab.fail(f"'{message}' may divide by one factor or by two: write \\frac or brackets")


def _entrywise(elab: Elaborator, terms: list[Term], ops: Sequence[str]) -> Term:
    r"""`P \odot G V^\top`: what fits, from left to right or product by product; both only where they agree."""
    groups: list[tuple[list[Term], list[str]]] = [([terms[0]], [])]
    for op, term in zip(ops, terms[1:], strict=True):
        if op == "o":
            groups.append(([term], []))
        else:
            groups[-1][0].append(term)
            groups[-1][1].append(op)
    found: list[Term] = []
    refused: list[ShapeMismatch] = []
    alone = all(sum(not t.type.scalar for t in group) <= 1 for group, _ in groups)
    for reading in ("products",) if alone else ("left", "products"):
        try:
            if reading == "left":
                found.append(_multiply_in_order(elab, terms, ops))
            else:
                parts = [_multiply_in_order(elab, group, inner) for group, inner in groups]
                found.append(_multiply_in_order(elab, parts, ["o"] * (len(parts) - 1)))
        except ShapeMismatch as error:
            refused.append(error)
    if not found:
        raise refused[0]
    if len(found) > 1:
        raise elab.fail("\\odot beside a matrix product may come first or last: write brackets")
    return found[0]


def _multiply_in_order(elab: Elaborator, terms: list[Term], ops: Sequence[str]) -> Term:
    """Factors from left to right."""
    marks = list(ops)
    result, i = terms[0], 0
    while i < len(marks):
        op, right = marks[i], terms[i + 1]
        if op == "/":
            result = divide(result, right)
        elif op == "o":
            result = hadamard(result, right)
        else:
            if op == "*" and not result.type.scalar and not right.type.scalar:
                raise elab.fail(
                    "* and \\times between matrices or vectors may be the matrix product or that of entries: "
                    "write A B or A \\odot B"
                )
            try:
                result = product(result, right, dot=op == ".")
            except ShapeMismatch:
                following = terms[i + 2] if i + 1 < len(marks) and marks[i + 1] in ("", ".", "*") else None
                inner = number_of(right, following) if following is not None else None
                entries = multiply_by_entries(result, right) if inner is None and op != "." else None
                if inner is not None:
                    result = product(result, inner)
                    i += 1
                elif entries is not None:
                    result = entries
                else:
                    raise
        i += 1
    return result
