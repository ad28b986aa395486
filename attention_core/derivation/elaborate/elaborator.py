"""The elaborator: what every form of expression needs to become a term.

Names, sizes and sums of terms under one context. The handlers of the forms are the rows of `expressions`; each takes
the elaborator it works for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Chain,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.same_sizes import same_size
from attention_core.derivation.terms.terms import SCALAR, Size, Term, copies, fit, join_types

NUMERALS = "numerals beside vectors"  # stand for vectors of them, where undeclared symbols are read
Bound = dict[str, tuple[Size, Size] | None]


_LABEL = re.compile(r"\^\{\(([^()]*)\)\}|_\{([^{}]*)\}")


@lru_cache(maxsize=1024)
def index_letters(name: str) -> frozenset[str]:
    """The letters in the labels and subscripts of a name, which a sum may run over.

    Args:
        name: The name of a symbol.

    Example:
        >>> sorted(index_letters("x_{j}^{(i)}"))
        ['i', 'j']
    """
    parts = (one or other for one, other in _LABEL.findall(name))
    return frozenset(letter for part in parts for letter in re.findall(r"\\?[a-zA-Z]+", part))


def advise_family(name: str) -> str:
    r"""How to declare the family that a symbol with an index would belong to: `x^{(i)}`, or `x_{i}`.

    Args:
        name: The symbol.
    """
    letter, _, behind = name.partition("^{(")
    if behind:
        letter = letter.partition("_{")[0]
        return rf"'Let ${letter}^{{(1)}}, \dots, {letter}^{{(n)}} \in \mathbb{{R}}^d$'"
    letter = name.partition("_{")[0]
    return rf"'Let ${letter}_1, \dots, {letter}_n \in \mathbb{{R}}^d$'"


class Elaborator:
    """Turns written expressions into terms under one context; `bound` are the indices of the sums around."""

    def __init__(self, context: Context, bound: Bound | None = None, line: int = 0) -> None:
        self.context, self.line = context, line
        self.bound: Bound = dict(bound or {})

    # -- names --------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Symbol | None:
        """The declaration of a name.

        Raises:
            Unreadable: It is one symbol that has an index of a sum around it: a declared `x_i` under a sum over i.
        """
        found = self.context.symbols.get(name)
        if found is None or not self.bound or "{" not in name:
            return found
        if found.kind not in ("array", "definition") or found.params:
            return found
        if moved := self.bound.keys() & index_letters(name):
            letter = min(moved)
            raise self.fail(
                f"{name} was declared as one symbol and stands in a sum over {letter}: declare a family, as in "
                f"{advise_family(name)}, and write ${name}$ for its members"
            )
        return found

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
                name = symbol_name(expr)
                return name is not None and (found := self.lookup(name)) is not None and found.kind in ("size", "index")
        return False

    def size(self, expr: Expr) -> Size:
        """A size: a polynomial in declared sizes, of equal ones always in the same."""
        return same_size(self.context, self.raw_size(expr))

    def raw_size(self, expr: Expr) -> Size:
        """The same, before hypotheses make sizes equal."""
        match expr:
            case Num(value):
                return Size.number(value)
            case Name(text):
                found = self.lookup(text)
                if self.opens(expr):
                    self.context.open_size(text, self.line)
                elif found is None or found.kind != "size":
                    raise self.fail(_say_no_size(self.context, text, found is None))
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
                name = symbol_name(expr)
                if name is not None and isinstance(expr, Sub) and self.opens(expr):
                    self.context.open_size(name, self.line)
                if name is not None and (found := self.lookup(name)) is not None and found.kind == "size":
                    return Size.symbol(name)
                if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)):
                    side = self.size(expr.base)
                    return side * side
        raise self.fail(f"'{to_latex(expr)}' is not understood as a size")

    def opens(self, expr: Name | Sub) -> bool:
        """Whether an undeclared letter, or one with a fixed subscript such as d_k, may be a size that nothing declares.

        n_i is none: a subscript that runs means a size for each of its values.
        """
        base = expr.base if isinstance(expr, Sub) else expr
        letter = symbol_name(base)
        if (
            not self.context.opens_sizes
            or letter is None
            or letter in self.bound
            or self.is_declared(symbol_name(expr))
        ):
            return False
        if isinstance(expr, Sub):
            fixed = re.fullmatch(r"[a-hkm-su-z]|\\(?:text|mathrm|operatorname)\{\w+\}|[a-z]{2,}", _subscript(expr))
            found = self.lookup(letter)
            return bool(fixed) and (found is None or found.kind == "size")
        return len(letter) == 1 or letter == r"\ell"

    def is_declared(self, name: str | None) -> bool:
        """Whether something of this name is declared."""
        return name is None or self.lookup(name) is not None

    def inverse_size(self, expr: Expr) -> Size:
        """One over a size."""
        found = self.size(expr).inverse()
        if found is None:
            raise self.fail(f"a size cannot be divided by '{to_latex(expr)}'")
        return found

    # -- expressions --------------------------------------------------------------------------------------------

    def term(self, expr: Expr) -> Term:
        """The typed term of an expression."""
        handler = HANDLERS.get(type(expr))
        if handler is None:
            raise self.fail(f"'{to_latex(expr)}' is not understood here")
        return handler(self, expr)

    def chain_term(self, chain: Chain) -> Term:
        """The term of a chain that must be a plain expression."""
        if not chain.alone:
            raise self.fail(f"a relation is not expected inside '{to_latex(chain)}'")
        return self.term(chain.exprs[0])

    def total(self, terms: Sequence[Term]) -> Term:
        """A sum: all shapes alike."""
        kept = [t for t in terms if not (t.op == "const" and t.data == 0)] or [terms[0]]
        if len(kept) == 1:
            return kept[0]
        kept = self.alike(kept)
        kind = kept[0].type
        for other in kept[1:]:
            kind = join_types(kind, other.type, "added")
        return Term("add", tuple(fit(t, kind) for t in kept), kind)

    def alike(self, terms: Sequence[Term]) -> list[Term]:
        """Numbers, rows and columns beside a matrix: copies of them, if the document says so."""
        shapes = [t.type for t in terms if t.type.kind == "matrix"]
        whole = next((s for s in shapes if not s.vector), shapes[0] if shapes else SCALAR)
        spread = [copies(t, whole) for t in terms]
        if NUMERALS in self.context.stated and whole.vector:  # `1 - a`
            terms = [wide if t.op == "const" else t for t, wide in zip(terms, spread, strict=True)]
        if self.context.broadcast is None:
            for term, wide in zip(terms, spread, strict=True):
                if wide is not term:
                    raise self.fail(
                        f"{term.type} and {whole} stand in one sum: write a vector of ones, such as b \\mathbf{{1}}_n, "
                        "or say in a declaration that sums are broadcast"
                    )
        return spread


def _say_no_size(context: Context, name: str, missing: bool) -> str:
    """What to do about a letter where a size must stand."""
    if missing and name in context.dropped:
        return f"{name} is not a size any more: {context.dropped[name][1]}"
    return f"{name} is not a size: write 'Let ${name} \\in \\mathbb{{N}}$' first"


def _subscript(expr: Sub) -> str:
    """What stands below a letter, as one word."""
    return "".join(to_latex(item) for item in expr.items).replace(" ", "")


Handler = Callable[[Elaborator, Any], Term]
HANDLERS: dict[type, Handler] = {}
"""How each form of expression becomes a term; `expressions` fills it."""
