r"""The typed claim of a step.

From a step to what is decided: its relation with types, and the hypotheses that it brings of its own.
An approximate sign claims an error bound (`within`), a limit (`as`), or a factor (`margin` for \gg), and becomes an
exact relation. A number with printed decimals claims half a unit in the last of them. Without one of these it claims
nothing that could be checked, and the step says what to add.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.document.blocks import Option
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.hypotheses import relations_of, typed_relation
from attention_core.derivation.elaborate.index_ranges import between, index_ends, inferred_range, spread
from attention_core.derivation.elaborate.sums import infinity, limit_of
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import is_constant
from attention_core.derivation.latex.parse import parse_expression, parse_statement
from attention_core.derivation.latex.printer import SIGNS, all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Expr,
    Frac,
    Group,
    Minus,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.reading.domains import domain_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import (
    SCALAR,
    Relation,
    ShapeMismatch,
    Term,
    fit,
    join_types,
    negative,
    product,
)

_ORDER = "between matrices is read, and not decided: state it for x^\\top A x"
_SETS = "between sets is read, and not decided"
_FACTOR = "leaves a factor open: name it, as in a \\le c b"
UNDECIDED_RELATIONS = {
    **dict.fromkeys(("succ", "prec", "succeq", "preceq"), _ORDER),
    **dict.fromkeys(("subset", "subseteq", "supset", "supseteq", "ni", "notin"), _SETS),
    **dict.fromkeys(("lesssim", "gtrsim"), _FACTOR),
    **dict.fromkeys(("mid", "leadsto"), "is read, and not decided"),
}
"""Relations of steps that are read and never decided, and what their reports say."""


def approximate_claim(step: Step, elab: Elaborator, left: Term, right: Term) -> Relation:
    """The exact claim of an approximate step."""
    if step.op in (">>", "<<"):
        return _factor(step, elab, Relation(left, step.op, right, step.line))
    if step.option("within"):
        return _bound(step, elab, Relation(left, "~", right, step.line))
    if step.option("as"):
        return limit_claim(step, elab, left, right)
    unit = printed_unit(step)
    if unit is not None and not _has_symbols(left) and not _has_symbols(right):
        return _gap(left, right, Term("const", (), SCALAR, unit / 2), step.line)
    message = r"\approx claims nothing by itself: write '% within: <bound>' or '% as: S \to \infty' above it"
    raise Unsettled(message)


def premise(step: Step, relation: Relation) -> Relation:
    """The left side of an implication, its approximate signs made exact by the same options."""
    if relation.op in (">>", "<<", "~"):
        elab = Elaborator(step.context, {name: None for name, _, _ in relation.over}, step.line)
        exact = _bound(step, elab, relation) if relation.op == "~" else _factor(step, elab, relation)
        return replace(exact, over=relation.over, where=relation.where)
    return relation


def _factor(step: Step, elab: Elaborator, relation: Relation) -> Relation:
    if not step.option("margin"):
        raise Unsettled(r"\gg needs a factor: write '% margin: 10' above the step")
    written = parse_expression(step.option("margin"), step.line)
    number = _number(written)
    if number is not None and number < 1:
        raise Unreadable(
            f"'% margin: {step.option('margin')}' is below 1, so that \\gg would not even say 'greater'", step.line
        )
    factor = elab.term(written)
    large, small = (relation.left, relation.right) if relation.op == ">>" else (relation.right, relation.left)
    if not join_types(large.type, small.type, "compared").scalar:
        raise Unreadable(f"{large.type} has no order: compare entries or norms", step.line)
    return Relation(large, ">=", product(factor, small), step.line)


def _number(expr: Expr) -> Fraction | None:
    """The value of a written number, None of what is not written with numerals alone."""
    match expr:
        case Num(value):
            return value
        case Minus(body) | Group("(", (Chain((body,), ()),)):
            inner = _number(body)
            return -inner if inner is not None and isinstance(expr, Minus) else inner
        case Plus(terms):
            found = [_number(one) for one in terms]
            return None if None in found else sum((one for one in found if one is not None), Fraction(0))
        case Frac(top, bottom):
            return _quotient(_number(top), _number(bottom))
        case Times(factors, ops):
            result = _number(factors[0])
            for op, factor in zip(ops, factors[1:], strict=True):
                other = _number(factor)
                if op == "/":
                    result = _quotient(result, other)
                else:
                    result = None if result is None or other is None else result * other
            return result
        case Sup(base, exponent):
            low, high = _number(base), _number(exponent)
            whole = high is not None and high.denominator == 1 and abs(high) <= 64
            return low ** int(high) if low and high is not None and whole else None
    return None


def _quotient(top: Fraction | None, bottom: Fraction | None) -> Fraction | None:
    return top / bottom if top is not None and bottom else None


def _bound(step: Step, elab: Elaborator, relation: Relation) -> Relation:
    if not step.option("within"):
        raise Unreadable(r"\approx needs a bound here: write '% within: <bound>' above the step", step.line)
    bound = elab.term(parse_expression(step.option("within"), step.line))
    if not bound.type.scalar:
        raise Unreadable("the bound after 'within' is a number", step.line)
    return _gap(relation.left, relation.right, bound, step.line)


def _gap(left: Term, right: Term, bound: Term, line: int) -> Relation:
    """The sides differ by a bound at most, entry by entry."""
    kind = join_types(left.type, right.type, "compared")
    sides = fit(left, kind), negative(fit(right, kind))
    gap = Term("magnitudes", (Term("add", sides, kind),), kind)
    return Relation(gap, "<=", Term("filled", (bound,), kind), line)


_PRINTED = re.compile(
    r"\\(?:approx|simeq)\s*[-+]?\s*\d+\.(?P<digits>\d+)(?:\s*\\(?:times|"
    r"cdot)\s*10\s*\^\s*\{?\s*(?P<power>-?\d+)\s*\}?)?(?P<percent>\s*\\?%)?\s*$"
)


def printed_unit(step: Step) -> Fraction | None:
    r"""The unit in the last printed place of a decimal number behind \approx, None of anything else."""
    found = _PRINTED.search(step.text) if step.op == "~" and not step.option("within") else None
    if found is None:
        return None
    return Fraction(10) ** (int(found["power"] or 0) - len(found["digits"]) - (2 if found["percent"] else 0))


_EQUALS_DECIMAL = re.compile(
    r"=(?=\s*[-+]?\s*\d+\.\d+(?:\s*\\(?:times|cdot)\s*10\s*\^\s*(?:\d|\{\s*-?\d+\s*\}))?(?:\s*\\?%)?\s*$)"
)
_EQUALS_WHOLE = re.compile(
    r"=(?=\s*[-+]?\s*\d+(?:\s*\\(?:times|cdot)\s*10\s*\^\s*\{?\s*(?P<power>\d+)\s*\}?|(?P<percent>\s*\\?%))\s*$)"
)
_DECIMAL_EQUALS = re.compile(r"^(\s*[-+]?\s*\d+\.\d+\s*)=(.*)$", re.DOTALL)


def with_decimals(step: Step) -> Step | None:
    r"""What an equation claims that is meant of rounded numbers: $\frac{1}{3} \approx 0.33$ for $\frac{1}{3} = 0.33$.

    Args:
        step: A step.

    Returns:
        The other step; None where neither side is a decimal number, or a whole one of percent or with a power of ten.
    """
    if step.op != "=" or step.option("expect"):
        return None
    if _EQUALS_DECIMAL.search(step.text):
        return replace(step, op="~", text=_EQUALS_DECIMAL.sub(r"\\approx", step.text))
    whole = _EQUALS_WHOLE.search(step.text)
    if whole and not set(all_names(step.left)) & set(step.context.symbols):
        half = Fraction(10) ** (int(whole["power"] or 0) - (2 if whole["percent"] else 0)) / 2
        options = [*step.options, Option("within", str(half), step.line)]
        return replace(step, op="~", text=_EQUALS_WHOLE.sub(r"\\approx", step.text), options=options)
    if turned := _DECIMAL_EQUALS.match(step.text):
        text = rf"{turned[2]} \approx {turned[1]}"
        return replace(step, op="~", text=text, left=step.right, right=step.left)
    return None


def cut_claims(step: Step, claim: Relation) -> list[Relation]:
    r"""What $a \approx 0.66$ claims where digits are cut off and not rounded; nothing of other steps."""
    unit = printed_unit(step)
    if unit is None or step.option("as") or claim.op != "<=" or claim.left.op != "magnitudes":
        return []
    (gap,) = claim.left.args  # the value less the printed number; cut digits are not farther from 0 than it
    below = _number(step.right)
    if below is None:
        return []
    zero, most = Term("const", (), SCALAR, Fraction(0)), Term("const", (), SCALAR, unit)
    return [replace(claim, right=Term("filled", (most,), claim.right.type)),
            Relation(gap, ">=" if below >= 0 else "<=", zero, step.line)]  # fmt: skip


def _has_symbols(term: Term) -> bool:
    return any(part.op in ("leaf", "member", "int", "size", "expect", "limit") for part in term.walk())


def membership(step: Step, elab: Elaborator) -> Relation:
    """`x \\in [0, 1]^n` as a step: the shape fits, and every entry lies in the interval."""
    left, domain = elab.term(step.left), domain_of(elab, step.right)
    if domain.kind != "array" or domain.type is None or domain.values:
        raise Unreadable("as a step, \\in is understood with \\mathbb{R}, its powers, and intervals", step.line)
    flat = domain.type.column and left.type.vector and left.type.transpose == domain.type
    if left.type != domain.type and not flat and left.type.kind != "zero":
        raise ShapeMismatch(f"{left.type} is not {domain.type}")
    inside = left
    for bound, op in ((domain.lower, "max"), (domain.upper, "min")):
        if bound is not None:
            if bound[1]:
                raise Unreadable(
                    "as a step, \\in is understood with closed intervals: write x > 0 for an open end", step.line
                )
            inside = Term("clip", (inside, bound[0]), left.type, op)
    return Relation(left, "=", inside, step.line)


def moving(step: Step) -> tuple[Expr, Expr]:
    r"""What moves and where to: from `% as:`, or from a premise such as `S \to \infty \implies`."""
    chains = [chain for chain, _ in step.assumed if chain.ops == ("->",)]
    if step.option("as"):
        parsed = parse_statement(step.option("as"), step.line)
        chains = [] if parsed.arrows else list(parsed.chains)
    if not step.option("as") and not chains:
        raise Unsettled(r"say what moves: write '% as: S \to \infty' above the step")
    if len(chains) != 1 or chains[0].ops != ("->",):
        raise Unreadable(r"say what moves: write '% as: S \to \infty' above the step", step.line)
    return chains[0].exprs[0], chains[0].exprs[1]


def limit_claim(step: Step, elab: Elaborator, left: Term, right: Term) -> Relation:
    r"""`left \to right`, `left \approx right` as something moves: both sides do the same in the end."""
    variable, target = moving(step)
    kind = join_types(left.type, right.type, "compared")
    one, two = (limit_of(elab, fit(t, kind), variable, target) for t in (left, right))
    return Relation(one, "->", two, step.line)


def endless(step: Step, elab: Elaborator) -> Relation | None:
    r"""`\lim ... = \infty` and `... \to \infty`; None if the right side is not infinite."""
    way = infinity(step.right)
    if not way or not (step.op == "->" or (step.op == "=" and isinstance(step.left, Big) and step.left.op == "lim")):
        return None
    left = elab.term(step.left)
    if step.op == "->":
        left = limit_of(elab, left, *moving(step))
    if not left.type.scalar:
        raise Unreadable(rf"{left.type} does not tend to \infty: say it for its entries or its norm", step.line)
    return Relation(left, "->", Term("infinity", (), left.type, way), step.line)


def bare_limit(left: Term, right: Term, line: int) -> Relation | None:
    r"""`\lim f = c` as `f \to c`, so that a limit that is infinite or does not exist refutes it; else None."""
    if left.op != "limit" or any(t.op == "limit" or (t.op in ("leaf", "int") and t.data == left.data[0])
                                 for t in right.walk()):  # fmt: skip
        return None
    kind = join_types(left.type, right.type, "compared")
    return Relation(left, "->", Term("limit", (fit(right, kind), left.args[1]), kind, left.data), line)


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


def find_claim(step: Step) -> Relation | None:
    """The relation that a step claims; None where its shapes do not fit.

    Args:
        step: The step.
    """
    try:
        return claim_of(step)[1]
    except ShapeMismatch:
        return None


def _own_hypotheses(step: Step, context: Context) -> list[Relation]:
    """What the step assumes in front of an arrow or in an option."""
    extra: list[Relation] = []
    for chain, conditions in step.assumed:
        if chain.ops == ("->",):
            continue  # says what moves: `moving` reads it
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
    if op == "propto":
        raise Unsettled(r"\propto does not say by which factor: write a = c b with a declared number c")
    if op in UNDECIDED_RELATIONS:
        raise Unsettled(f"{SIGNS[op]} {UNDECIDED_RELATIONS[op]}")
    if op in ("~", ">>", "<<"):
        return approximate_claim(step, elab, left, right)
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
        sides = chain.exprs[:1] if within else chain.exprs
        if chain.ops == ("=",) and isinstance(sides[0], Sub):
            sides = ()  # `where p_i = P(x_i)` says what p_i is, and binds nothing
        named = [symbol_name(e) for e in sides]
        fresh = (n for n in named if n is not None and n not in context.symbols and not is_constant(n))
        name = next(fresh, None)
        if name is not None:
            if within:
                first, last = index_ends(elab, chain.exprs[1])
                low, high = elab.size(first), elab.size(last)
            else:
                low, high = inferred_range(elab, name, (step.left, step.right), step.conditions)
            mentions = frozenset(low.symbols() | high.symbols())
            context.symbols[name] = Symbol(name, "index", step.line, 9, None, low, high, mentions=mentions)
        elif within and not elab.is_integer(chain.exprs[0]):
            raise elab.fail(
                f"'{to_latex(chain)}' is not understood as a condition: declare {named[0]} above the display"
            )
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


def why_unreadable(step: Step) -> str:
    """Why a step cannot be read, '' if it can.

    Args:
        step: The step.
    """
    try:
        claim_of(step)
    except Unreadable as error:
        return error.message
    except ShapeMismatch as error:
        return f"the shapes do not fit: {error}"
    except (Unsettled, RecursionError):
        return ""  # reported when it is decided
    return ""
