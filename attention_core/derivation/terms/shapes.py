"""Sums and products of typed terms.

Which shapes may be added, compared and multiplied, and the terms that come out.
A shape that does not fit raises `ShapeMismatch`, which refutes the step that says so.
"""

from __future__ import annotations

from attention_core.derivation.terms.terms import EYE, ONE, SCALAR, ShapeMismatch, Size, Term, Type, integer, matrix


def size_term(size: Size) -> Term:
    """A size as a number."""
    return Term("size", (), SCALAR, size)


def join_types(left: Type, right: Type, what: str) -> Type:
    """The common type of two things that are added or compared."""
    if left == right or right.kind == "zero":
        return left
    if left.kind == "zero":
        return right
    for one, other in ((left, right), (right, left)):
        if one.kind == "eye" and other.kind == "matrix" and other.rows == other.cols:
            return other
    both = left.kind == right.kind == "matrix"
    raise ShapeMismatch(
        f"{left} and {right} cannot be {what}", *([(left.rows, right.rows), (left.cols, right.cols)] if both else [])
    )


def fit(term: Term, kind: Type) -> Term:
    """A term of a type it adapts to: zeros and identities take the size that is needed."""
    if kind.kind == "matrix" and term.type.kind == "zero":
        return Term("zeros", (), kind)
    if kind.kind == "matrix" and term.type.kind == "eye":
        return with_size(term, kind)
    return term


def copies(term: Term, whole: Type) -> Term:
    """A number, a row or a column as the matrix that broadcasting makes of it; anything else as it is."""
    kind = term.type
    if whole.kind != "matrix" or kind == whole or kind.kind not in ("scalar", "matrix"):
        return term
    if kind.kind == "scalar":
        return Term("mul", (term, Term("ones", (), whole)), whole)
    if not kind.column and kind.rows == ONE and kind.cols == whole.cols:
        return Term("matmul", (Term("ones", (), matrix(whole.rows, ONE)), term), whole)
    if kind.column and kind.rows == whole.rows and not whole.vector:
        return Term("matmul", (term, Term("ones", (), matrix(ONE, whole.cols))), whole)
    return term


def with_size(term: Term, kind: Type) -> Term:
    """An identity of unsaid size, or multiples and sums of it, at the size of `kind`."""
    if term.type.kind != "eye":
        return term
    if term.op == "eye":
        return Term("eye", (), kind, kind.rows)
    return Term(term.op, tuple(with_size(a, kind) for a in term.args), kind, term.data)


def negative(term: Term) -> Term:
    """Minus a term."""
    return integer(-term.data) if term.op == "const" else Term("neg", (term,), term.type)


def transpose(term: Term) -> Term:
    """The transpose; of a number the number."""
    return Term("transpose", (term,), term.type.transpose) if term.type.kind == "matrix" else term


def product(left: Term, right: Term, dot: bool = False) -> Term:
    """The product of two terms as their shapes say; a dot between two vectors is their inner product."""
    a, b = left.type, right.type
    if a.scalar or b.scalar:
        kind = b if a.scalar else a
        return Term("mul", (left, right), SCALAR if kind.kind == "zero" else kind)
    if "eye" in (a.kind, b.kind):
        size = b if a.kind == "eye" else a
        edge = size.rows if a.kind == "eye" else size.cols
        if size.kind == "eye":
            return Term("matmul", (left, right), EYE)
        sized = [with_size(t, matrix(edge, edge)) for t in (left, right)]
        return Term("matmul", tuple(sized), size)
    if dot and a.vector and b.vector:
        if a.column and b.column and a.rows == b.rows:
            return Term("matmul", (transpose(left), right), SCALAR)
        if not a.column and not b.column and a.cols == b.cols:
            return Term("matmul", (left, transpose(right)), SCALAR)
    if a.cols != b.rows:
        raise ShapeMismatch(f"{a} cannot be multiplied by {b}" + _product_hint(a, b), (a.cols, b.rows))
    return Term("matmul", (left, right), matrix(a.rows, b.cols))


def _product_hint(a: Type, b: Type) -> str:
    if a.rows == b.rows:
        return ": is a transpose missing on the left factor?"
    return ": is a transpose missing on the right factor?" if a.cols == b.cols else ""


def number_of(left: Term, right: Term) -> Term | None:
    """Their product if it is a number."""
    try:
        found = product(left, right)
    except ShapeMismatch:
        return None
    return found if found.type == SCALAR else None


def hadamard(left: Term, right: Term) -> Term:
    """The entrywise product."""
    if left.type.scalar or right.type.scalar:
        return product(left, right)
    return Term("hadamard", (left, right), join_types(left.type, right.type, "multiplied entry by entry"))


def scalar_function(name: str, body: Term) -> Term:
    """A function of numbers, taken entry by entry on an array."""
    return Term(name, (body,), SCALAR if body.type.kind == "zero" else body.type)


def quotient(top: Term, bottom: Term) -> Term:
    """A quotient; the divisor is a number."""
    if bottom.type.kind not in ("scalar", "zero"):
        raise ShapeMismatch(f"{bottom.type} cannot divide; only a number can")
    return Term("div", (top, bottom), top.type if top.type.kind != "zero" else SCALAR)


def assemble_blocks(table: list[list[Term]]) -> Term:
    """Blocks put together; a 0 takes the size of its row and column."""
    heights = [_edge([t.type for t in row], "rows") for row in table]
    widths = [_edge([row[j].type for row in table], "cols") for j in range(len(table[0]))]
    rows, cols = _sum(heights), _sum(widths)
    cells = []
    for row, height in zip(table, heights, strict=True):
        for cell, width in zip(row, widths, strict=True):
            want = matrix(height, width)
            cells.append(
                fit(cell, join_types(cell.type, want, "put into one row and column")) if want != SCALAR else cell
            )
    return Term("blocks", tuple(cells), matrix(rows, cols), len(table[0]))


def _edge(types: list[Type], which: str) -> Size:
    sizes = {getattr(t, which) for t in types if t.kind in ("matrix", "scalar")}
    if len(sizes) > 1:
        one, other = sorted(sizes, key=str)[:2]
        raise ShapeMismatch(
            f"blocks with different {which} stand side by side: {', '.join(map(str, types))}", (one, other)
        )
    return sizes.pop() if sizes else ONE


def _sum(sizes: list[Size]) -> Size:
    total = Size.number(0)
    for size in sizes:
        total = total + size
    return total
