r"""Sizes, shapes and terms.

Typed terms: every expression with its symbolic shape, names resolved, products told apart.
Shapes are polynomials in the declared sizes, so that `q k^\top` of two columns is a matrix even at d = 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attention_core.derivation.effort import on_time

Monomial = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial in the sizes, with negative powers for quotients such as d/h."""

    terms: tuple[tuple[Monomial, Fraction], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, Fraction]) -> Size:
        """From a table of monomials."""
        return Size(tuple(sorted((m, c) for m, c in terms.items() if c)))

    @staticmethod
    def number(value: int | Fraction) -> Size:
        """A constant."""
        return Size.of({(): Fraction(value)})

    @staticmethod
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

    `over` lists bound indices (name, lowest, highest) for which it is said, `where` conditions among them.
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
