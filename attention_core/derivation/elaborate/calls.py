"""Calls of known functions.

Functions that have a name in mathematics: of numbers, of vectors and rows, of square matrices; attention itself.
Those that a document defines are in `functions`.

Expressions about random variables.

Expectations, variances, covariances and probabilities as terms: `expect` holds what is averaged.
Variances and covariances are unfolded into expectations here, so that later stages know one operation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.events import expect, probability
from attention_core.derivation.elaborate.indicators import indicator
from attention_core.derivation.elaborate.matrix_functions import (
    MATRIX_CALLS,
    matrix_call,
    spectral_call,
    whole_call,
)
from attention_core.derivation.elaborate.row_functions import row_call
from attention_core.derivation.elaborate.subscripts import index_array, index_items
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Call, Minus, Num
from attention_core.derivation.latex.tokens import ELEMENTARY, ROW_WORDS
from attention_core.derivation.terms.terms import (
    ONE,
    SCALAR,
    ZERO,
    ShapeMismatch,
    Term,
    hadamard,
    integer,
    join_types,
    matrix,
    negative,
    product,
    quotient,
    scalar_function,
    size_term,
    transpose,
)

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def expectation(elab: Elaborator, expr: Call) -> Term:
    r"""`\mathbb{E}[X]`, `\operatorname{Var}[X]`, `\operatorname{Cov}[X, Y]`, `\Pr[X \le a]`."""
    if expr.sub and not _all_random(elab, expr):
        raise elab.fail(f"a subscript of {expr.function} is not understood: the average runs over all that is random")
    if expr.function == "Pr":
        return probability(elab, expr.args)
    args = [elab.chain_term(a) for a in expr.args]
    if expr.function == "E" and len(args) == 1:
        return expect(args[0])
    if expr.function == "Var" and len(args) == 1:
        return covariance(args[0], args[0])
    if expr.function == "Cov" and len(args) in (1, 2):
        return covariance(args[0], args[-1])
    raise elab.fail(f"{expr.function} has the wrong number of arguments")


def _all_random(elab: Elaborator, expr: Call) -> bool:
    r"""Whether the subscript of `\mathbb{E}_{x, y}` names all that is random in what is averaged."""
    names = {symbol_name(chain.exprs[0]) for chain in expr.sub if chain.alone}
    symbols = elab.context.symbols
    if len(names) != len(expr.sub) or not all(n in symbols and symbols[n].law is not None for n in names):
        return False
    terms = [elab.term(e) for chain in expr.args for e in chain.exprs]
    used = {t.data for term in terms for t in term.walk() if t.op in ("leaf", "member")}
    return {n for n in used if symbols[n].law is not None} <= names


def covariance(x: Term, y: Term) -> Term:
    """E[x y^T] - E[x] E[y]^T; of a row its transpose is taken first, so that the result is a matrix."""
    x, y = (t if t.type.scalar or t.type.column else transpose(t) for t in (x, y))
    joint = expect(product(x, transpose(y)))
    apart = product(expect(x), transpose(expect(y)))
    return Term("add", (joint, negative(apart)), joint.type if joint.type.kind != "zero" else integer(1).type)


SOFTMAX_OF_COLUMNS = "softmax of columns"  # other conventions, see `conventions`
BASES = {"base 2": 2, "base 10": 10}
ENTRYWISE = ("exp", "log", "sin", "cos", "tanh", "relu", "sign", "sigmoid", "erf", "ceil", "floor", *ELEMENTARY)
ROW_FUNCTIONS = frozenset(ROW_WORDS.values())
MOST_BY_ENTRIES = 8  # the power of a function that is taken entry by entry
INVERSES = {
    "sin": r"\arcsin", "cos": r"\arccos", "tan": r"\arctan", "sinh": r"\operatorname{arsinh}",
    "cosh": r"\operatorname{arcosh}", "tanh": r"\operatorname{artanh}", "exp": r"\log",
}  # fmt: skip


def call(elab: Elaborator, expr: Call) -> Term:
    """A known function."""
    found = _elaborate_call(elab, expr)
    if expr.power is None:
        return found
    if expr.power == Minus(Num(Fraction(1))):
        inverse = f"{INVERSES[expr.function]} for the one, " if expr.function in INVERSES else ""
        raise elab.fail(
            f"\\{expr.function}^{{-1}} may be the inverse function or the inverse number: write {inverse}1 / ... for "
            "the other"
        )
    if not found.type.scalar:
        return _power_by_entries(elab, expr, found)
    return Term("pow", (found, elab.term(expr.power)), SCALAR)


def _power_by_entries(elab: Elaborator, expr: Call, value: Term) -> Term:
    r"""`\\tanh^2(z)` of an array, whose function is taken entry by entry: so is its power."""
    times = expr.power.value if isinstance(expr.power, Num) else Fraction(0)
    square = value.type.rows == value.type.cols  # may be a function of a matrix, and its power one of matrices
    if square or expr.function not in ENTRYWISE or times.denominator != 1 or not 2 <= times <= MOST_BY_ENTRIES:
        raise elab.fail(f"the power of {expr.function} is only understood where its value is a number")
    out = value
    for _ in range(int(times) - 1):
        out = hadamard(out, value)
    return out


def _elaborate_call(elab: Elaborator, expr: Call) -> Term:
    name = expr.function
    if name in ("E", "Var", "Cov", "Pr"):
        return expectation(elab, expr)
    if name == "indicator":
        return indicator(elab, expr.args)
    if name in ("factorial", "binom"):
        return whole_call(elab, expr)
    if name in ("eigen", "singular"):
        return spectral_call(elab, expr)
    args = [elab.chain_term(a) for a in expr.args]
    if name == "log" and expr.sub:
        base = elab.chain_term(expr.sub[0])
        return Term("div", (scalar_function("log", args[0]), scalar_function("log", base)), SCALAR)
    if expr.sub and name == "softmax":
        items = index_items(elab, expr.sub)
        if items is None:
            raise elab.fail("the subscript of softmax is not a declared index")
        return index_array(elab, _softmax(elab, args), items)
    if expr.sub:
        raise elab.fail(f"a subscript of {name} is not understood")
    if name in ("softmax", "argmax"):
        return _softmax(elab, args, name)
    if name == "log" and len(args) == 1 and args[0].type.scalar and (bases := elab.context.readings & set(BASES)):
        base = scalar_function("log", integer(BASES[min(bases)]))
        return Term("div", (scalar_function("log", args[0]), base), SCALAR)
    if name in ENTRYWISE and len(args) == 1:
        return scalar_function(name, args[0])
    if name in ("max", "min"):
        return _extreme(elab, name, args)
    if name == "inner":
        return _inner(elab, args)
    if name in ROW_FUNCTIONS:
        return row_call(elab, name, args)
    if name in MATRIX_CALLS:
        return matrix_call(elab, name, args)
    return _matrix_function(elab, name, args)


def _softmax(elab: Elaborator, args: list[Term], name: str = "softmax") -> Term:
    if len(args) != 1 or args[0].type.kind != "matrix":
        raise elab.fail(f"{name} takes one vector or one matrix (whose rows it takes)")
    if SOFTMAX_OF_COLUMNS in elab.context.readings and not args[0].type.vector:
        turned = transpose(args[0])
        return transpose(Term(name, (turned,), turned.type))
    return Term(name, (args[0],), args[0].type)


def _extreme(elab: Elaborator, name: str, args: list[Term]) -> Term:
    if len(args) == 1 and args[0].type.kind == "matrix":
        return Term(name + "of", (args[0],), SCALAR)
    if args and all(a.type.scalar for a in args):
        return Term(name, tuple(args), SCALAR)
    arrays = [a for a in args if a.type.kind == "matrix"]
    if not arrays or any(a.type not in (arrays[0].type, ZERO) for a in args):
        raise elab.fail(f"{name} takes numbers, one array, or arrays of one shape and 0")
    out = arrays[0]
    for other in (*arrays[1:], *(a for a in args if a.type == ZERO)):
        out = _extreme_entries(name, out, other)
    return out


def _extreme_entries(name: str, left: Term, right: Term) -> Term:
    """The larger or smaller entries of an array and of another, or of 0: max(a, b) = b + relu(a - b)."""
    gap = left if right.type == ZERO else Term("add", (left, negative(right)), left.type)
    above = scalar_function("relu", gap)
    if name == "min":
        return Term("add", (left, negative(above)), left.type)
    return above if right.type == ZERO else Term("add", (right, above), left.type)


def _inner(elab: Elaborator, args: list[Term]) -> Term:
    r"""`\langle x, y \rangle`: of two matrices the sum over all entries."""
    if len(args) != 2:
        raise elab.fail(r"\langle ... \rangle is understood as an inner product of two arguments")
    left, right = args
    if left.type.vector and right.type.vector:
        return product(
            left if not left.type.column else transpose(left), right if right.type.column else transpose(right)
        )
    if join_types(left.type, right.type, "paired").kind == "matrix":
        return Term("tr", (product(transpose(left), right),), SCALAR)
    return product(left, right)


def _matrix_function(elab: Elaborator, name: str, args: list[Term]) -> Term:
    if name == "attention" and len(args) == 3:
        q, k, v = args
        scores = product(q, transpose(k))
        scale = Term("sqrt", (size_term(k.type.cols),), SCALAR)
        if scores.type.kind != "matrix":
            raise elab.fail("Attention takes matrices: queries, keys and values in rows")
        return product(Term("softmax", (quotient(scores, scale),), scores.type), v)
    if len(args) == 1 and args[0].type.kind == "matrix":
        kind = args[0].type
        if name == "lse" and kind.vector:
            return Term("lse", (args[0],), SCALAR)
        if name == "diag" and kind.vector:
            n = kind.rows if kind.column else kind.cols
            return Term("diag", (args[0],), matrix(n, n))
        if kind.rows != kind.cols:
            raise ShapeMismatch(f"{name} of {kind}: a square matrix is needed", (kind.rows, kind.cols))
        if name == "diag":
            return Term("diagonal", (args[0],), matrix(kind.rows, ONE))
        if name in ("tr", "det"):
            return Term(name, (args[0],), SCALAR)
    if len(args) == 1 and args[0].type.scalar and name in ("tr", "det"):
        return args[0]
    raise elab.fail(f"{name} is not understood of these arguments")
