r"""Domains and laws of symbols, and random symbols.

What may stand to the right of \in and of \sim: the reals with their exponents, intervals, index sets, laws.

Random symbols from a declaration: single ones (`x, y \sim ...`), families with one law (`x_1, \dots, x_n \sim ...`),
families whose law mentions the member (`k_i \sim \mathcal{N}(\mu_i, ...)`).
What the parameters of a law must satisfy becomes a hypothesis of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import index_ends, inferred_range, spread
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
    Unreadable,
    names_in,
)
from attention_core.derivation.terms.context import Context, Distribution, Symbol
from attention_core.derivation.terms.relevance import derive_conditions, is_random
from attention_core.derivation.terms.terms import ONE, SCALAR, Relation, Size, Term, Type, matrix, size_term

ENTRIES = "entrymoments"
"""The law of arrays of whose entries mean and variance are known; the array is declared before it."""
NUMBERS = "numbermoments"
"""The law of numbers of which mean and variance are known; the variance of an array does not say its covariances."""


@dataclass(frozen=True)
class Domain:
    """Where a symbol lives: `kind` is size, integer, index, array, family or complex; the rest as in `Symbol`.

    An array of three dimensions is the family of its slices: `Q_h` is a matrix, `Q_{h i c}` an entry of it.
    """

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
        if self.kind == "complex":
            return "a complex number"
        if self.kind == "integer":
            return "an integer" if self.lowest is None else f"an integer, at least {self.lowest}"
        if self.kind == "index":
            return f"an index from {self.lowest} to {self.highest}"
        bounds = " with bounds" if self.lower or self.upper else ""
        if self.kind == "family":
            return f"an array of three dimensions, {self.highest} slices, each {self.type}{bounds}"
        return f"{self.type}{bounds}"


def domain_of(elab: Elaborator, expr: Expr) -> Domain:
    """The domain that is written."""
    mentions = frozenset(n for n in names_in(expr) if not n.startswith("\\mathbb"))
    match expr:
        case Name(r"\mathbb{N}"):
            return Domain("size")
        case Name(r"\mathbb{Z}"):
            return Domain("integer")
        case Name(r"\mathbb{C}"):
            return Domain("complex")
        case Sub(Name(r"\mathbb{N}" | r"\mathbb{Z}"), _) | Sup(Name(r"\mathbb{Z}"), _):
            return _integers_from(elab, expr)
        case Name(r"\mathbb{R}"):
            return Domain("array", SCALAR)
        case Sup(Name(r"\mathbb{R}") | Group(), exponent) if len(parts := _dimensions(exponent)) == 3:
            slices = domain_of(elab, Sup(expr.base, Times((parts[1], parts[2]), ("*",))))
            return replace(slices, kind="family", lowest=ONE, highest=elab.size(parts[0]), mentions=mentions)
        case Sup(Name(r"\mathbb{R}"), exponent):
            return Domain("array", _shape(elab, exponent), mentions=mentions)
        case Sup(Group("{", items) as base, exponent):
            values = _set(elab, base, [i.exprs[0] for i in items if i.alone], mentions).values
            if not values:
                raise elab.fail(f"'{to_latex(base)}' is not a set of numbers")
            return Domain("array", _shape(elab, exponent), values=values, mentions=mentions)
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


def _dimensions(exponent: Expr) -> list[Expr]:
    r"""The extents of `b \times n \times d`, one for each dimension."""
    if not isinstance(exponent, Times):
        return [exponent]
    groups: list[list[Expr]] = [[exponent.factors[0]]]
    ops: list[list[str]] = [[]]
    for op, factor in zip(exponent.ops, exponent.factors[1:], strict=True):
        if op == "*":
            groups.append([factor])
            ops.append([])
        else:
            groups[-1].append(factor)
            ops[-1].append(op)
    return [Times(tuple(f), tuple(o)) if o else f[0] for f, o in zip(groups, ops, strict=True)]


def _shape(elab: Elaborator, exponent: Expr) -> Type:
    parts = _dimensions(exponent)
    if len(parts) > 2:
        raise elab.fail(f"arrays have three dimensions at most, not '{to_latex(exponent)}'")
    return matrix(elab.size(parts[0]), elab.size(parts[1]) if len(parts) == 2 else ONE)


def _integers_from(elab: Elaborator, expr: Sub | Sup) -> Domain:
    r"""`\mathbb{N}_0` and `\mathbb{Z}^+`: the integers from 0 or from 1."""
    mark = "".join(to_latex(expr).split())
    if mark == r"\mathbb{N}_{0}":
        return Domain("integer", lowest=Size.number(0))
    if mark == r"\mathbb{Z}^{+}":
        return Domain("size")
    raise elab.fail(f"'{to_latex(expr)}' is not understood as a domain: write 'k \\in \\mathbb{{Z}}$ with $k \\ge 0'")


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


def require_space(context: Context, name: Expr, space: Expr, line: int) -> None:
    r"""Compare what is defined with the space written behind it, as in `S = Q K^\top \in \mathbb{R}^{n \times n}`.

    Args:
        context: What is declared, with the definition.
        name: What is defined.
        space: The space.
        line: The line.

    Raises:
        Unreadable: It is not of this shape.
    """
    symbol = context.symbols.get(symbol_name(name) or "")
    if symbol is None or symbol.term is None or symbol.params:
        return  # a function, or entries: their values are compared where they are used
    domain, kind = domain_of(Elaborator(context, line=line), space), symbol.term.type
    plain = domain.lower is None and domain.upper is None and not domain.values
    if domain.kind != "array" or domain.type != kind or not plain:
        raise Unreadable(f"{symbol.name} is {kind} by its definition, and '{to_latex(space)}' says {domain}", line)


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
    if word in ("u", "unif", "uniform", r"\mathcal{u") and len(args) == 2:
        return SCALAR, "uniform", tuple(elab.term(a) for a in args), mentions
    if word in ("bernoulli", "ber", "bern") and len(args) == 1:
        return SCALAR, "bernoulli", (_number(elab, args[0]),), mentions
    if word in ("geometric", "geom", "geo") and len(args) == 1:
        return SCALAR, "geometric", (_number(elab, args[0]),), mentions
    if (found := _COUNTED_LAWS.get(word)) is not None and len(args) == found[1]:
        return SCALAR, found[0], tuple(_number(elab, one) for one in args), mentions
    if word in ("moments", ENTRIES, NUMBERS) and len(args) == 2:
        mean, covariance = (elab.term(a) for a in args)
        return _normal_type(elab, mean, covariance), "moments", (mean, covariance), mentions
    if word in ("categorical", "cat") and args:
        return SCALAR, "categorical", tuple(elab.term(a) for a in args), mentions
    known = (
        r"\mathcal{N}(m, s^2 I_d), \operatorname{Uniform}[a, b], \operatorname{Uniform}\{a, \dots, b\}, "
        r"\operatorname{Bernoulli}(p), \operatorname{Geometric}(p), \operatorname{Categorical}(p_1, p_2), "
        r"\operatorname{Exponential}(\lambda), \operatorname{Poisson}(\lambda), \operatorname{Binomial}(n, p), "
        r"\operatorname{Rademacher}, and any law with two moments, \operatorname{Moments}(m, v)"
    )
    raise elab.fail(f"'{to_latex(expr)}' is not a law that is known: {known}")


_COUNTED_LAWS = {
    "exponential": ("exponential", 1), "exp": ("exponential", 1), "expo": ("exponential", 1),
    "poisson": ("poisson", 1), "pois": ("poisson", 1), "poi": ("poisson", 1),
    "binomial": ("binomial", 2), "binom": ("binomial", 2), "bin": ("binomial", 2),
    "rademacher": ("rademacher", 0), "rad": ("rademacher", 0),
}  # fmt: skip
"""For each name the law, and how many parameters it has."""


def _number(elab: Elaborator, expr: Expr) -> Term:
    found = elab.term(expr)
    if not found.type.scalar:
        raise elab.fail(f"'{to_latex(expr)}' is {found.type}, where the law needs a number")
    return found


def parameters_of(law: Expr) -> tuple[str, list[Expr]]:
    """The name of a law as it is known, or as it is written, and its parameters."""
    if isinstance(law, Call) and law.function == "Normal":
        return "normal", [one.exprs[0] for one in law.args if one.alone]
    name, args, _ = _named_law(law)
    word = name.removeprefix(r"\text{").removesuffix("}").lower()
    return _COUNTED_LAWS.get(word, (word, 0))[0], args


def _named_law(expr: Expr) -> tuple[str, list[Expr], str]:
    if isinstance(expr, Times) and len(expr.factors) == 2 and isinstance(expr.factors[1], Group):
        inner = expr.factors[1]
        return symbol_name(expr.factors[0]) or "", [i.exprs[0] for i in inner.items if i.alone], inner.bracket
    return (symbol_name(expr) or "", [], "") if isinstance(expr, Name) else ("", [], "")


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


Drawn = tuple[Symbol, list[Relation]]


def drawn_symbols(context: Context, left: Sequence[Expr], right: Expr, line: int) -> list[Drawn]:
    """The random symbols of one declaration, each with what its law asks of its parameters."""
    runs = [k for k, e in enumerate(left) if isinstance(e, Dots)]
    if runs:
        first, last = left[0], left[-1]
        if not (
            isinstance(first, Sub) and isinstance(last, Sub) and first.base == last.base and runs == [len(left) - 2]
        ):
            raise Unreadable("a random family is written x_1, \\dots, x_n \\sim ...", line)
        elab = Elaborator(context, line=line)
        extent = elab.size(first.items[0].exprs[0]), elab.size(last.items[0].exprs[0])
        before = context.symbols.get(symbol_name(first.base) or "")
        if before is not None and before.kind != "family":
            context = _without(context, before.name)
        return [_declare_random(context, first.base, right, line, extent, "")]
    return [_single(context, expr, right, line) for expr in left]


def _single(context: Context, expr: Expr, right: Expr, line: int) -> Drawn:
    """One symbol, or a family `k_i` with an index that is not declared."""
    if isinstance(expr, Sub) and len(expr.items) == 1 and expr.items[0].alone:
        inner, base = expr.items[0].exprs[0], symbol_name(expr.base) or ""
        family = context.symbols.get(base)
        if isinstance(inner, Name) and inner.text not in context.symbols:
            index = inner.text
            if family is not None and family.kind == "family":
                assert family.lowest is not None and family.highest is not None
                return _declare_random(context, expr.base, right, line, (family.lowest, family.highest), index)
            if index in _subscripts(right):
                extent = inferred_range(Elaborator(context, line=line), index, right)
                return _declare_random(_without(context, base), expr.base, right, line, extent, index)
            if family is not None:
                raise Unreadable(
                    f"write the law of {base} as a whole, such as {base} \\sim \\mathcal{{N}}(m, s^2 I_d)", line
                )
        elif family is not None and family.kind == "family":
            raise Unreadable(
                f"one member of {base} cannot have a law of its own: draw all of them, as k_i with a letter that is "
                "not declared, and write what is different as a symbol of its own",
                line,
            )
    symbol = symbol_name(expr)
    before = context.symbols.get(symbol or "")
    range_: tuple[Size, Size] | None = None
    if before is not None and before.lowest is not None and before.highest is not None:
        range_ = before.lowest, before.highest
    return _declare_random(context, expr, right, line, range_, "")


def _without(context: Context, name: str) -> Context:
    """The context without one name, which is about to be declared anew."""
    copy = context.copy()
    copy.symbols.pop(name, None)
    return copy


def _subscripts(node: object) -> set[str]:
    from attention_core.derivation.latex.syntax import children, names_in

    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        stack.extend(children(one))
        if isinstance(one, Sub):
            found |= {n for item in one.items for n in names_in(item)}
    return found


def _collect_mentions(context: Context, names: set[str]) -> set[str]:
    """The declared names among some, and those that their definitions mention."""
    found: set[str] = set()
    todo = [n for n in names if n in context.symbols]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [n for n in context.symbols[name].mentions if n in context.symbols]
    return found


def _declare_random(
    context: Context, target: Expr, right: Expr, line: int, extent: tuple[Size, Size] | None, index: str
) -> Drawn:
    name = symbol_name(target)
    if name is None:
        raise Unreadable(f"'{to_latex(target)}' is not a symbol that can be random", line)
    elab = Elaborator(context, {index: None} if index else None, line)
    kind, law_name, parameters, mentions = law_of(elab, right)
    hidden = sorted(n for n in _collect_mentions(context, mentions) if n != name and is_random(context.symbols[n]))
    if hidden:
        raise Unreadable(f"the law of {name} depends on {hidden[0]}, which is random: that is not understood", line)
    before, written = context.symbols.get(name), _named_law(right)[0].lower()
    if before is not None and before.type is not None and written == rf"\text{{{NUMBERS}}}" and not before.type.scalar:
        known = "a variance does not say how its entries depend on each other"
        raise Unreadable(f"{name} is {before.type}: {known}, write its covariance, or that of its entries", line)
    if before is None and written == rf"\text{{{ENTRIES}}}":
        raise Unreadable(f"the number of entries of {name} is missing: write 'Let ${name} \\in \\mathbb{{R}}^d$'", line)
    actual = before.type if before is not None and before.type is not None else kind
    turned = (
        actual == kind.transpose and bool(parameters) and parameters[0].type.kind != "matrix"
    )  # a row whose mean is a number
    if actual != kind and not kind.scalar and not turned:
        raise Unreadable(f"{name} is {actual}, but the law draws {kind}", line)
    low, high = extent if extent is not None else (None, None)
    more = high.symbols() | low.symbols() if high is not None and low is not None else set()
    law = Distribution(law_name, parameters, index)
    about = frozenset((mentions | more) - {index})
    shape = "family" if high is not None else "array"
    symbol = Symbol(name, shape, line, context.level, actual, low, high, law=law, mentions=about)
    relations = derive_conditions(law, line)
    if index and low is not None and high is not None:
        relations = [replace(r, over=((index, size_term(low), size_term(high)),)) for r in relations]
    return symbol, relations


def require_whole_range(context: Context, symbol: Symbol, conditions: Sequence[Chain], line: int) -> None:
    """`for i \\in \\{1, \\dots, n\\}` after a law must say the family's own range."""
    assert symbol.law is not None
    index = Name(symbol.law.index)
    rest = spread(conditions)
    if len(rest) == 1 and rest[0].ops == ("in",) and rest[0].exprs[0] == index:
        elab = Elaborator(context, line=line)
        low, high = index_ends(elab, rest[0].exprs[1])
        if (elab.size(low), elab.size(high)) == (symbol.lowest, symbol.highest):
            return
    if len(rest) == 1 and rest[0].alone and rest[0].exprs[0] == index:
        return
    raise Unreadable(f"a law is for every member of {symbol.name}, from {symbol.lowest} to {symbol.highest}", line)
