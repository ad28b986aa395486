r"""Claims of steps as SymPy relations.

A number is a real `Symbol`, a size or an index a positive integer, an array a `MatrixSymbol`, a family of numbers an
`IndexedBase`, one of columns the matrix of them. Indices count from 1 in a document, and entries of matrices from 0 in
SymPy: A_{ij} becomes `A[i - 1, j - 1]`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy
from sympy.matrices.expressions.slice import MatrixSlice

from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context, Hypothesis
from attention_core.derivation.terms.terms import Relation, Size, Term, Type

RELATIONS: dict[str, Any] = {
    "=": sympy.Eq, "!=": sympy.Ne, "<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge,
}  # fmt: skip


class Untranslatable(ValueError):
    """A term that has no counterpart among SymPy's expressions."""


def step_to_sympy(step: Step) -> Any:
    """Write the claim of a step as a SymPy relation, not evaluated.

    Args:
        step: A step that can be read.

    Raises:
        Untranslatable: a part of it has no counterpart.
        Unreadable, ShapeMismatch, Unsettled: the step has no claim.
    """
    context, claim, _ = claim_of(step)
    return relation_to_sympy(context, claim)


def relation_to_sympy(context: Context, relation: Relation) -> Any:
    """Write a typed relation as a SymPy relation, not evaluated.

    Args:
        context: What is declared.
        relation: The relation.

    Raises:
        Untranslatable: a part of it has no counterpart.
    """
    writer = Writer(context)
    if relation.op == "->":
        name = relation.left.data[0] if relation.left.op == "limit" else ""
        raise Untranslatable(f"a limit in {name}" if name else "a limit")
    if relation.op not in RELATIONS:
        raise Untranslatable(f"the relation {relation.op}")
    left, right = (writer.term(side) for side in (relation.left, relation.right))
    if relation.left.op == "const" and not relation.right.type.scalar:
        left = writer.fill(left, relation.right.type)
    if relation.right.op == "const" and not relation.left.type.scalar:
        right = writer.fill(right, relation.left.type)
    return RELATIONS[relation.op](left, right, evaluate=False)


class Writer:
    """Writes typed terms as SymPy expressions under one context."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def term(self, term: Term) -> Any:
        """The expression of a term: a scalar one, or a matrix expression with its rows and columns."""
        handler = HANDLERS.get(term.op)
        if handler is None:
            raise Untranslatable(f"the operation {term.op}")
        return handler(self, term)

    def real(self, name: str) -> Any:
        """A number, positive or nonnegative where a hypothesis or its interval says so."""
        symbol = self.context.symbols.get(name)
        low = None if symbol is None else symbol.lower
        positive = any(_is_positive(one, name) for one in self.context.hypotheses)
        if low is not None and low[0].op == "const" and low[0].data >= 0:
            positive = positive or low[0].data > 0 or low[1]
            return sympy.Symbol(name, **({"positive": True} if positive else {"nonnegative": True}))
        return sympy.Symbol(name, **({"positive": True} if positive else {"real": True}))

    def size(self, size: Size) -> Any:
        """A polynomial in sizes."""
        total: Any = sympy.Integer(0)
        for monomial, factor in size.terms:
            total += _rational(factor) * sympy.Mul(*(whole(name) ** power for name, power in monomial))
        return total

    def shape(self, kind: Type) -> tuple[Any, Any]:
        """Rows and columns of a type."""
        if kind.kind == "eye":
            raise Untranslatable("an identity matrix of no certain size")
        return self.size(kind.rows), self.size(kind.cols)

    def fill(self, value: Any, kind: Type) -> Any:
        """A number in every entry."""
        rows, cols = self.shape(kind)
        return sympy.ZeroMatrix(rows, cols) if value == 0 else value * sympy.OneMatrix(rows, cols)

    def test(self, term: Term) -> Any:
        """A condition among whole numbers."""
        if term.op == "all":
            return sympy.And(*(self.test(one) for one in term.args))
        return RELATIONS[term.data](*(self.term(one) for one in term.args))

    def number(self, term: Term) -> Any:
        """The expression of a term that is one number."""
        found = self.term(term)
        return found[0, 0] if getattr(found, "is_Matrix", False) else found


def whole(name: str) -> Any:
    """A size or an index."""
    return sympy.Symbol(name, integer=True, positive=True)


def _is_positive(hypothesis: Hypothesis, name: str) -> bool:
    """Whether a hypothesis says that a number is above 0."""
    relation = hypothesis.relation
    left, right = (relation.left, relation.right) if relation.op == ">" else (relation.right, relation.left)
    named = left.op == "leaf" and left.data == name and left.type.scalar
    return relation.op in ("<", ">") and named and right.op == "const" and right.data >= 0 and not relation.over


def _rational(value: Fraction) -> Any:
    return sympy.Rational(value.numerator, value.denominator)


Handler = Callable[[Writer, Term], Any]


def _leaf(writer: Writer, term: Term) -> Any:
    if term.type.scalar:
        return writer.real(term.data)
    return sympy.MatrixSymbol(term.data, *writer.shape(term.type))


def _member(writer: Writer, term: Term) -> Any:
    index = writer.term(term.args[0])
    if term.type.scalar:
        return sympy.IndexedBase(term.data, real=True)[index]
    family = writer.context.symbols[term.data]
    if not term.type.column or str(family.lowest) != "1" or family.highest is None:
        raise Untranslatable(f"a member of the family {term.data}, which is not columns from 1 on")
    rows = writer.size(term.type.rows)
    whole_family = sympy.MatrixSymbol(term.data, rows, writer.size(family.highest))
    return MatrixSlice(whole_family, (0, rows, 1), (index - 1, index, 1))


def _bind(writer: Writer, term: Term) -> Any:
    values = {whole(name): writer.term(one) for name, one in zip(term.data, term.args[1:], strict=True)}
    body = writer.term(term.args[0])
    return body.xreplace(values) if values else body


def _add(writer: Writer, term: Term) -> Any:
    parts = [writer.term(one) for one in term.args]
    return sympy.Add(*parts) if term.type.scalar else sympy.MatAdd(*parts)


def _matmul(writer: Writer, term: Term) -> Any:
    left, right = (writer.term(one) for one in term.args)
    found = sympy.MatMul(left, right)
    return found[0, 0] if term.type.scalar else found


def _hadamard(writer: Writer, term: Term) -> Any:
    return sympy.HadamardProduct(*(writer.term(one) for one in term.args))


def _norm(writer: Writer, term: Term) -> Any:
    inner = writer.term(term.args[0])
    return sympy.sqrt(sympy.Trace(inner.T * inner)) if getattr(inner, "is_Matrix", False) else sympy.Abs(inner)


def _entrywise(function: Any) -> Handler:
    def write(writer: Writer, term: Term) -> Any:
        inner = writer.term(term.args[0])
        return inner.applyfunc(function) if getattr(inner, "is_Matrix", False) else function(inner)

    return write


def _softmax(writer: Writer, term: Term) -> Any:
    powers = writer.term(term.args[0]).applyfunc(sympy.exp)
    rows, cols = writer.shape(term.type)
    if not term.type.vector:
        sums = powers * sympy.OneMatrix(cols, 1) * sympy.OneMatrix(1, cols)
        return sympy.HadamardProduct(powers, sympy.HadamardPower(sums, -1))
    ones = sympy.OneMatrix(1, rows) * powers if term.type.column else powers * sympy.OneMatrix(cols, 1)
    return powers / ones[0, 0]


def _lse(writer: Writer, term: Term) -> Any:
    inner = writer.term(term.args[0])
    rows, cols = inner.shape
    total = sympy.OneMatrix(1, rows) * inner.applyfunc(sympy.exp) * sympy.OneMatrix(cols, 1)
    return sympy.log(total[0, 0])


def _entry(writer: Writer, term: Term) -> Any:
    base, i, j = (writer.term(one) for one in term.args)
    return base[i - 1, j - 1]


def _reduce(writer: Writer, term: Term) -> Any:
    op, name = term.data
    if op not in ("sum", "prod") or not term.type.scalar:
        raise Untranslatable(f"the {op} over an index" if term.type.scalar else "a sum of arrays over an index")
    low, high, body = (writer.term(one) for one in term.args[:3])
    tests = [writer.test(one) for one in term.args[3:]]
    neutral = sympy.Integer(0 if op == "sum" else 1)
    if tests:
        body = sympy.Piecewise((body, sympy.And(*tests)), (neutral, True))
    return (sympy.Sum if op == "sum" else sympy.Product)(body, (whole(name), low, high))


def _deriv(writer: Writer, term: Term) -> Any:
    body, by = (writer.term(one) for one in term.args)
    if not term.type.scalar or not isinstance(by, sympy.Symbol):
        raise Untranslatable("a derivative of or by an array")
    return sympy.Derivative(body, by).doit()


def _indicator(writer: Writer, term: Term) -> Any:
    test = RELATIONS[term.data](*(writer.term(one) for one in term.args))
    return sympy.Piecewise((1, test), (0, True))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + sympy.exp(-x))


HANDLERS: dict[str, Handler] = {
    "const": lambda w, t: _rational(Fraction(t.data)),
    "size": lambda w, t: w.size(t.data),
    "int": lambda w, t: whole(t.data),
    "leaf": _leaf,
    "member": _member,
    "bind": _bind,
    "neg": lambda w, t: -w.term(t.args[0]),
    "add": _add,
    "mul": lambda w, t: w.term(t.args[0]) * w.term(t.args[1]),
    "hadamard": _hadamard,
    "matmul": _matmul,
    "transpose": lambda w, t: sympy.Transpose(w.term(t.args[0])).doit(),
    "div": lambda w, t: w.term(t.args[0]) / w.number(t.args[1]),
    "pow": lambda w, t: w.number(t.args[0]) ** w.number(t.args[1]),
    "sqrt": lambda w, t: sympy.sqrt(w.number(t.args[0])),
    "abs": lambda w, t: sympy.Abs(w.number(t.args[0])),
    "norm": _norm,
    "pi": lambda w, t: sympy.pi,
    "max": lambda w, t: sympy.Max(*(w.number(a) for a in t.args)),
    "min": lambda w, t: sympy.Min(*(w.number(a) for a in t.args)),
    "relu": _entrywise(lambda x: sympy.Max(x, 0)),
    "sigmoid": _entrywise(_sigmoid),
    "tanh": _entrywise(sympy.tanh),
    "exp": _entrywise(sympy.exp),
    "log": _entrywise(sympy.log),
    "sin": _entrywise(sympy.sin),
    "cos": _entrywise(sympy.cos),
    **{name: _entrywise(getattr(sympy, name)) for name in ("tan", "cot", "sec", "csc", "sinh", "cosh", "coth", "sech")},
    "csch": _entrywise(sympy.csch),
    "arctan": _entrywise(sympy.atan),
    "arcsin": _entrywise(sympy.asin),
    "arccos": _entrywise(sympy.acos),
    "arsinh": _entrywise(sympy.asinh),
    "arcosh": _entrywise(sympy.acosh),
    "artanh": _entrywise(sympy.atanh),
    "erfc": _entrywise(sympy.erfc),
    "sign": _entrywise(sympy.sign),
    "erf": _entrywise(sympy.erf),
    "floor": _entrywise(sympy.floor),
    "ceil": _entrywise(sympy.ceiling),
    "entry": _entry,
    "reduce": _reduce,
    "softmax": _softmax,
    "lse": _lse,
    "deriv": _deriv,
    "indicator": _indicator,
    "eye": lambda w, t: sympy.Integer(1) if t.type.scalar else sympy.Identity(w.shape(t.type)[0]),
    "ones": lambda w, t: sympy.Integer(1) if t.type.scalar else sympy.OneMatrix(*w.shape(t.type)),
    "zeros": lambda w, t: sympy.Integer(0) if t.type.scalar else sympy.ZeroMatrix(*w.shape(t.type)),
    "filled": lambda w, t: w.number(t.args[0]) if t.type.scalar else w.fill(w.number(t.args[0]), t.type),
    "diag": lambda w, t: sympy.DiagMatrix(w.term(t.args[0])),
    "diagonal": lambda w, t: sympy.HadamardProduct(
        w.term(t.args[0]), sympy.Identity(w.shape(t.args[0].type)[0])
    ) * sympy.OneMatrix(w.shape(t.args[0].type)[0], 1),
    "tr": lambda w, t: sympy.Trace(w.term(t.args[0])),
    "det": lambda w, t: sympy.Determinant(w.term(t.args[0])),
    "inv": lambda w, t: sympy.Inverse(w.term(t.args[0])),
    "magnitudes": _entrywise(sympy.Abs),
}  # fmt: skip
