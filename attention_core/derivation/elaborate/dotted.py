r"""Patterns with dots, in sums and matrices, and arrays that are written out.

What dots stand for: the neighbours of the dots are compared, and where they differ an index runs.
`a_1 & \dots & a_m` becomes "a_k for k from 1 to m"; anything that is not plain is refused. Arrays are rows in brackets,
and matrices written out from cells and blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Dots, Expr, Frac, Group, Minus, Name, Num, Sup, Times, children
from attention_core.derivation.terms.terms import ONE, Term, assemble_blocks, integer, matrix

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def pattern(elab: Elaborator, first: Expr, last: Expr, name: str) -> tuple[Expr, Expr, Expr] | None:
    """The body with `name` where the two differ, and the two values it takes there; None if there is no one pattern."""
    ends: list[tuple[Expr, Expr]] = []

    def walk(a: object, b: object) -> object:
        if a == b:
            return a
        if isinstance(a, Num) and isinstance(b, Num | Name) and (not ends or ends[0] == (a, b)):
            ends.append((a, b))
            return Name(name)
        if isinstance(a, Num) and elab.is_integer(b) and (not ends or ends[0] == (a, b)):  # type: ignore[arg-type]
            ends.append((a, b))  # type: ignore[arg-type]
            return Name(name)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(walk(x, y) for x, y in zip(a, b, strict=True))
        if type(a) is not type(b) or isinstance(a, tuple) or not (children(a) and children(b)):
            raise LookupError
        fields = {f: walk(getattr(a, f), getattr(b, f)) for f in a.__slots__ if f != "lines"}  # type: ignore[attr-defined]
        return type(a)(**fields)

    try:
        body = walk(first, last)
    except LookupError:
        return None
    if not ends or isinstance(body, tuple):
        return None
    return body, ends[0][0], ends[0][1]  # type: ignore[return-value]


def dotted_line(elab: Elaborator, cells: list[Expr]) -> tuple[list[Expr], tuple[str, Expr], Expr, Expr, list[Expr]]:
    """One line with dots: what stands before, the pattern (index, body), its ends, what stands after."""
    places = [i for i, c in enumerate(cells) if isinstance(c, Dots) or c == Minus(Dots())]
    place = places[0] if len(places) == 1 else -1
    if not 0 < place < len(cells) - 1:
        raise elab.fail("dots need a term on either side, such as a_1 + \\dots + a_n")
    name = f"§{len(elab.bound)}"
    found = pattern(elab, cells[place - 1], cells[place + 1], name)
    if found is None:
        raise elab.fail("the terms around the dots follow no single pattern: write the sum with \\sum")
    body, low, high = found
    before = cells[: place - 1]
    while before and isinstance(low, Num):  # terms such as a_1, a_2 before the dots are the pattern's own beginning
        found = pattern(elab, before[-1], cells[place + 1], name)
        if found is None or found[0] != body:
            break
        if found[1] != Num(low.value - 1):
            raise elab.fail("the terms before the dots do not go up by one: write the sum with \\sum")
        low = found[1]
        before = before[:-1]
    if body in (Name(name), Minus(Name(name))) and not _counts_up(low, high, before):
        raise elab.fail("the numbers around the dots may go up by one or in other steps: write the sum with \\sum")
    return before, (name, body), low, high, cells[place + 2 :]


def _counts_up(low: Expr, high: Expr, before: Sequence[Expr]) -> bool:
    """Whether numbers from `low` to `high` can only be meant to go up by one.

    Not if other numbers stand before them, as in 1 - 2 + 3 - ..., if the last is a power or a quotient, as in
    1 + 2 + ... + 2^n, or a multiple of the first, as in 2 + ... + 2 n.
    """
    multiple = isinstance(high, Times) and high.factors[0] == low != Num(Fraction(1))
    waiting: list[object] = [high]
    while waiting:
        expr = waiting.pop()
        if isinstance(expr, Sup | Frac):
            return False
        waiting += children(expr)
    return not multiple and not any(isinstance(term.body if isinstance(term, Minus) else term, Num) for term in before)


def dotted_table(elab: Elaborator, rows: Sequence[Sequence[Expr | None]]) -> Term:
    """A matrix with dots: one row, one column, a diagonal, or rows of one pattern."""
    diagonal = _diagonal(elab, rows)
    if diagonal is not None:
        return diagonal
    full = [row for row in rows if not all(isinstance(c, Dots) or c is None for c in row)]
    if len(full) == len(rows):
        lines = [_dotted_row(elab, row) for row in rows]
        return lines[0] if len(lines) == 1 else assemble_blocks([[line] for line in lines])
    place = next(i for i, row in enumerate(rows) if all(isinstance(c, Dots) or c is None for c in row))
    above, below = list(rows[:place]), list(rows[place + 1 :])
    if not above or len(below) != 1:
        raise elab.fail("vertical dots need rows above and one row below")
    name = f"§{len(elab.bound)}v"
    found = _row_pattern(elab, above[-1], below[0], name)
    if found is None:
        raise elab.fail("the rows around the vertical dots follow no single pattern")
    row, low, high = found
    while len(above) > 1 and isinstance(low, Num):
        again = _row_pattern(elab, above[-2], below[0], name)
        if again is None or again[0] != row or again[1] != Num(low.value - 1):
            break
        low = again[1]
        above.pop()
    inner = elab.inside([name])
    body = _dotted_row(inner, row)
    first, last = elab.size(low), elab.size(high)
    count = last + (-first) + ONE
    height = body.type.rows if body.type.kind == "matrix" else ONE
    width = body.type.cols if body.type.kind == "matrix" else ONE
    stacked = Term("vcat", (elab.term(low), elab.term(high), body), matrix(count * height, width), name)
    heads = [_dotted_row(elab, r) for r in above[:-1]]
    return assemble_blocks([[h] for h in heads] + [[stacked]]) if heads else stacked


def _row_pattern(
    elab: Elaborator, first: Sequence[Expr | None], last: Sequence[Expr | None], name: str
) -> tuple[tuple[Expr, ...], Expr, Expr] | None:
    if len(first) != len(last):
        return None
    pairs = [
        pattern(elab, a, b, name)
        for a, b in zip(first, last, strict=True)
        if a is not None and b is not None and a != b
    ]
    if not pairs or pairs[0] is None or any(p is None or p[1:] != pairs[0][1:] for p in pairs):
        return None
    parts = iter(pairs)
    row = tuple(a if a == b else next(parts)[0] for a, b in zip(first, last, strict=True))  # type: ignore[index]
    return row, pairs[0][1], pairs[0][2]  # type: ignore[return-value]


def _dotted_row(elab: Elaborator, row: Sequence[Expr | None]) -> Term:
    """One row, with or without dots."""
    cells = [c for c in row if c is not None]
    if not any(isinstance(c, Dots) for c in cells):
        if len(cells) == 1:
            return elab.term(cells[0])
        return assemble_blocks([[elab.term(c) for c in cells]])
    before, (name, body), low, high, after = dotted_line(elab, cells)
    inner = elab.inside([name])
    term = inner.term(body)
    count = elab.size(high) + (-elab.size(low)) + ONE
    height, width = (term.type.rows, term.type.cols) if term.type.kind == "matrix" else (ONE, ONE)
    run = Term("hcat", (elab.term(low), elab.term(high), term), matrix(height, count * width), name)
    others = [elab.term(c) for c in before], [elab.term(c) for c in after]
    return assemble_blocks([[*others[0], run, *others[1]]]) if before or after else run


def _diagonal(elab: Elaborator, rows: Sequence[Sequence[Expr | None]]) -> Term | None:
    """A diagonal matrix with dots on the diagonal and nothing (or 0) elsewhere."""
    size = len(rows)
    if (
        size < 3
        or any(len(row) > size for row in rows)
        or not isinstance(rows[size - 2][size - 2 : size - 1], Sequence)
    ):
        return None
    table = [list(row) + [None] * (size - len(row)) for row in rows]
    off = [table[i][j] for i in range(size) for j in range(size) if i != j]
    if any(c is not None and c != Num(Fraction(0)) for c in off) or not isinstance(table[-2][-2], Dots):
        return None
    line = [c for c in (table[i][i] for i in range(size)) if c is not None]
    before, (name, body), low, high, _ = dotted_line(elab, line)
    if before:
        return None
    inner = elab.inside([name])
    count = elab.size(high) + (-elab.size(low)) + ONE
    column = Term("vcat", (elab.term(low), elab.term(high), inner.term(body)), matrix(count, ONE), name)
    return Term("diag", (column,), matrix(count, count))


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
