r"""What is taken of entries of an array: `\operatorname{rowsum}(A)`, `\mathrm{rowmax}(S)`, `\operatorname{mean}(x)`.

The words are read where the document does not declare them. Of an n x m matrix A the sums, largest and smallest values
and means of the rows are a column of n, those of the columns a column of m. `\operatorname{mean}`, `\operatorname{var}`
and `\operatorname{std}` take all entries together; the variance divides by their number, and a step that holds with one
less there is AMBIGUOUS, see `conventions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING

from attention_core.derivation.latex.syntax import (
    Call,
    Chain,
    Expr,
    Group,
    Name,
    Times,
    change_base,
    children,
    names_in,
)
from attention_core.derivation.latex.tokens import ROW_WORDS
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import (
    ONE,
    SCALAR,
    Size,
    Term,
    hadamard,
    integer,
    matrix,
    negative,
    product,
    quotient,
    size_term,
    transpose,
)

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

SAMPLE_VARIANCE = "sample variance"  # another convention, see `conventions`
_numbers = count(1)


def with_row_functions(is_declared: Callable[[str], bool], node: Times) -> Expr:
    r"""A product with `\operatorname{rowsum} (A)` as a call, also with a power, a transpose or an index behind it.

    Args:
        is_declared: Whether the document declares a name.
        node: The product.
    """
    factors, ops = list(node.factors), list(node.ops)
    place = 0
    while place + 1 < len(factors):
        head = factors[place]
        word = row_function(head.text) if isinstance(head, Name) and not is_declared(head.text) else ""
        called = _read_call(word, factors[place + 1]) if word and not ops[place] else None
        if called is not None:
            factors[place : place + 2] = [called]
            del ops[place]
        place += 1
    if len(factors) == len(node.factors):
        return node
    return Times(tuple(factors), tuple(ops)) if ops else factors[0]


def write_row_functions(is_declared: Callable[[str], bool], node: object) -> object:
    """A written tree with such words as calls.

    Args:
        is_declared: Whether the document declares a name.
        node: The tree.
    """
    if isinstance(node, tuple):
        return tuple(write_row_functions(is_declared, one) for one in node)
    if not children(node):
        return node
    fields = {name: write_row_functions(is_declared, getattr(node, name)) for name in node.__slots__}  # type: ignore[attr-defined]
    made = type(node)(**fields)
    return with_row_functions(is_declared, made) if isinstance(made, Times) else made


def write_row_words(context: Context, chains: list[Chain]) -> list[Chain]:
    """Formulas with the words for sums and means of rows as calls, where the document does not declare them.

    Args:
        context: What is declared.
        chains: The formulas.
    """
    known = context.symbols.__contains__
    if not has_row_function((name for chain in chains for name in names_in(chain)), known):
        return chains
    written = (write_row_functions(known, chain) for chain in chains)
    return [one for one in written if isinstance(one, Chain)]


def has_row_function(names: Iterable[str], is_declared: Callable[[str], bool]) -> bool:
    """Whether one of some names is such a word that is not declared."""
    return any(row_function(name) and not is_declared(name) for name in names)


def row_function(name: str) -> str:
    r"""The function that a name spells: `rowsum` of `\text{row\_sum}` and `\text{RowSum}`, '' of any other."""
    if not name.startswith(r"\text{"):
        return ""
    word = re.sub(r"[^a-z]", "", name.removeprefix(r"\text").lower())
    return ROW_WORDS.get(word, "")


def _read_call(word: str, behind: Expr) -> Expr | None:
    def call(inside: Expr) -> Expr | None:
        match inside:
            case Group("(" | "[", (one,)) if one.alone:
                return Call(word, (one,))
        return None

    return change_base(behind, call)


def row_call(elab: Elaborator, name: str, args: list[Term]) -> Term:
    """The term of such a call."""
    if len(args) != 1 or args[0].type.kind != "matrix":
        raise elab.fail(f"{name} takes one array here; declare what it is of anything else")
    (inner,) = args
    if name in ("sum", "mean", "var", "std"):
        return _of_all(elab, name, inner)
    if inner.type.vector:
        raise elab.fail(f"{name} takes a matrix, and this is {inner.type}: write a sum over its entries")
    turned = inner if name.startswith("row") else transpose(inner)
    what = name[3:]
    if what in ("sum", "mean"):
        total = product(turned, Term("ones", (), matrix(turned.type.cols, ONE)))
        return total if what == "sum" else quotient(total, size_term(turned.type.cols))
    return _extremes(what, turned)


def _extremes(what: str, inner: Term) -> Term:
    """The largest or smallest entry of each row, in a column."""
    kind, name = inner.type, f"row§{next(_numbers)}"
    place, last = Term("int", (), SCALAR, name), size_term(kind.cols)
    line = Term("slice", (inner, place, place, integer(1), last), matrix(ONE, kind.cols))
    one = Term(f"{what}of", (line,), SCALAR)
    return Term("vcat", (integer(1), size_term(kind.rows), one), matrix(kind.rows, ONE), name)


def _of_all(elab: Elaborator, name: str, inner: Term) -> Term:
    """The sum, mean, variance or standard deviation of all entries."""
    kind = inner.type
    entries = kind.rows * kind.cols
    if name in ("sum", "mean"):
        return _sum(inner) if name == "sum" else quotient(_sum(inner), size_term(entries))
    mean = quotient(_sum(inner), size_term(entries))
    away = Term("add", (inner, negative(product(mean, Term("ones", (), kind)))), kind)
    less = Size.number(-1) if SAMPLE_VARIANCE in elab.context.readings else Size.number(0)
    variance = quotient(_sum(hadamard(away, away)), size_term(entries + less))
    return variance if name == "var" else Term("sqrt", (variance,), SCALAR)


def _sum(inner: Term) -> Term:
    kind = inner.type
    down = inner if kind.rows == ONE else product(Term("ones", (), matrix(ONE, kind.rows)), inner)
    return down if kind.cols == ONE else product(down, Term("ones", (), matrix(kind.cols, ONE)))
