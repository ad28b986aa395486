r"""Sizes, shapes and terms, their sums and products.

Typed terms: every expression with its symbolic shape, names resolved, products by their kind.
Shapes are polynomials in the declared sizes, so that `q k^\top` of two columns is a matrix even at d = 1.
A shape that does not fit raises `ShapeMismatch`, which refutes the step that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attention_core.derivation.effort import on_time

Monomial = tuple[tuple[str, int], ...]
KEPT_SIZES = 512  # how many constants and single sizes are made once


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial in the sizes, with negative powers for quotients such as d/h."""

    terms: tuple[tuple[Monomial, Fraction], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, Fraction]) -> Size:
        """From a table of monomials."""
        return Size(tuple(sorted((m, c) for m, c in terms.items() if c)))

    @staticmethod
    @lru_cache(maxsize=KEPT_SIZES)
    def number(value: int | Fraction) -> Size:
        """A constant."""
        return Size.of({(): Fraction(value)})

    @staticmethod
    @lru_cache(maxsize=KEPT_SIZES)
    def symbol(name: str) -> Size:
        """One size."""
        return Size.of({((name, 1),): Fraction(1)})

    def __add__(self, other: Size) -> Size:
        table = dict(self.terms)
        for monomial, c in other.terms:
            table[monomial] = table.get(monomial, Fraction(0)) + c
        return Size.of(table)

    def __mul__(self, other: Size) -> Size:
        table: dict[Monomial, Fraction] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                powers = dict(left)
                for name, k in right:
                    powers[name] = powers.get(name, 0) + k
                key = tuple(sorted((n, k) for n, k in powers.items() if k))
                table[key] = table.get(key, Fraction(0)) + a * b
        return Size.of(table)

    def __neg__(self) -> Size:
        return Size.of({m: -c for m, c in self.terms})

    def inverse(self) -> Size | None:
        """One over this size, where it is a single monomial."""
        if len(self.terms) != 1:
            return None
        monomial, c = self.terms[0]
        return Size.of({tuple((n, -k) for n, k in monomial): 1 / c})

    @property
    def constant(self) -> Fraction | None:
        """The number, if no size occurs."""
        if not self.terms:
            return Fraction(0)
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == () else None

    def value(self, sizes: Mapping[str, int]) -> Fraction:
        """The number at these sizes."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) < 2:  # one size, or 1
            return next((Fraction(sizes[name]) ** power for name, power in self.terms[0][0]), self.terms[0][1])
        total = Fraction(0)
        for monomial, c in self.terms:
            for name, power in monomial:
                c *= Fraction(sizes[name]) ** power
            total += c
        return total

    def symbols(self) -> set[str]:
        """The sizes that occur."""
        return {name for monomial, _ in self.terms for name, _ in monomial}

    def __str__(self) -> str:
        parts = []
        for monomial, c in self.terms:
            body = " ".join(name if k == 1 else f"{name}^{k}" for name, k in monomial)
            parts.append(body if body and c == 1 else f"{c} {body}".strip())
        return " + ".join(parts) or "0"


ONE = Size.number(1)


@dataclass(frozen=True, slots=True)
class Type:
    """A shape: `scalar`, `matrix` (rows x cols), `zero` (fits anything) or `eye` (an identity of unsaid size)."""

    kind: str
    rows: Size = ONE
    cols: Size = ONE

    @property
    def vector(self) -> bool:
        """Whether this is a column or a row."""
        return self.kind == "matrix" and ONE in (self.rows, self.cols)

    @property
    def column(self) -> bool:
        """Whether this is one column."""
        return self.kind == "matrix" and self.cols == ONE

    @property
    def scalar(self) -> bool:
        """Whether this is one number."""
        return self.kind in ("scalar", "zero")

    @property
    def transpose(self) -> Type:
        """The shape of the transpose."""
        return Type(self.kind, self.cols, self.rows)

    def __str__(self) -> str:
        if self.kind == "matrix":
            if self.column:
                return f"a column of {self.rows}"
            return f"a row of {self.cols}" if self.rows == ONE else f"a {self.rows} x {self.cols} matrix"
        return {"scalar": "a number", "zero": "0", "eye": "an identity matrix"}[self.kind]


SCALAR = Type("scalar")
ZERO = Type("zero")
EYE = Type("eye")


def matrix(rows: Size, cols: Size) -> Type:
    """The type of an array of that shape; 1 x 1 is a number."""
    return SCALAR if rows == ONE and cols == ONE else Type("matrix", rows, cols)


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One typed node; the meaning of `op`, `args` and `data` is tabled in `lower`."""

    op: str
    args: tuple[Term, ...]
    type: Type
    data: Any = None

    def walk(self) -> Iterator[Term]:
        """This term and all below it, each shared one once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            term = stack.pop()
            if id(term) not in seen:
                seen.add(id(term))
                if not len(seen) % 1024:
                    on_time()
                yield term
                stack.extend(term.args)


@dataclass(frozen=True, slots=True)
class Relation:
    """`left op right`; `line` is where the sign stands. Hypotheses and steps are made of these.

    `over` lists bound indices (name, lowest, highest) for which it holds, `where` conditions among them.
    """

    left: Term
    op: str
    right: Term
    line: int = 0
    over: tuple[tuple[str, Term, Term], ...] = ()
    where: tuple[Term, ...] = ()
    text: str = ""


class ShapeMismatch(Exception):
    """Two shapes that do not fit: the step is refuted, unless its hypotheses make each of `pairs` of sizes equal."""

    def __init__(self, message: str, *pairs: tuple[Size, Size]) -> None:
        super().__init__(message)
        self.pairs = pairs


def integer(value: int | Fraction) -> Term:
    """A number as a term."""
    return Term("const", (), ZERO if value == 0 else SCALAR, Fraction(value))


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
