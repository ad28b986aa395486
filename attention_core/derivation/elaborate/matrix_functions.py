r"""Functions of matrices and of whole numbers: `A \otimes B`, `\operatorname{vec}`, ranks, spectra, norms, `n!`.

What a sign stands for is taken from the words of the document, where authors do not agree: see `notation_words`. Of a
matrix `\|A\|_2`, `\|A\|_1` and `\|A\|_\infty` are the norms that vectors induce; others take entries together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Call, Expr, Group, Minus, Name, Num, Sub, Sup, Times, Unreadable
from attention_core.derivation.terms.terms import (
    ONE,
    SCALAR,
    ShapeMismatch,
    Term,
    hadamard,
    matrix,
    product,
    transpose,
)

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

ENTRYWISE_NORMS = "norms of entries"  # other conventions, see `conventions`
SPECTRAL_NORM = "the spectral norm"
VEC_BY_ROWS = "vec by rows"
UNITS = "unit vectors"  # by e_i, as the document says
ASCENDING = "ascending eigenvalues"
KRONECKER, OUTER, ENTRYWISE = "Kronecker product", "outer product", "entrywise product"
PSEUDO_INVERSE = "pseudo-inverse"
E_DECLARED = "e is declared"  # somewhere: where it is not, it may still be that
ENTRIES_ABOVE = "entries above "  # and the letter whose entries are written so, `x^i`
MATRIX_CALLS = ("vec", "rank", "pinv", "eigen", "singular")
_WHOLE = frozenset({"int", "size", "const", "add", "neg", "mul", "div", "bind", "pow"})
_EXTREMES = {r"\max": "max", r"\text{max}": "max", r"\min": "min", r"\text{min}": "min"}


def tensor_product(elab: Elaborator, left: Term, right: Term) -> Term:
    r"""`A \otimes B` as the document means it."""
    meant = elab.context.stated & {KRONECKER, OUTER, ENTRYWISE}
    if len(meant) != 1:
        raise elab.fail(
            r"\otimes is not understood here: say what it is, as in 'where $\otimes$ denotes the Kronecker product'"
        )
    if ENTRYWISE in meant:
        return hadamard(left, right)
    if left.type.scalar or right.type.scalar:
        return product(left, right)
    if "eye" in (left.type.kind, right.type.kind):
        raise elab.fail("the size of I beside \\otimes is not clear: write I_n")
    if OUTER in meant:
        if not (left.type.vector and right.type.vector):
            raise elab.fail(
                r"\otimes is the outer product of vectors in this document: of matrices it is not understood"
            )
        turned = right if right.type.rows == ONE else transpose(right)
        return product(left if left.type.column else transpose(left), turned)
    kind = matrix(left.type.rows * right.type.rows, left.type.cols * right.type.cols)
    return Term("kron", (left, right), kind)


def matrix_call(elab: Elaborator, name: str, args: Sequence[Term]) -> Term:
    """A function of one matrix."""
    if len(args) != 1:
        raise elab.fail(f"{name} takes one matrix")
    (inner,) = args
    if inner.type.kind == "eye":
        raise elab.fail(f"the size of I in {name} is not clear: write I_n")
    if inner.type.scalar:
        inner = Term("filled", (inner,), matrix(ONE, ONE)) if name == "pinv" else inner
    if name == "vec":
        turned = transpose(inner) if VEC_BY_ROWS in elab.context.readings | elab.context.stated else inner
        return inner if inner.type.scalar else Term("vec", (turned,), matrix(inner.type.rows * inner.type.cols, ONE))
    if name == "pinv":
        return Term("pinv", (inner,), inner.type.transpose if inner.type.kind == "matrix" else SCALAR)
    return Term(name, (inner,), SCALAR)


RUNNING = "\u2211"  # in the key of a letter that runs over whole numbers without end


def is_running(term: Term) -> bool:
    """Whether a term is the letter of a sum without end."""
    return term.op == "variable" and RUNNING in str(term.data)


def whole_call(elab: Elaborator, expr: Call) -> Term:
    r"""`n!` and `\binom{n}{k}` of whole numbers."""
    args = [elab.chain_term(one) for one in expr.args]
    if not all(one.type.scalar for one in args):
        raise ShapeMismatch(f"{expr.function} of {args[0].type}: a number is needed")
    for one in args[-1:]:  # of any number x there is \binom{x}{2}
        if any(part.op not in _WHOLE and not is_running(part) for part in one.walk()):
            raise elab.fail(
                f"'{to_latex(expr)}' is read of whole numbers: declare them so, as in 'Let $n \\in \\mathbb{{N}}$'"
            )
    return Term(expr.function, tuple(args), SCALAR)


def is_pseudo_inverse(elab: Elaborator, base: Expr, exponent: Expr) -> bool:
    r"""Whether `A^+` or `A^\dagger` is a pseudo-inverse: where the document says so."""
    return exponent in (Name("+"), Name(r"\dagger")) and PSEUDO_INVERSE in elab.context.stated


def with_spectra(elab: Elaborator, expr: Times) -> Expr:
    r"""The product with `\lambda_{\max}(A)`, `\sigma_1(A)` and `\rho(A)` as calls, where these letters are free."""
    factors, ops = list(expr.factors), list(expr.ops)
    for place in range(len(factors) - 1):
        found = _spectral(elab, factors[place], factors[place + 1]) if ops[place] == "" else None
        if found is not None:
            factors[place : place + 2], ops[place : place + 1] = [found], []
            rest = Times(tuple(factors), tuple(ops)) if ops else factors[0]
            return with_spectra(elab, rest) if isinstance(rest, Times) else rest
    return expr


def _spectral(elab: Elaborator, head: Expr, inside: Expr) -> Expr | None:
    r"""`\lambda_{\max} (A)` as a call, also with a power after the brackets."""
    if isinstance(inside, Sup):
        inner = _spectral(elab, head, inside.base)
        return None if inner is None else Sup(inner, inside.exponent)
    if not isinstance(inside, Group) or inside.bracket != "(" or len(inside.items) != 1 or not inside.items[0].alone:
        return None
    letter = head.base if isinstance(head, Sub) else head
    if letter not in (Name(r"\lambda"), Name(r"\sigma")) or not isinstance(head, Sub) or len(head.items) != 1:
        return None
    if elab.lookup(symbol_name(head) or "") is not None or not _may_be_spectral(elab, letter, inside):
        return None
    return Call("eigen" if letter == Name(r"\lambda") else "singular", inside.items, head.items)


def _may_be_spectral(elab: Elaborator, letter: Expr, inside: Group) -> bool:
    r"""Whether \lambda or \sigma is free, or one declared number in front of a matrix: an eigenvalue is meant then."""
    known = elab.lookup(symbol_name(letter) or "")
    if known is None:
        return True
    number = known.kind in ("array", "definition") and not known.params
    kind = known.type if known.term is None else known.term.type
    return number and kind is not None and kind.scalar and is_matrix_formula(elab, inside.items[0].exprs[0])


def is_matrix_formula(elab: Elaborator, expr: Expr) -> bool:
    """Whether a formula is a matrix of more than one row and column, as far as its symbols are declared."""
    try:
        kind = elab.term(expr).type
    except (Unreadable, ShapeMismatch):
        return False
    return kind.kind == "matrix" and not kind.vector


def spectral_call(elab: Elaborator, expr: Call) -> Term:
    """One eigenvalue or singular value, by its place or as the largest or smallest."""
    inner, (below,) = elab.chain_term(expr.args[0]), expr.sub
    if inner.type.kind != "matrix" or (expr.function == "eigen" and inner.type.rows != inner.type.cols):
        raise elab.fail(f"'{to_latex(expr.args[0])}' is {inner.type}: a matrix is needed here")
    which = _EXTREMES.get(to_latex(below))
    if which:
        return Term(expr.function, (inner,), SCALAR, which)
    if not elab.is_integer(below.exprs[0]):
        raise elab.fail(f"'{to_latex(below)}' is not the number of an eigenvalue")
    place = elab.term(below.exprs[0])
    if expr.function == "eigen" and ASCENDING in elab.context.readings:
        size = Term("size", (), SCALAR, inner.type.rows + ONE)
        place = Term("add", (size, Term("neg", (place,), SCALAR)), SCALAR)
    return Term(expr.function, (inner, place), SCALAR)


def matrix_norm(elab: Elaborator, inner: Term, index: str) -> Term:
    r"""`\|A\|_2`, `\|A\|_*`, `\|A\|_1`, `\|A\|_\infty` of a matrix."""
    if inner.type.kind == "eye":
        raise elab.fail("the size of I in a norm is not clear: write I_n")
    if index in ("*", r"\text{nuc}", r"\text{nuclear}", r"\text{tr}"):
        return Term("singular", (inner,), SCALAR, "sum")
    if index in (r"\text{op}", "op", "o p", r"\text{spec}"):
        return Term("singular", (inner,), SCALAR, "max")
    if index not in ("1", "2", r"\infty"):
        raise elab.fail(
            f"the norm with index {index} of {inner.type} is not understood: only those with 1, 2, F, * and \\infty are"
        )
    if ENTRYWISE_NORMS in elab.context.readings:
        return Term({"1": "norm1", "2": "norm"}.get(index, "normmax"), (inner,), SCALAR)
    if index == "2":
        return Term("singular", (inner,), SCALAR, "max")
    sizes = Term("magnitudes", (inner,), inner.type)
    ones = matrix(ONE, inner.type.rows) if index == "1" else matrix(inner.type.cols, ONE)
    factors = (Term("ones", (), ones), sizes) if index == "1" else (sizes, Term("ones", (), ones))
    sums = Term("matmul", factors, matrix(ONE, inner.type.cols) if index == "1" else matrix(inner.type.rows, ONE))
    return sums if sums.type.scalar else Term("maxof", (sums,), SCALAR)


def vector_norm(elab: Elaborator, inner: Term, index: Expr) -> Term | None:
    r"""`\|x\|_p` and `\|x\|_0` of a vector, None where the index is not a number."""
    if isinstance(index, Num) and index.value == 0:
        return Term("norm0", (inner,), SCALAR)
    if isinstance(index, Num) and index.value >= 1:
        return Term("normp", (inner, elab.term(index)), SCALAR)
    name = symbol_name(index) if not isinstance(index, Num | Minus) else None
    symbol = elab.lookup(name) if name is not None else None
    if symbol is None or symbol.type is None or not symbol.type.scalar or symbol.kind not in ("array", "size"):
        return None
    return Term("normp", (inner, elab.term(index)), SCALAR)
