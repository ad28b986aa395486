# Sums with their bounds and conditions, functions, brackets, matrices with dots, derivatives and expectations.
# Each function takes the elaborator it works for as its first argument.
"""The forms of expressions that are more than names and products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from attention_core.derivation.dotted import dotted_line, dotted_table, pattern
from attention_core.derivation.elaborate import HALF, Elaborator, name_of
from attention_core.derivation.index_ranges import index_set, spread
from attention_core.derivation.indicators import indicator
from attention_core.derivation.parse import order
from attention_core.derivation.shapes import fitted, joined, product, scalar_function, size_term, transpose
from attention_core.derivation.syntax import (
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Sub,
    Sup,
    Times,
    children,
)
from attention_core.derivation.terms import ONE, SCALAR, ShapeMismatch, Size, Term, Type, integer, matrix
from attention_core.derivation.written import written

ENTRYWISE = ("exp", "log", "sin", "cos", "tanh", "relu", "sign", "sigmoid", "erf", "ceil", "floor")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def group(elab: Elaborator, expr: Group) -> Term:
    """Brackets around one expression, or a row written out."""
    if (expr.bracket, expr.close) not in (("(", ")"), ("[", "]"), ("{", "}")):
        raise elab.fail(f"'{written(expr)}' opens and closes with different brackets")
    if len(expr.items) == 1 and not expr.semicolons:
        return elab.chain_term(expr.items[0])
    if expr.bracket == "[" and expr.close == "]":
        cells = [item.exprs[0] for item in expr.items if item.alone]
        if len(cells) != len(expr.items):
            raise elab.fail("a relation stands inside a bracketed row")
        return array(elab, tuple((c,) for c in cells) if expr.semicolons else (tuple(cells),))
    raise elab.fail(f"'{written(expr)}' is not understood: write a row as [a, b] and a matrix with bmatrix")


def root(elab: Elaborator, body: Expr, degree: Expr | None) -> Term:
    """A root of a number."""
    inner = elab.term(body)
    if not inner.type.scalar:
        raise ShapeMismatch(f"{inner.type} has no square root here")
    if degree is None:
        return Term("sqrt", (inner,), SCALAR)
    return Term("pow", (inner, Term("div", (integer(1), elab.term(degree)), SCALAR)), SCALAR)


def norm_with_index(elab: Elaborator, body: Expr, index: str) -> Term | None:
    """`\\|x\\|_2`, `\\|x\\|_1`, `\\|x\\|_\\infty` of vectors, `\\|A\\|_F`; None if the index is none of these."""
    inner = elab.term(body)
    if index not in ("1", "2", "F", r"\text{F}", r"\infty") or inner.type.scalar:
        return None
    if inner.type.vector:
        return Term({"1": "norm1", r"\infty": "normmax"}.get(index, "norm"), (inner,), SCALAR)
    if index in ("F", r"\text{F}"):
        return Term("norm", (inner,), SCALAR)
    raise elab.fail(f"the norm with index {index} of {inner.type} is not understood: only \\|A\\|_F is")


def fence(elab: Elaborator, kind: str, body: Expr) -> Term:
    """An absolute value or a norm."""
    inner = elab.term(body)
    if inner.type.scalar:
        return Term("abs", (inner,), SCALAR)
    if kind == "abs":
        raise elab.fail(f"|{written(body)}| is the magnitude of {inner.type}: write \\| . \\| for a norm")
    return Term("norm", (inner,), SCALAR)


def call(elab: Elaborator, expr: Call) -> Term:
    """A known function."""
    found = _called(elab, expr)
    if expr.power is None:
        return found
    if expr.power == Minus(Num(Fraction(1))):
        raise elab.fail(
            f"\\{expr.function}^{{-1}} may be the inverse function or the inverse number: write 1 / ... for that"
        )
    if not found.type.scalar:
        raise elab.fail(f"the power of {expr.function} is only understood where its value is a number")
    return Term("pow", (found, elab.term(expr.power)), SCALAR)


def _called(elab: Elaborator, expr: Call) -> Term:
    name = expr.function
    if name in ("E", "Var", "Cov", "Pr"):
        from attention_core.derivation.elaborate_random import expectation

        return expectation(elab, expr)
    if name == "indicator":
        return indicator(elab, expr.args)
    args = [elab.chain_term(a) for a in expr.args]
    if name == "log" and expr.sub:
        base = elab.chain_term(expr.sub[0])
        return Term("div", (scalar_function("log", args[0]), scalar_function("log", base)), SCALAR)
    if expr.sub and name == "softmax":
        items = elab.index_items(expr.sub)
        if items is None:
            raise elab.fail("the subscript of softmax is not a declared index")
        return elab.indexed(_softmax(elab, args), items)
    if expr.sub:
        raise elab.fail(f"a subscript of {name} is not understood")
    if name in ("softmax", "argmax"):
        return _softmax(elab, args, name)
    if name in ENTRYWISE and len(args) == 1:
        return scalar_function(name, args[0])
    if name in ("max", "min"):
        return _extreme(elab, name, args)
    if name == "inner":
        return _inner(elab, args)
    return _matrix_function(elab, name, args)


def _softmax(elab: Elaborator, args: list[Term], name: str = "softmax") -> Term:
    if len(args) != 1 or args[0].type.kind != "matrix":
        raise elab.fail(f"{name} takes one vector or one matrix (whose rows it takes)")
    return Term(name, (args[0],), args[0].type)


def _extreme(elab: Elaborator, name: str, args: list[Term]) -> Term:
    if len(args) == 1 and args[0].type.kind == "matrix":
        return Term(name + "of", (args[0],), SCALAR)
    if not all(a.type.scalar for a in args) or not args:
        raise elab.fail(f"{name} takes numbers, or one array")
    return Term(name, tuple(args), SCALAR)


def _inner(elab: Elaborator, args: list[Term]) -> Term:
    r"""`\langle x, y \rangle`: of two matrices the sum over all entries."""
    if len(args) != 2:
        raise elab.fail(r"\langle ... \rangle is understood as an inner product of two arguments")
    left, right = args
    if left.type.vector and right.type.vector:
        return product(
            left if not left.type.column else transpose(left), right if right.type.column else transpose(right)
        )
    if joined(left.type, right.type, "paired").kind == "matrix":
        return Term("tr", (product(transpose(left), right),), SCALAR)
    return product(left, right)


def _matrix_function(elab: Elaborator, name: str, args: list[Term]) -> Term:
    if name == "attention" and len(args) == 3:
        q, k, v = args
        scores = product(q, transpose(k))
        scale = Term("sqrt", (size_term(k.type.cols),), SCALAR)
        if scores.type.kind != "matrix":
            raise elab.fail("Attention takes matrices: queries, keys and values in rows")
        return product(Term("softmax", (elab.quotient(scores, scale),), scores.type), v)
    if len(args) == 1 and args[0].type.kind == "matrix":
        kind = args[0].type
        if name == "lse" and kind.vector:
            return Term("lse", (args[0],), SCALAR)
        if name == "diag" and kind.vector:
            n = kind.rows if kind.column else kind.cols
            return Term("diag", (args[0],), matrix(n, n))
        if kind.rows != kind.cols:
            raise ShapeMismatch(f"{name} of {kind}: a square matrix is needed")
        if name == "diag":
            return Term("diagonal", (args[0],), matrix(kind.rows, ONE))
        if name in ("tr", "det"):
            return Term(name, (args[0],), SCALAR)
    if len(args) == 1 and args[0].type.scalar and name in ("tr", "det"):
        return args[0]
    raise elab.fail(f"{name} is not understood of these arguments")


# -- sums, products, extremes, limits ---------------------------------------------------------------------------------


def big(elab: Elaborator, expr: Big) -> Term:
    """`\\sum`, `\\prod`, `\\max`, `\\min` over indices, and `\\lim`."""
    if expr.op == "lim":
        return _limit(elab, expr)
    if expr.above is not None and (len(expr.below) != 1 or expr.below[0].ops not in ((), ("=",))):
        raise elab.fail(f"what stands above \\{expr.op} is only understood with one index below, such as i=1")
    names, lowest, highest, conditions = _bounds(elab, expr)
    inner = Elaborator(elab.context, elab.bound, elab.line)
    for name in names:
        inner.bound[name] = None
    body = inner.term(expr.body)
    if expr.op in ("max", "min") and not body.type.scalar:
        raise ShapeMismatch(f"{expr.op} of {body.type}: a number is needed")
    tests = tuple(inner_condition(inner, c) for c in conditions)
    result = body
    for k, name in enumerate(reversed(names)):
        low, high = lowest[name], highest[name]
        kind = SCALAR if body.type.kind == "zero" else body.type
        result = Term("reduce", (low, high, result, *(tests if k == 0 else ())), kind, (expr.op, name))
    return result


def inner_condition(elab: Elaborator, chain: Chain) -> Term:
    """A condition among whole numbers."""
    parts = [elab.term(e) for e in chain.exprs]
    tests = [Term("test", (a, b), SCALAR, op) for a, op, b in zip(parts, chain.ops, parts[1:], strict=False)]
    return tests[0] if len(tests) == 1 else Term("all", tuple(tests), SCALAR)


def _bounds(elab: Elaborator, expr: Big) -> tuple[list[str], dict[str, Term], dict[str, Term], list[Chain]]:
    """The indices of a big operator, their ranges, and the remaining conditions."""
    if not expr.below:
        raise elab.fail(f"\\{expr.op} without an index: write \\{expr.op}_{{i=1}}^{{n}}")
    names: list[str] = []
    low: dict[str, Term] = {}
    high: dict[str, Term] = {}
    conditions: list[Chain] = []
    for chain in spread(expr.below):
        name = _index_name(elab, chain, names)
        if name not in names:
            names.append(name)
        if not chain.alone and set(chain.ops) <= {"<", "<=", ">", ">=", "!="}:  # i < j binds what is not declared
            spelled = [n for e in chain.exprs if (n := name_of(e)) is not None]
            names += [n for n in spelled if n not in names and n not in elab.bound and elab.lookup(n) is None]
        if chain.ops == ("=",) and expr.above is not None:
            low[name], high[name] = elab.term(chain.exprs[1]), elab.term(expr.above)
        elif chain.ops == ("in",):
            low[name], high[name] = index_set(elab, chain.exprs[1])
        elif len(chain.ops) == 2 and set(chain.ops) == {"<="} and name_of(chain.exprs[1]) == name:
            low[name], high[name] = elab.term(chain.exprs[0]), elab.term(chain.exprs[2])
        elif not chain.alone:
            conditions.append(chain)
    for name in names:
        if name not in low:
            first, last = inferred_range(elab, name, expr.body, conditions)
            low[name] = size_term(first)
            high[name] = elab.term(expr.above) if expr.above is not None and len(names) == 1 else size_term(last)
    return names, low, high, conditions


def _index_name(elab: Elaborator, chain: Chain, taken: list[str]) -> str:
    """Which name a condition binds: the first that is neither bound nor declared, else the left one."""
    candidates = [name_of(e) for e in chain.exprs]
    names = [c for c in candidates if c is not None]
    if chain.ops in (("=",), ("!=",), ("in",)) or chain.alone:
        names = names[:1] if candidates[0] is not None else []
    for name in names:
        if name in taken:
            return name
    for name in names:
        if name not in elab.bound and elab.lookup(name) is None:
            return name
    if not names:
        raise elab.fail(f"'{written(chain)}' names no index")
    return names[0]


def inferred_range(elab: Elaborator, name: str, body: object, conditions: Sequence[Chain] = ()) -> tuple[Size, Size]:
    """The range of an index whose bounds are not written: that of the arrays and families it stands at."""
    found: set[tuple[Size, Size]] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        stack.extend(children(node))
        if not isinstance(node, Sub):
            continue
        base = name_of(node.base)
        symbol = elab.lookup(base) if base else None
        if symbol is None:
            continue
        items = [item.exprs[0] for item in node.items]
        if len(items) == 1 and not isinstance(items[0], Name) and hasattr(items[0], "factors"):
            items = list(items[0].factors)
        for place, item in enumerate(items):
            if item == Name(name):
                extent = _extent(symbol, place, len(items))
                if extent is not None:
                    found.add(extent)
    if not found:  # an index that is said to differ from another runs over the same values
        for chain in conditions:
            if Name(name) in chain.exprs:
                found |= {r for e in chain.exprs if (r := _declared_range(elab, name_of(e) or "")) is not None}
    declared = elab.lookup(name)
    if not found and declared is not None and declared.kind == "index" and declared.highest is not None:
        assert declared.lowest is not None
        return declared.lowest, declared.highest
    if len(found) != 1:
        why = "nothing it indexes has a declared range" if not found else "the arrays it indexes have different ranges"
        raise elab.fail(
            f"the range of the index {name} is not clear ({why}): write it out, such as _{{{name}=1}}^{{n}}"
        )
    return found.pop()


def _declared_range(elab: Elaborator, name: str) -> tuple[Size, Size] | None:
    symbol = elab.lookup(name)
    if symbol is None or symbol.kind != "index" or symbol.lowest is None or symbol.highest is None:
        return None
    return symbol.lowest, symbol.highest


def _extent(symbol: object, place: int, count: int) -> tuple[Size, Size] | None:
    kind: Type | None = getattr(symbol, "type", None)
    lowest, highest = getattr(symbol, "lowest", None), getattr(symbol, "highest", None)
    if getattr(symbol, "kind", "") == "family" or getattr(symbol, "params", ()):
        return (lowest, highest) if place == 0 and highest is not None and lowest is not None else None
    term = getattr(symbol, "term", None)
    kind = kind or (term.type if term is not None else None)
    if kind is None or kind.kind != "matrix":
        return None
    if kind.vector and count == 1:
        return ONE, kind.rows if kind.column else kind.cols
    return ONE, (kind.rows, kind.cols)[min(place, 1)]


def _limit(elab: Elaborator, expr: Big) -> Term:
    """`\\lim_{S \\to \\infty} body`."""
    if len(expr.below) != 1 or expr.below[0].ops != ("->",):
        raise elab.fail("write a limit as \\lim_{x \\to \\infty}")
    return limit_of(elab, elab.term(expr.body), expr.below[0].exprs[0], expr.below[0].exprs[1])


def limit_of(elab: Elaborator, body: Term, variable: Expr, target: Expr) -> Term:
    """The limit of a term as a declared number or size tends to a place; `0^+` is a place seen from above."""
    leaf = elab.term(variable)
    if leaf.op not in ("leaf", "int") or not leaf.type.scalar or leaf.data in elab.bound:
        raise elab.fail(f"the variable of a limit is a declared number, not '{written(variable)}'")
    symbol = elab.lookup(leaf.data)
    if symbol is None or symbol.law is not None or symbol.kind == "index":
        raise elab.fail(f"{leaf.data} cannot be the variable of a limit")
    way, side = infinity(target), 0
    match target:
        case Sup(base, Name("+" | "-" as mark)):
            target, side = base, 1 if mark == "+" else -1
    place = integer(0) if way else elab.term(target)
    if not place.type.scalar or leaf.data in {t.data for t in place.walk()}:
        raise elab.fail(f"'{written(target)}' is no place that {leaf.data} could tend to")
    return Term("limit", (body, place), SCALAR if body.type.kind == "zero" else body.type, (leaf.data, way, side))


def infinity(expr: Expr) -> int:
    """1, -1 or 0 for plus infinity, minus infinity, anything else."""
    if expr == Name(r"\infty"):
        return 1
    return -1 if expr == Minus(Name(r"\infty")) else 0


# -- matrices and dots ------------------------------------------------------------------------------------------------


def array(elab: Elaborator, rows: Sequence[Sequence[Expr | None]]) -> Term:
    """A matrix written out, from cells, blocks and dots."""
    if any(isinstance(cell, Dots) for row in rows for cell in row):
        return dotted_table(elab, rows)
    if len({len(row) for row in rows}) != 1:
        raise elab.fail("the rows of the matrix have different lengths")
    table = [[elab.term(cell) if cell is not None else integer(0) for cell in row] for row in rows]
    return assembled(elab, table)


def assembled(elab: Elaborator, table: list[list[Term]]) -> Term:
    """Blocks put together; a 0 takes the size of its row and column."""
    heights = [_edge(elab, [t.type for t in row], "rows") for row in table]
    widths = [_edge(elab, [row[j].type for row in table], "cols") for j in range(len(table[0]))]
    rows, cols = _sum(heights), _sum(widths)
    cells = []
    for row, height in zip(table, heights, strict=True):
        for cell, width in zip(row, widths, strict=True):
            want = matrix(height, width)
            cells.append(
                fitted(cell, joined(cell.type, want, "put into one row and column")) if want != SCALAR else cell
            )
    return Term("blocks", tuple(cells), matrix(rows, cols), len(table[0]))


def _edge(elab: Elaborator, types: list[Type], which: str) -> Size:
    sizes = {getattr(t, which) for t in types if t.kind in ("matrix", "scalar")}
    if len(sizes) > 1:
        raise ShapeMismatch(f"blocks with different {which} stand side by side: {', '.join(map(str, types))}")
    return sizes.pop() if sizes else ONE


def _sum(sizes: list[Size]) -> Size:
    total = Size.number(0)
    for size in sizes:
        total = total + size
    return total


def dotted_sum(elab: Elaborator, terms: Sequence[Expr]) -> Term:
    """`c_1 a_1 + c_2 a_2 + \\dots + c_m a_m`."""
    before, template, low, high, after = dotted_line(elab, list(terms))
    name, body = template
    inner = Elaborator(elab.context, elab.bound, elab.line)
    inner.bound[name] = None
    middle = inner.term(body)
    total = Term("reduce", (elab.term(low), elab.term(high), middle), middle.type, ("sum", name))
    return elab.total([*(elab.term(t) for t in before), total, *(elab.term(t) for t in after)])


# -- derivatives ------------------------------------------------------------------------------------------------------


def derivative(elab: Elaborator, expr: Derivative) -> Term:
    """Partial derivatives: of a number with the shape of the variable, of a vector the Jacobian J_ij = dy_i / dx_j."""
    body = elab.term(expr.body)
    for variable in reversed(expr.by):
        by = elab.term(variable)
        if not _is_variable(by):
            known = elab.lookup(name_of(variable) or "")
            if known is not None and known.term is not None:
                raise elab.fail(
                    f"'{written(variable)}' is defined (line {known.line}) by other symbols: differentiate by one "
                    f"of these, or declare '{written(variable)}' with its domain"
                )
            raise elab.fail(f"'{written(variable)}' is no declared variable, so nothing is differentiated by it")
        body = Term("deriv", (body, by), _derivative_type(elab, body.type, by.type))
    return body


def ordinary(elab: Elaborator, expr: Frac) -> Derivative | None:
    r"""`\frac{d y}{d x}` and `\frac{d^2}{d x^2}` (then the body is `Dots`), where `d` is no declared symbol."""
    head, rest = _led(expr.top)
    below, variable = _led(expr.bottom)
    if head is None or below != Name("d") or variable is None:
        return None
    if elab.lookup("d") is not None or "d" in elab.bound:
        by = variable.base if isinstance(variable, Sup) else variable
        name = name_of(by)
        found = elab.lookup(name) if name is not None else None
        if found is None or found.kind not in ("array", "family"):
            return None
        raise elab.fail(
            f"'{written(expr)}' may be a derivative or a quotient, as d is declared: write \\partial, or cancel d"
        )
    power = head.exponent if isinstance(head, Sup) else None
    return Derivative(rest if rest is not None else Dots(), order(power, (variable,)))


def _led(expr: Expr) -> tuple[Expr | None, Expr | None]:
    """`d y` as (d, y), `d` as (d, nothing); what does not start with d as (None, ...)."""
    first, rest = expr, None
    if isinstance(expr, Times) and expr.ops[0] == "":
        first = expr.factors[0]
        rest = expr.factors[1] if len(expr.factors) == 2 else Times(expr.factors[1:], expr.ops[1:])
    plain = first == Name("d") or (isinstance(first, Sup) and first.base == Name("d"))
    return (first if plain else None), rest


def _is_variable(term: Term) -> bool:
    return term.op in ("leaf", "member") or (term.op == "entry" and term.args[0].op in ("leaf", "member"))


def _derivative_type(elab: Elaborator, body: Type, by: Type) -> Type:
    if body.scalar:
        return by
    if by.scalar:
        return body
    if body.vector and by.vector:
        return matrix(body.rows if body.column else body.cols, by.rows if by.column else by.cols)
    raise elab.fail(f"the derivative of {body} by {by} has more than two indices: take an entry of one of them")


__all__ = ["array", "big", "call", "derivative", "dotted_sum", "fence", "group", "pattern", "root", "HALF", "Num"]
