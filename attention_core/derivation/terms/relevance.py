"""Names and hypotheses that matter to a step, and random symbols as ordinary ones.

What a step is about: the symbols it mentions, those they depend on, and the hypotheses that speak of any of them.
Everything else a document has declared is left out, so that it is neither drawn nor shown.
Of a random symbol there is what its law asks of its parameters, and every outcome that it can take.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.terms.context import Context, Distribution, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, Term, integer

MAX_SUPPORT = 2000


def derive_conditions(law: Distribution, line: int) -> list[Relation]:
    """What the parameters of a law must satisfy."""
    zero, one = integer(0), integer(1)
    p = law.parameters
    if law.name == "bernoulli":
        return [Relation(p[0], ">=", zero, line), Relation(p[0], "<=", one, line)]
    if law.name == "geometric":
        return [Relation(p[0], ">", zero, line), Relation(p[0], "<=", one, line)]
    if law.name in ("exponential", "poisson"):
        return [Relation(p[0], ">", zero, line)]
    if law.name == "binomial":
        return [Relation(p[1], ">=", zero, line), Relation(p[1], "<=", one, line)]
    if law.name == "uniform":
        return [Relation(p[0], "<", p[1], line)]
    if law.name == "categorical" and all(t.type.scalar for t in p):
        total = Term("add", p, SCALAR) if len(p) > 1 else p[0]
        return [*(Relation(t, ">=", zero, line) for t in p), Relation(total, "=", one, line)]
    if law.name in ("normal", "moments"):
        spread = _factor_of_identity(p[1])
        if spread is None or (spread.op == "const" and Fraction(spread.data) >= 0):
            return []
        return [Relation(spread, ">=", zero, line)]
    return []


def every_outcome(symbol: Symbol) -> Symbol:
    """A random symbol outside expectations as an ordinary one: the claim is about every value that it can take.

    Of an interval the ends are left out, as they have probability 0.
    """
    law = symbol.law
    assert law is not None
    if law.name == "normal":
        return symbol
    if law.name == "uniform" and not law.index:
        low, high = law.parameters
        return replace(symbol, lower=(low, True), upper=(high, True))
    if law.name == "rademacher":
        return replace(symbol, values=(-1, 1))
    known = [value for p in law.parameters if (value := _constant(p)) is not None]
    if len(known) == len(law.parameters):
        if law.name == "bernoulli" and 0 < known[0] < 1:
            return replace(symbol, values=(0, 1))
        if law.name == "categorical" and min(known) > 0:
            return replace(symbol, values=tuple(range(1, len(known) + 1)))
        if law.name == "range" and known[1] - known[0] < MAX_SUPPORT:
            return replace(symbol, values=tuple(range(int(known[0]), int(known[1]) + 1)))
    raise Unsettled(
        f"{symbol.name} is random and stands outside \\mathbb{{E}}, \\operatorname{{Var}} and \\Pr: its outcomes are "
        "known for normal and uniform laws, and for laws on finitely many values whose probabilities are numbers"
    )


def _constant(term: Term) -> Fraction | None:
    """The number of a term without symbols."""
    if term.op == "const":
        return Fraction(term.data)
    parts = [_constant(a) for a in term.args]
    if term.op == "div" and len(parts) == 2 and parts[0] is not None and parts[1]:
        return parts[0] / parts[1]
    return None


def _factor_of_identity(term: Term) -> Term | None:
    """s of s or s I, where it is seen to be that."""
    if term.type.scalar:
        return term
    if term.op == "neg":
        inner = _factor_of_identity(term.args[0])
        return None if inner is None else Term("neg", (inner,), SCALAR)
    if term.op == "eye":
        return Term("const", (), SCALAR, Fraction(1))
    if term.op == "mul" and term.args[0].type.scalar and term.args[1].op == "eye":
        return term.args[0]
    return None


def is_random(symbol: Symbol | None) -> bool:
    """Whether a symbol is random."""
    return symbol is not None and symbol.law is not None


def relevant(
    context: Context, roots: Sequence[Term], extra: Sequence[Relation] = ()
) -> tuple[list[Symbol], list[Relation], set[str]]:
    """The symbols a step depends on, the hypotheses about them, and the names of sizes and indices among them."""
    names: set[str] = set()
    for root in roots:
        names |= find_mentioned_names(context, root)
    pool = [*(h.relation for h in context.hypotheses), *extra]
    chosen: list[Relation] = list(extra)
    for relation in extra:
        names |= relation_names(context, relation)
    _follow_names(context, pool, chosen, names)
    sides = [side for relation in chosen for side in (relation.left, relation.right)]
    free = set().union(*(find_exposed_symbols(context, root) for root in [*roots, *sides]))
    averaged = set().union(*(averaged_over(context, root) for root in roots))
    tied = averaged & set().union(*(find_exposed_symbols(context, side) for side in sides))
    if tied:
        raise Unsettled(
            f"{sorted(tied)[0]} is averaged and a hypothesis restricts it: conditional averages are not understood"
        )
    symbols = [
        d
        for d in context.symbols.values()
        if d.name in names and d.kind in ("array", "family") and (d.law is None or d.name in free)
    ]
    symbols = [d if d.law is None else every_outcome(d) for d in symbols]
    ordered = [r for r in pool if any(r is c for c in chosen)]
    return symbols, ordered, {n for n in names if context.symbols[n].kind in ("size", "index")}


def _follow_names(context: Context, pool: Sequence[Relation], chosen: list[Relation], names: set[str]) -> None:
    """Add what relations of a pool say of some names, and what these symbols are declared by, until nothing is new."""
    changed = True
    while changed:
        changed = False
        for relation in pool:
            if any(relation is c for c in chosen):
                continue
            about = relation_names(context, relation)
            if about & names or not about:
                chosen.append(relation)
                names |= about
                changed = True
        for name in list(names):
            more = symbol_names(context, name) - names
            if more:
                names |= more
                changed = True


def find_exposed_symbols(context: Context, term: Term) -> set[str]:
    """The random symbols outside expectations: the claim is about every value they can take."""
    found: set[str] = set()
    seen: set[int] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if id(part) in seen or part.op == "expect":
            continue
        seen.add(id(part))
        stack.extend(part.args)
        if part.op in ("leaf", "member") and (symbol := context.symbols.get(part.data)) and symbol.law is not None:
            found.add(part.data)
    return found


def find_connected_names(context: Context, claims: Sequence[Relation], hypotheses: Sequence[Relation]) -> set[str]:
    """The names that a counterexample shows: those of the claim, and what hypotheses tie to its arrays and numbers.

    Hypotheses that only share a size with the claim still hold at every case, but their symbols say nothing about it.
    """
    names = {n for claim in claims for n in relation_names(context, claim)}
    changed = True
    while changed:
        before = len(names)
        for name in list(names):
            names |= symbol_names(context, name)
        for relation in hypotheses:
            about = relation_names(context, relation)
            tied = {n for n in about if context.symbols[n].kind != "size"}
            if tied & names or not tied:
                names |= about
        changed = len(names) > before
    return names


def averaged_over(context: Context, term: Term) -> set[str]:
    """The random symbols inside expectations."""
    inside = [part.args[0] for part in term.walk() if part.op == "expect"]
    found = {p.data for body in inside for p in body.walk() if p.op in ("leaf", "member")}
    return {n for n in found if n in context.symbols and context.symbols[n].law is not None}


def averaged_without_law(context: Context, terms: Sequence[Term]) -> str:
    """The first declared symbol that is averaged where nothing averaged is random, '' if there is none.

    Such a symbol is random in the document, as its averages are written, and its law is missing.
    """
    if any(averaged_over(context, term) for term in terms):
        return ""
    inside = [part.args[0] for term in terms for part in term.walk() if part.op == "expect"]
    found = {str(p.data) for body in inside for p in body.walk() if p.op in ("leaf", "member")}
    return min((n for n in found if n in context.symbols and n not in context.inferred), default="")


def find_tie_to_noise(context: Context, terms: Sequence[Term]) -> str:
    r"""The first symbol without a law that is averaged and that a hypothesis ties to a random one, '' for none.

    Under "Assume $y = X w + \epsilon$" y is as random as the noise is, and `E[y]` is not y.
    """
    inside = [part.args[0] for term in terms for part in term.walk() if part.op == "expect"]
    found = {str(p.data) for body in inside for p in body.walk() if p.op in ("leaf", "member")} & set(context.symbols)
    random = {name for name, symbol in context.symbols.items() if symbol.law is not None}
    fixed = {name for name in found - random if context.symbols[name].term is None}
    equations = [one for one in context.hypotheses if one.relation.op == "="]  # and not the laws, which are orders
    tied = [one.mentions for one in equations if one.mentions & random]
    return min((name for name in fixed if any(name in names for names in tied)), default="")


def relation_names(context: Context, relation: Relation) -> set[str]:
    """The declared names a relation mentions."""
    found = find_mentioned_names(context, relation.left) | find_mentioned_names(context, relation.right)
    for _, first, last in relation.over:
        found |= find_mentioned_names(context, first) | find_mentioned_names(context, last)
    for test in relation.where:
        found |= find_mentioned_names(context, test)
    return found


def find_mentioned_names(context: Context, term: Term) -> set[str]:
    """The declared names in a term, those in its shapes included."""
    found: set[str] = set()
    for part in term.walk():
        if part.op in ("leaf", "member", "int") and part.data in context.symbols:
            found.add(part.data)
        if part.op == "size":
            found |= part.data.symbols()
        if part.type.kind == "matrix":
            found |= part.type.rows.symbols() | part.type.cols.symbols()
    return {n for n in found if n in context.symbols}


def symbol_names(context: Context, name: str) -> set[str]:
    """The names that one declaration depends on."""
    symbol = context.symbols[name]
    found: set[str] = set()
    if symbol.type is not None:
        found |= symbol.type.rows.symbols() | symbol.type.cols.symbols()
    for size in (symbol.lowest, symbol.highest):
        if size is not None:
            found |= size.symbols()
    for bound in (symbol.lower, symbol.upper):
        if bound is not None:
            found |= find_mentioned_names(context, bound[0])
    if symbol.law is not None:
        for parameter in symbol.law.parameters:
            found |= find_mentioned_names(context, parameter)
    return {n for n in found if n in context.symbols}


def is_made_of(context: Context, names: Collection[str], part: Symbol) -> bool:
    """Whether some symbols are defined by a part: then one may differentiate by it.

    Args:
        context: What is declared.
        names: The symbols.
        part: The part.
    """
    known = context.symbols
    found = fresh = frozenset(names)
    while fresh:
        fresh = frozenset(m for n in fresh if n in known and known[n].kind == "definition" for m in known[n].mentions)
        fresh, found = fresh - found, found | fresh
    return part.name in found and known.get(part.name) is part and not part.whole


def is_slope_of_known(context: Context, name: str) -> bool:
    """Whether a name is that of a derivative, f' or f'', of a function of one argument that the document defines.

    Args:
        context: What is declared.
        name: The name.
    """
    symbol = context.symbols.get(name.rstrip("'"))
    known = symbol is not None and symbol.body is not None and len(symbol.params) == 1
    return name.endswith("'") and known
