"""Operators with something below them.

Sums, products, maxima and minima with their indices, bounds and conditions, and limits.
Bounds that are not written are those of the arrays and families that the index stands at.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.index_ranges import index_set, inferred_range, spread
from attention_core.derivation.elaborate.indicators import inner_condition
from attention_core.derivation.elaborate.integral_terms import integral
from attention_core.derivation.elaborate.matrix_functions import RUNNING
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Big, Chain, Expr, Minus, Name, Sup, Unreadable
from attention_core.derivation.latex.tokens import UNREAD_BIG
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Size, Term, integer, size_term

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


_numbers = count(1)


def big(elab: Elaborator, expr: Big) -> Term:
    """`\\sum`, `\\prod`, `\\max`, `\\min` over indices, and `\\lim`."""
    if expr.op == "lim":
        return _limit(elab, expr)
    if expr.op == "int":
        return integral(elab, expr)
    if expr.op == "sum" and (found := _series(elab, expr)) is not None:
        return found
    if expr.op in ("inf", "sup", "argmin", "argmax"):
        raise elab.fail(f"\\{expr.op} over a set is not understood: write \\min or \\max over an index")
    if expr.op in UNREAD_BIG:
        raise elab.fail(f"\\{expr.op} is read, and not computed: declare what it stands for, or write it out")
    if expr.above is not None and (len(expr.below) != 1 or expr.below[0].ops not in ((), ("=",))):
        raise elab.fail(f"what stands above \\{expr.op} is only understood with one index below, such as i=1")
    names, lowest, highest, conditions = _bounds(elab, expr)
    inner = elab.inside(names)
    body = inner.term(expr.body)
    if expr.op in ("max", "min") and not body.type.scalar:
        raise ShapeMismatch(f"{expr.op} of {body.type}: a number is needed")
    tests = tuple(inner_condition(inner, c) for c in conditions)
    result = body
    for k, name in enumerate(reversed(names)):
        low, high = lowest[name], highest[name]
        kind = SCALAR if body.type.kind == "zero" else body.type
        whole = _whole_spectrum(expr.op, name, low, high, result) if not tests else None
        result = whole or Term("reduce", (low, high, result, *(tests if k == 0 else ())), kind, (expr.op, name))
    return result


def _series(elab: Elaborator, expr: Big) -> Term | None:
    r"""A sum over all whole numbers from one on: `\sum_{k=1}^\infty`, `\sum_{k \ge 1}`; None of a finite one."""
    chain = expr.below[0] if len(expr.below) == 1 else None
    endless = chain is not None and chain.ops == ("=",) and infinity(expr.above) == 1 if expr.above is not None else (
        chain is not None and chain.ops == (">=",)
    )  # fmt: skip
    name = symbol_name(chain.exprs[0]) if chain is not None and endless else None
    if chain is None or name is None or (expr.above is None and elab.lookup(name) is not None):
        return None
    first = elab.term(chain.exprs[1])
    key = f"{name}{RUNNING}{next(_numbers)}"
    inner = type(elab)(elab.context.copy(), {k: v for k, v in elab.bound.items() if k != name}, elab.line)
    running = Term("variable", (), SCALAR, key)
    inner.context.symbols[name] = Symbol(name, "definition", elab.line, elab.context.level, term=running)
    try:
        body = inner.term(expr.body)
    except (Unreadable, ShapeMismatch):  # members of a family without end
        return elab.term(Name(r"\infty"))
    if not body.type.scalar:
        raise ShapeMismatch(f"a sum without end of {body.type}: a number is needed")
    return Term("series", (first, body), SCALAR, key)


def _whole_spectrum(op: str, name: str, low: Term, high: Term, body: Term) -> Term | None:
    """The trace or the determinant, where a sum or a product runs over all eigenvalues of a matrix; None elsewhere."""
    if op not in ("sum", "prod") or body.op != "eigen" or len(body.args) != 2 or body.args[1].op != "int":
        return None
    matrix = body.args[0]
    everything = low.op == "const" and low.data == 1 and _is_size(high, matrix.type.rows)
    if body.args[1].data != name or not everything:
        return None
    return Term("tr" if op == "sum" else "det", (matrix,), SCALAR)


def _is_size(term: Term, size: Size) -> bool:
    return (term.op == "size" and term.data == size) or (term.op == "int" and Size.symbol(term.data) == size)


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
            spelled = [n for e in chain.exprs if (n := symbol_name(e)) is not None]
            names += [n for n in spelled if n not in names and n not in elab.bound and elab.lookup(n) is None]
        if chain.ops == ("=",) and expr.above is not None:
            low[name], high[name] = elab.term(chain.exprs[1]), elab.term(expr.above)
        elif chain.ops == ("in",):
            low[name], high[name] = index_set(elab, chain.exprs[1])
        elif len(chain.ops) == 2 and set(chain.ops) == {"<="} and symbol_name(chain.exprs[1]) == name:
            low[name], high[name] = elab.term(chain.exprs[0]), elab.term(chain.exprs[2])
        elif not chain.alone:
            conditions.append(chain)
    for name in names:
        if name not in low:
            first, last = inferred_range(elab, name, expr.body, conditions)
            low[name] = size_term(first)
            high[name] = elab.term(expr.above) if expr.above is not None and len(names) == 1 else size_term(last)
    _require_sizes(elab, [*low.values(), *high.values()])
    return names, low, high, conditions


def _require_sizes(elab: Elaborator, bounds: list[Term]) -> None:
    """Refuse an integer of either sign in a bound: what a sum from 1 to -3 is, authors do not agree on."""
    used = {name for one in bounds for part in one.walk() if part.op == "size" for name in part.data.symbols()}
    for name, symbol in elab.context.symbols.items():
        if symbol.whole and len(symbol.mentions) > 1 and symbol.mentions & used:
            raise elab.fail(
                f"{name} may be negative, and bounds a sum or a product: write 'Let ${name} \\in \\mathbb{{N}}$'"
            )


def _index_name(elab: Elaborator, chain: Chain, taken: list[str]) -> str:
    """Which name a condition binds: the first that is neither bound nor declared, else the left one."""
    candidates = [symbol_name(e) for e in chain.exprs]
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
        raise elab.fail(f"'{to_latex(chain)}' names no index")
    return names[0]


def _limit(elab: Elaborator, expr: Big) -> Term:
    """`\\lim_{S \\to \\infty} body`."""
    if len(expr.below) != 1 or expr.below[0].ops != ("->",):
        raise elab.fail("write a limit as \\lim_{x \\to \\infty}")
    return limit_of(elab, elab.term(expr.body), expr.below[0].exprs[0], expr.below[0].exprs[1])


def limit_of(elab: Elaborator, body: Term, variable: Expr, target: Expr) -> Term:
    """The limit of a term as a declared number or size tends to a place; `0^+` is a place seen from above."""
    leaf = elab.term(variable)
    if leaf.op not in ("leaf", "int") or not leaf.type.scalar or leaf.data in elab.bound:
        raise elab.fail(f"the variable of a limit is a declared number, not '{to_latex(variable)}'")
    symbol = elab.lookup(leaf.data)
    if symbol is None or symbol.law is not None or symbol.kind == "index":
        raise elab.fail(f"{leaf.data} cannot be the variable of a limit")
    way, side = infinity(target), 0
    match target:
        case Sup(base, Name("+" | "-" as mark)):
            target, side = base, 1 if mark == "+" else -1
    place = integer(0) if way else elab.term(target)
    if not place.type.scalar or leaf.data in {t.data for t in place.walk()}:
        raise elab.fail(f"'{to_latex(target)}' is not a place that {leaf.data} could tend to")
    return Term("limit", (body, place), SCALAR if body.type.kind == "zero" else body.type, (leaf.data, way, side))


def infinity(expr: Expr) -> int:
    """1, -1 or 0 for plus infinity, minus infinity, anything else."""
    if expr == Name(r"\infty"):
        return 1
    return -1 if expr == Minus(Name(r"\infty")) else 0
