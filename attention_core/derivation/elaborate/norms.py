"""Roots, magnitudes and norms.

Roots of numbers, magnitudes, and the norms of vectors and matrices, with or without an index.
A norm whose index has no meaning for its argument is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Expr
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def root(elab: Elaborator, body: Expr, degree: Expr | None) -> Term:
    """A root of a number."""
    inner = elab.term(body)
    if not inner.type.scalar:
        raise ShapeMismatch(f"{inner.type} has no square root here")
    if degree is None:
        return Term("sqrt", (inner,), SCALAR)
    return Term("pow", (inner, Term("div", (integer(1), elab.term(degree)), SCALAR)), SCALAR)


def norm_with_index(elab: Elaborator, body: Expr, index: str) -> Term | None:
    """`\\|x\\|_2`, `\\|x\\|_1`, `\\|x\\|_\\infty` of vectors, `\\|A\\|_F`; None if the index is none of these."""
    inner = elab.term(body)
    if index not in ("1", "2", "F", r"\text{F}", r"\infty") or inner.type.scalar:
        return None
    if inner.type.vector:
        return Term({"1": "norm1", r"\infty": "normmax"}.get(index, "norm"), (inner,), SCALAR)
    if index in ("F", r"\text{F}"):
        return Term("norm", (inner,), SCALAR)
    raise elab.fail(f"the norm with index {index} of {inner.type} is not understood: only \\|A\\|_F is")


def fence(elab: Elaborator, kind: str, body: Expr) -> Term:
    """An absolute value or a norm."""
    inner = elab.term(body)
    if inner.type.scalar:
        return Term("abs", (inner,), SCALAR)
    if kind == "abs":
        raise elab.fail(f"|{to_latex(body)}| is the magnitude of {inner.type}: write \\| . \\| for a norm")
    return Term("norm", (inner,), SCALAR)
