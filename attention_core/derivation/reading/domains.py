r"""Domains and laws of symbols.

What may stand to the right of \in and of \sim: the reals with their exponents, intervals, index sets, laws.
"""

from __future__ import annotations

from dataclasses import dataclass

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import index_ends
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Call,
    Chain,
    Dots,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Sub,
    Sup,
    Times,
    names_in,
)
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, Type, integer, matrix


@dataclass(frozen=True)
class Domain:
    """Where a symbol lives: `kind` is size, index or array; the rest as in `Symbol`."""

    kind: str
    type: Type | None = None
    lowest: Size | None = None
    highest: Size | None = None
    lower: tuple[Term, bool] | None = None
    upper: tuple[Term, bool] | None = None
    values: tuple[int, ...] = ()
    mentions: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if self.kind == "size":
            return "a size, at least 1"
        if self.kind == "index":
            return f"an index from {self.lowest} to {self.highest}"
        bounds = " with bounds" if self.lower or self.upper else ""
        return f"{self.type}{bounds}"


def domain_of(elab: Elaborator, expr: Expr) -> Domain:
    """The domain that is written."""
    mentions = frozenset(n for n in names_in(expr) if not n.startswith("\\mathbb"))
    match expr:
        case Name(r"\mathbb{N}"):
            return Domain("size")
        case Name(r"\mathbb{R}"):
            return Domain("array", SCALAR)
        case Sup(Name(r"\mathbb{R}"), exponent):
            return Domain("array", _shape(elab, exponent), mentions=mentions)
        case Sub(Name(r"\mathbb{R}"), _):
            return _positive(elab, expr)
        case Sup(Group() as interval, exponent):
            lower, upper = _interval(elab, interval)
            return Domain("array", _shape(elab, exponent), None, None, lower, upper, mentions=mentions)
        case Group("{", items):
            return _set(elab, expr, [i.exprs[0] for i in items if i.alone], mentions)
        case Group("[", (Chain() as last,), "]") if last.alone:
            low, high = (elab.size(end) for end in index_ends(elab, expr))
            return Domain("index", None, low, high, mentions=mentions)
        case Group():
            lower, upper = _interval(elab, expr)
            return Domain("array", SCALAR, None, None, lower, upper, mentions=mentions)
    known = r"\mathbb{N}, \mathbb{R}^{d}, [a, b] or \{1, \dots, n\}"
    raise elab.fail(f"'{to_latex(expr)}' is not understood as a domain: write {known}")


def _shape(elab: Elaborator, exponent: Expr) -> Type:
    if isinstance(exponent, Times) and set(exponent.ops) == {"*"} and len(exponent.factors) == 2:
        return matrix(elab.size(exponent.factors[0]), elab.size(exponent.factors[1]))
    if isinstance(exponent, Times) and exponent.ops.count("*") == 1:
        cut = exponent.ops.index("*") + 1
        parts = exponent.factors[:cut], exponent.factors[cut:]
        ops = exponent.ops[: cut - 1], exponent.ops[cut:]
        sizes = [elab.size(Times(f, o) if o else f[0]) for f, o in zip(parts, ops, strict=True)]
        return matrix(sizes[0], sizes[1])
    if isinstance(exponent, Times) and "*" in exponent.ops:
        raise elab.fail(f"arrays have two dimensions at most, not '{to_latex(exponent)}'")
    return matrix(elab.size(exponent), ONE)


def _positive(elab: Elaborator, expr: Sub) -> Domain:
    mark = to_latex(expr.items[0])
    text = "".join(mark.split())
    if text in ("> 0", ">0", "+", "++"):
        return Domain("array", SCALAR, lower=(integer(0), True))
    if text in (">=0",):
        return Domain("array", SCALAR, lower=(integer(0), False))
    raise elab.fail(f"'{to_latex(expr)}' is not understood: write 'x \\in \\mathbb{{R}}$, $x > 0'")


def _interval(elab: Elaborator, expr: Group) -> tuple[tuple[Term, bool] | None, tuple[Term, bool] | None]:
    if len(expr.items) != 2 or not all(i.alone for i in expr.items) or expr.bracket == "{":
        raise elab.fail(f"'{to_latex(expr)}' is not an interval")
    low, high = (i.exprs[0] for i in expr.items)
    infinite = Name(r"\infty")
    lower = None if low == Minus(infinite) else (elab.term(low), expr.bracket == "(")
    upper = None if high == infinite else (elab.term(high), expr.close == ")")
    return lower, upper


def _set(elab: Elaborator, expr: Expr, cells: list[Expr], mentions: frozenset[str]) -> Domain:
    if len(cells) >= 3 and isinstance(cells[-2], Dots):
        low, high = (elab.size(end) for end in index_ends(elab, expr))
        return Domain("index", None, low, high, mentions=mentions)
    if all(isinstance(c, Num) or (isinstance(c, Minus) and isinstance(c.body, Num)) for c in cells) and cells:
        terms = [elab.term(c) for c in cells]
        values = tuple(int(t.data) for t in terms if t.data.denominator == 1)
        if len(values) == len(cells):
            return Domain("array", SCALAR, values=values)
    raise elab.fail(f"'{to_latex(expr)}' is not understood as a set: write \\{{1, \\dots, n\\}}")


def law_of(elab: Elaborator, expr: Expr) -> tuple[Type, str, tuple[Term, ...], set[str]]:
    """Shape, name and parameters of a law: `\\mathcal{N}(mean, covariance)`, `U[a, b]`, `\\text{Bernoulli}(p)`."""
    mentions = set(names_in(expr))
    if isinstance(expr, Call) and expr.function == "Normal" and len(expr.args) == 2:
        mean, covariance = (elab.chain_term(a) for a in expr.args)
        return _normal_type(elab, mean, covariance), "normal", (mean, covariance), mentions
    name, args, bracket = _named_law(expr)
    word = name.removeprefix(r"\text{").removesuffix("}").lower()
    if word in ("u", "uniform", r"\mathcal{u") and bracket == "{" and len(args) == 3 and isinstance(args[1], Dots):
        return SCALAR, "range", (elab.term(args[0]), elab.term(args[2])), mentions
    if word in ("u", "uniform", r"\mathcal{u") and len(args) == 2:
        return SCALAR, "uniform", tuple(elab.term(a) for a in args), mentions
    if word in ("bernoulli", "ber", "bern") and len(args) == 1:
        return SCALAR, "bernoulli", (_number(elab, args[0]),), mentions
    if word in ("geometric", "geom", "geo") and len(args) == 1:
        return SCALAR, "geometric", (_number(elab, args[0]),), mentions
    if word in ("categorical", "cat") and args:
        return SCALAR, "categorical", tuple(elab.term(a) for a in args), mentions
    known = (
        r"\mathcal{N}(m, s^2 I_d), \operatorname{Uniform}[a, b], \operatorname{Uniform}\{a, \dots, b\}, "
        r"\operatorname{Bernoulli}(p), \operatorname{Geometric}(p), \operatorname{Categorical}(p_1, p_2)"
    )
    raise elab.fail(f"'{to_latex(expr)}' is not a law that is known: {known}")


def _number(elab: Elaborator, expr: Expr) -> Term:
    found = elab.term(expr)
    if not found.type.scalar:
        raise elab.fail(f"'{to_latex(expr)}' is {found.type}, where the law needs a number")
    return found


def _named_law(expr: Expr) -> tuple[str, list[Expr], str]:
    if isinstance(expr, Times) and len(expr.factors) == 2 and isinstance(expr.factors[1], Group):
        inner = expr.factors[1]
        return symbol_name(expr.factors[0]) or "", [i.exprs[0] for i in inner.items if i.alone], inner.bracket
    return "", [], ""


def _normal_type(elab: Elaborator, mean: Term, covariance: Term) -> Type:
    if mean.type.kind == "matrix":
        return mean.type
    if covariance.type.kind == "matrix":
        if mean.type.kind != "zero":
            raise elab.fail("the mean and the covariance of the normal law have different sizes")
        return matrix(covariance.type.rows, ONE)
    if covariance.type.kind == "eye":
        raise elab.fail("the size of I is not clear: write I_d")
    return SCALAR
