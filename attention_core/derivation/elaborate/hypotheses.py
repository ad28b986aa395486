"""Relations of declarations and premises.

Written relations as typed hypotheses, for all values of the indices that are not declared.
Also what a definition defines: its name and the indices it is written with.
"""

from __future__ import annotations

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import between, index_set, inferred_range, spread
from attention_core.derivation.elaborate.indicators import inner_condition
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Name, Num, Sub, Unreadable, children, names_in
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import (
    SCALAR,
    Relation,
    ShapeMismatch,
    Term,
    Type,
    fit,
    integer,
    join_types,
    negative,
    product,
    size_term,
)


def relations_of(
    context: Context, chain: Chain, conditions: list[Chain], line: int, separate: bool = False
) -> list[Relation]:
    """The relations of a chain as hypotheses, for all values of the indices that are not declared.

    `separate` says that the conditions do not go on with each other, as `i \\ne a, b` does.
    """
    context = with_same_sizes(context)
    elab = Elaborator(context, line=line)
    over: list[tuple[str, Term, Term]] = []
    tests: list[Chain] = []
    free = free_indices(context, chain)
    sides: dict[str, tuple[Term, Term]] = {}
    for condition in conditions if separate else spread(conditions):
        name = symbol_name(condition.exprs[0])
        if condition.ops == ("in",) and name is not None and name not in context.symbols:
            sides[name] = index_set(elab, condition.exprs[1])
        elif condition.ops == ("in",):
            tests.append(between(elab, condition))
        elif not condition.alone:
            tests.append(condition)
            free |= {n for n in names_in(condition) if n not in context.symbols}
    for name in sorted(free):
        if name in sides:
            over.append((name, *sides[name]))
        else:
            low, high = inferred_range(elab, name, chain)
            over.append((name, size_term(low), size_term(high)))
    for name in free:
        elab.bound[name] = None
    where = tuple(inner_condition(elab, c) for c in tests)
    try:
        terms = [elab.term(e) for e in chain.exprs]
        neighbours = [
            typed_relation(a, op, b, line, tuple(over), where)
            for a, op, b in zip(terms, chain.ops, terms[1:], strict=False)
        ]
        if set(chain.ops) == {"="} and isinstance(chain.exprs[-1], Name | Num):
            # of |a| = |b| = c the solver gets |a| = c and |b| = c: it solves for one symbol at a time
            return [typed_relation(a, "=", terms[-1], line, tuple(over), where) for a in terms[:-1]]
        return neighbours
    except ShapeMismatch as error:
        raise Unreadable(f"in the hypothesis '{to_latex(chain)}': {error}", line) from None


def typed_relation(
    left: Term,
    op: str,
    right: Term,
    line: int,
    over: tuple[tuple[str, Term, Term], ...] = (),
    where: tuple[Term, ...] = (),
) -> Relation:
    """A relation whose sides have one shape; raises `ShapeMismatch`."""
    if op == "perp":
        return typed_relation(product(left, right, dot=True), "=", integer(0), line, over, where)
    if op not in ("=", "!=", "<", "<=", ">", ">=", "~", ">>", "<<"):
        raise Unreadable(f"the relation '{op}' is not understood between expressions", line)
    kind: Type = join_types(left.type, right.type, "compared")
    ordered = op in ("<", "<=", ">", ">=", ">>", "<<")
    if ordered and not kind.scalar:
        raise Unreadable(f"{kind} has no order that all authors mean: compare entries or norms", line)
    if op == "!=" and kind.kind == "matrix":
        return Relation(squares_of_gap(fit(left, kind), fit(right, kind)), op, integer(0), line, over, where)
    return Relation(fit(left, kind), op, fit(right, kind), line, over, where)


def squares_of_gap(left: Term, right: Term) -> Term:
    r"""The squared norm of a difference: arrays differ where one entry does, not where all do."""
    zero = right.op == "zeros" or (right.op == "const" and right.data == 0)
    gap = left if zero else Term("add", (left, negative(right)), left.type)
    norm = Term("norm", (gap,), SCALAR)
    return product(norm, norm)


def free_indices(context: Context, node: object) -> set[str]:
    """Undeclared letters that stand as a subscript of a declared array or family."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        stack.extend(children(one))
        if (
            isinstance(one, Sub)
            and (symbol_name(one.base) or "") in context.symbols
            and symbol_name(one) not in context.symbols
        ):
            for item in one.items:
                found |= {n for n in names_in(item) if n not in context.symbols}
    return found


def find_defined_name(elab: Elaborator, left: Expr, right: Expr) -> tuple[str | None, list[str]]:
    """The name that is defined and the indices it is written with."""
    whole = symbol_name(left)
    if not isinstance(left, Sub) or whole is None:
        return whole, []
    base = symbol_name(left.base)
    names = [n for item in left.items for n in sorted(names_in(item))]
    plain = all(item.alone for item in left.items) and bool(names)
    used = {n for n in names if _stands_as_index(elab.context, n, right)}
    if plain and used == set(names):
        order = [n for item in left.items for n in _in_order(item)]
        return base, order
    return whole, []


def _in_order(item: Chain) -> list[str]:
    expr = item.exprs[0]
    factors = getattr(expr, "factors", (expr,))
    return [f.text for f in factors if isinstance(f, Name)]


def _stands_as_index(context: Context, name: str, body: object) -> bool:
    stack = [body]
    while stack:
        one = stack.pop()
        stack.extend(children(one))
        if isinstance(one, Sub) and name in {n for item in one.items for n in names_in(item)}:
            base = context.symbols.get(symbol_name(one.base) or "")
            if base is not None and symbol_name(one) not in context.symbols:
                return True
    return False
