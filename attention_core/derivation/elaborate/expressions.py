"""The way from a written expression to its term, and sums of terms.

From the written tree to typed terms: which subscript is an index, which product is which, and do the shapes fit.
What the forms of expressions mean is in the modules `elaborate_*`: each takes the elaborator it works for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from attention_core.derivation.elaborate.arrays import array, dotted_sum, group
from attention_core.derivation.elaborate.calls import call
from attention_core.derivation.elaborate.derivatives import derivative, ordinary
from attention_core.derivation.elaborate.functions import MARK, applied, with_calls
from attention_core.derivation.elaborate.indicators import require_function, with_indicators
from attention_core.derivation.elaborate.names import symbol
from attention_core.derivation.elaborate.norms import fence, root
from attention_core.derivation.elaborate.powers import lettered, power
from attention_core.derivation.elaborate.products import times
from attention_core.derivation.elaborate.subscripts import subscripted
from attention_core.derivation.elaborate.sums import big
from attention_core.derivation.latex.printer import name_of, written
from attention_core.derivation.latex.syntax import (
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
    Transposed,
    Unreadable,
)
from attention_core.derivation.terms.context import Context, Declared
from attention_core.derivation.terms.same_sizes import same_size
from attention_core.derivation.terms.shapes import copies, fitted, joined, negative, quotient, transpose
from attention_core.derivation.terms.terms import SCALAR, Size, Term, integer

Bound = dict[str, tuple[Size, Size] | None]


class Elaborator:
    """Turns written expressions into terms under one context; `bound` are the indices of the sums around."""

    def __init__(self, context: Context, bound: Bound | None = None, line: int = 0) -> None:
        self.context, self.line = context, line
        self.bound: Bound = dict(bound or {})

    # -- names --------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Declared | None:
        """The declaration of a name."""
        return self.context.symbols.get(name)

    def fail(self, message: str) -> Unreadable:
        """An error at this line."""
        return Unreadable(message, self.line)

    def inside(self, names: Iterable[str]) -> Elaborator:
        """An elaborator for what stands inside a sum over these indices."""
        inner = Elaborator(self.context, self.bound, self.line)
        for name in names:
            inner.bound[name] = None
        return inner

    def is_integer(self, expr: Expr) -> bool:
        """Whether an expression is made of numerals, declared indices and sizes alone."""
        match expr:
            case Num(value):
                return value.denominator == 1
            case Name(text):
                found = self.lookup(text)
                return text in self.bound or (found is not None and found.kind in ("size", "index"))
            case Minus(body):
                return self.is_integer(body)
            case Plus(terms):
                return all(self.is_integer(t) for t in terms)
            case Times(factors, ops):
                return all(self.is_integer(f) for f in factors) and set(ops) <= {"", ".", "*"}
            case Group("(", (Chain((inner,), ()),)):
                return self.is_integer(inner)
            case Sub() | Sup():
                name = name_of(expr)
                return name is not None and (found := self.lookup(name)) is not None and found.kind in ("size", "index")
        return False

    def size(self, expr: Expr) -> Size:
        """A size: a polynomial in declared sizes, of equal ones always in the same."""
        return same_size(self.context, self.size_as_written(expr))

    def size_as_written(self, expr: Expr) -> Size:
        """The same, before hypotheses make sizes equal."""
        match expr:
            case Num(value):
                return Size.number(value)
            case Name(text):
                found = self.lookup(text)
                if found is None or found.kind != "size":
                    raise self.fail(f"{text} is not a size: write 'Let ${text} \\in \\mathbb{{N}}$' first")
                return Size.symbol(text)
            case Plus(terms):
                total = Size.number(0)
                for term in terms:
                    total = total + self.size(term)
                return total
            case Minus(body):
                return -self.size(body)
            case Times(factors, ops):
                product = self.size(factors[0])
                for op, factor in zip(ops, factors[1:], strict=True):
                    product = product * (self.inverse_size(factor) if op == "/" else self.size(factor))
                return product
            case Frac(top, bottom):
                return self.size(top) * self.inverse_size(bottom)
            case Group("(", (Chain((inner,), ()),)):
                return self.size(inner)
            case Sub() | Sup():
                name = name_of(expr)
                if name is not None and (found := self.lookup(name)) is not None and found.kind == "size":
                    return Size.symbol(name)
                if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)):
                    side = self.size(expr.base)
                    return side * side
        raise self.fail(f"'{written(expr)}' is not understood as a size")

    def inverse_size(self, expr: Expr) -> Size:
        """One over a size."""
        found = self.size(expr).inverse()
        if found is None:
            raise self.fail(f"a size cannot be divided by '{written(expr)}'")
        return found

    # -- expressions --------------------------------------------------------------------------------------------

    def term(self, expr: Expr) -> Term:  # noqa: C901  # one case a form of expression
        """The typed term of an expression."""
        match expr:
            case Num(value):
                return integer(value)
            case Name(text):
                return symbol(self, text)
            case Sub():
                return subscripted(self, expr)
            case Sup(base, exponent):
                return power(self, expr, base, exponent)
            case Transposed(base, letter):
                return lettered(self, base) if letter else transpose(self.term(base))
            case Group():
                return group(self, expr)
            case Minus(body):
                return negative(self.term(body))
            case Plus(terms):
                if any(isinstance(t, Dots) or t == Minus(Dots()) for t in terms):
                    return dotted_sum(self, terms)
                return self.total([self.term(t) for t in terms])
            case Times():
                called = with_indicators(self, expr)
                called = with_calls(self, called) if isinstance(called, Times) else called
                if not isinstance(called, Times):
                    return self.term(called)
                require_function(self, called)
                return times(self, called.factors, called.ops)
            case Frac(top, bottom):
                found = ordinary(self, expr)
                if found is not None:
                    if found.body == Dots():
                        raise self.fail("a derivative of nothing: what is differentiated stands behind it")
                    return derivative(self, found)
                return quotient(self.term(top), self.term(bottom))
            case Root(body, degree):
                return root(self, body, degree)
            case Call(function) if function.startswith(MARK):
                found_function = self.context.symbols[function.removeprefix(MARK)]
                return self.term(applied(self, found_function, expr.args))
            case Call():
                return call(self, expr)
            case Big():
                return big(self, expr)
            case Fence(kind, body):
                return fence(self, kind, body)
            case Array(rows):
                return array(self, rows)
            case Derivative():
                return derivative(self, expr)
            case Dots():
                raise self.fail("the dots do not stand between terms of one pattern: write the sum with \\sum")
            case Slice():
                raise self.fail("a slice is only understood as a subscript")
        raise self.fail(f"'{written(expr)}' is not understood here")

    def chain_term(self, chain: Chain) -> Term:
        """The term of a chain that must be a plain expression."""
        if not chain.alone:
            raise self.fail(f"a relation is not expected inside '{written(chain)}'")
        return self.term(chain.exprs[0])

    def total(self, terms: Sequence[Term]) -> Term:
        """A sum: all shapes alike."""
        kept = [t for t in terms if not (t.op == "const" and t.data == 0)] or [terms[0]]
        if len(kept) == 1:
            return kept[0]
        kept = self.alike(kept)
        kind = kept[0].type
        for other in kept[1:]:
            kind = joined(kind, other.type, "added")
        return Term("add", tuple(fitted(t, kind) for t in kept), kind)

    def alike(self, terms: Sequence[Term]) -> list[Term]:
        """Numbers, rows and columns beside a matrix: copies of them, if the document says so."""
        shapes = [t.type for t in terms if t.type.kind == "matrix"]
        whole = next((s for s in shapes if not s.vector), shapes[0] if shapes else SCALAR)
        spread = [copies(t, whole) for t in terms]
        if self.context.broadcast is None:
            for term, wide in zip(terms, spread, strict=True):
                if wide is not term:
                    raise self.fail(
                        f"{term.type} and {whole} stand in one sum: write a vector of ones, such as b \\mathbf{{1}}_n, "
                        "or say in a declaration that sums are broadcast"
                    )
        return spread
