"""Arrays that are written out.

Rows in brackets, matrices written out from cells and blocks, and sums with dots.
What dots stand for is found in `dotted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.dotted import dotted_line, dotted_table
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Dots, Expr, Group
from attention_core.derivation.terms.shapes import assemble_blocks
from attention_core.derivation.terms.terms import Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def group(elab: Elaborator, expr: Group) -> Term:
    """Brackets around one expression, or a row written out."""
    if (expr.bracket, expr.close) not in (("(", ")"), ("[", "]"), ("{", "}")):
        raise elab.fail(f"'{to_latex(expr)}' opens and closes with different brackets")
    if len(expr.items) == 1 and not expr.semicolons:
        return elab.chain_term(expr.items[0])
    if expr.bracket == "[" and expr.close == "]":
        cells = [item.exprs[0] for item in expr.items if item.alone]
        if len(cells) != len(expr.items):
            raise elab.fail("a relation stands inside a bracketed row")
        return array(elab, tuple((c,) for c in cells) if expr.semicolons else (tuple(cells),))
    raise elab.fail(f"'{to_latex(expr)}' is not understood: write a row as [a, b] and a matrix with bmatrix")


def array(elab: Elaborator, rows: Sequence[Sequence[Expr | None]]) -> Term:
    """A matrix written out, from cells, blocks and dots."""
    if any(isinstance(cell, Dots) for row in rows for cell in row):
        return dotted_table(elab, rows)
    if len({len(row) for row in rows}) != 1:
        raise elab.fail("the rows of the matrix have different lengths")
    table = [[elab.term(cell) if cell is not None else integer(0) for cell in row] for row in rows]
    return assemble_blocks(table)


def dotted_sum(elab: Elaborator, terms: Sequence[Expr]) -> Term:
    """`c_1 a_1 + c_2 a_2 + \\dots + c_m a_m`."""
    before, template, low, high, after = dotted_line(elab, list(terms))
    name, body = template
    inner = elab.inside([name])
    middle = inner.term(body)
    total = Term("reduce", (elab.term(low), elab.term(high), middle), middle.type, ("sum", name))
    return elab.total([*(elab.term(t) for t in before), total, *(elab.term(t) for t in after)])
