"""The typed claim of a step.

From a step to what is decided: its relation with types, and the hypotheses that it brings of its own.
Which relations there are besides the exact ones is in `approximate` and `limit_claims`.
"""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.derivation.claims.approximate import claim as approximate
from attention_core.derivation.claims.approximate import membership, premise
from attention_core.derivation.claims.limit_claims import bare_limit, endless, limit_claim
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.hypotheses import relations_of, typed_relation
from attention_core.derivation.elaborate.index_ranges import between, index_ends, inferred_range, spread
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import SIGNS, symbol_name
from attention_core.derivation.latex.syntax import Chain, Unreadable
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.reading.steps import Step
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import Relation, ShapeMismatch


def claim_of(step: Step) -> tuple[Context, Relation, list[Relation]]:
    """The typed claim of a step with its own hypotheses; raises `Unreadable`, `ShapeMismatch` or `Unsettled`."""
    context = step.context
    context.applied = 0
    extra = _own_hypotheses(step, context)
    if step.conditions:
        context, more = _bind_conditions(step)
        extra += more
    view = with_same_sizes(context, extra)
    try:
        return context, _relation(step, view), extra
    except ShapeMismatch as error:
        raise unless_sizes_fit(error, context, extra) from None


def _own_hypotheses(step: Step, context: Context) -> list[Relation]:
    """What the step assumes in front of an arrow or in an option."""
    extra: list[Relation] = []
    for chain, conditions in step.assumed:
        if chain.ops == ("->",):
            continue  # says what moves: `limit_claims.moving` reads it
        extra += [premise(step, r) for r in relations_of(context, chain, conditions, step.line)]
    if step.option("assume"):
        parsed = parse_statement(step.option("assume"), step.line)
        extra += [r for chain in parsed.chains for r in relations_of(context, chain, [], step.line)]
    return extra


def _relation(step: Step, context: Context) -> Relation:
    """The step's own relation, with types."""
    elab = Elaborator(context, line=step.line)
    op = step.op
    if op == "in":
        return membership(step, elab)
    unbounded = endless(step, elab)
    if unbounded is not None:
        return unbounded
    left, right = elab.term(step.left), elab.term(step.right)
    if op == "->":
        return limit_claim(step, elab, left, right)
    if op == "=" and (as_limit := bare_limit(left, right, step.line)) is not None:
        return as_limit
    if op in ("~", ">>", "<<"):
        return approximate(step, elab, left, right)
    if op not in ("=", "!=", "<", "<=", ">", ">="):
        raise Unreadable(f"the relation {SIGNS.get(op, op)} is not understood as a step", step.line)
    return typed_relation(left, op, right, step.line)


def _bind_conditions(step: Step) -> tuple[Context, list[Relation]]:
    """`\\forall j \\ne a`: the index is declared for this step alone."""
    context = step.context.copy()
    elab = Elaborator(context, line=step.line)
    rest: list[Chain] = []
    for chain in spread(step.conditions):
        within = chain.ops == ("in",)
        named = [symbol_name(e) for e in (chain.exprs[:1] if within else chain.exprs)]
        name = next((n for n in named if n is not None and n not in context.symbols), None)
        if name is not None:
            if within:
                first, last = index_ends(elab, chain.exprs[1])
                low, high = elab.size(first), elab.size(last)
            else:
                low, high = inferred_range(elab, name, (step.left, step.right), step.conditions)
            mentions = frozenset(low.symbols() | high.symbols())
            context.symbols[name] = Symbol(name, "index", step.line, 9, None, low, high, mentions=mentions)
        elif within:
            chain = between(elab, chain)
        if not chain.alone and chain.ops != ("in",):
            rest.append(chain)
    found = [r for chain in rest for r in relations_of(context, chain, [], step.line)]
    return context, found


def unless_sizes_fit(error: ShapeMismatch, context: Context, extra: Sequence[Relation]) -> Exception:
    """What a shape that does not fit comes to: `Unsettled` where the conditions may make its sizes equal."""
    names = {n for pair in error.pairs for size in pair for n in size.symbols()}
    relations = [*(h.relation for h in context.hypotheses), *extra]
    relevant = [r for r in relations if relation_names(context, r) & names]
    for relation in relevant:
        names |= {n for n in relation_names(context, relation) if context.symbols[n].kind == "size"}
    tuples = Tuples(context, names, relevant)
    if not error.pairs or not tuples.conditions:
        return error
    if any(any(a.value(env) != b.value(env) for a, b in error.pairs) for env in tuples.small()):
        return error
    return Unsettled(
        f"{error}, unless the conditions on sizes make them equal, which is not clear: use one name for sizes that are"
    )
