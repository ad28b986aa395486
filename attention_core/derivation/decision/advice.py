"""Advice on steps: what would make a refuted one true, and which hypotheses a step needs.

A missing factor or hypothesis is a guess, named if the step holds with it in some cases. A hypothesis is needed if a
counterexample appears without it; where none does, it is only "not shown to be needed". No verdict changes by advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

from flint import fmpq

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.effort import CEILING, Effort, OutOfTime, ceiling, on_time
from attention_core.derivation.elaborate.hypotheses import relations_of
from attention_core.derivation.graph.compare import compare, format_value
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise, evaluate, exact, precision
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, ShapeMismatch

MOST = 40
MET_NODES = 20_000  # of a hypothesis at a counterexample
LIGHT = Effort(small=5, tuples=1, large=2, climb=4, altered=120, ladder=0)
SHARE = 0.25  # of a step's time, for all guesses about it
EACH = 0.15  # of a step's time, for one


@dataclass(frozen=True)
class Candidate:
    """A hypothesis in LaTeX with the condition on its indices."""

    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"${self.text}$ for ${self.where}$" if self.where else f"${self.text}$"


def find_missing_hypothesis(problem: Problem, extra: list[Relation]) -> str:
    """A hypothesis under which a refuted claim holds, '' without an idea."""
    try:
        with ceiling(SHARE * problem.effort.seconds):
            if problem.tally.far:
                return ""  # at the sizes that guesses are tried at, the step holds anyway
            for candidate in islice(candidates(problem), MOST):
                on_time()
                if verdict := holds_under(problem, extra, candidate):
                    sure = verdict in (Verdict.PROVED, Verdict.EXACT)
                    result = "the step holds" if sure else "no counterexample was found"
                    return f"{result} under the further hypothesis {candidate}: is it missing?"
    except OutOfTime:
        return ""
    return ""


def find_missing_factor(problem: Problem) -> str:
    """A constant that a side of a refuted equation lacks, '' if there is none but -1, which is a sign."""
    try:
        with ceiling(SHARE * problem.effort.seconds):
            return _factor(problem) if problem.claim.op == "=" else ""
    except OutOfTime:
        return ""


def _is_met(problem: Problem, relations: Sequence[Relation]) -> bool:
    """Whether the counterexample that was found satisfies some relations: then they are not what is missing."""
    if problem.refuted is None:
        return False
    site, case = problem.refuted
    values = {(symbol.name, key): case[node] for node, (symbol, key) in site.plan.entries.items() if node in case}
    for relation in relations:
        try:
            other = Problem(problem.context, relation).make_site(site.env, Graph(MET_NODES))
            if other is None:
                return False
            here = {n: values[symbol.name, key] for n, (symbol, key) in other.plan.entries.items()}
            if compare(other.low.graph, other.pairs, relation.op, here, other.order).holds is not True:
                return False
        except (KeyError, Undefined, Imprecise, TooLarge, Unsettled, ZeroDivisionError):
            return False
    return bool(relations)


def holds_under(problem: Problem, extra: list[Relation], candidate: Candidate) -> Verdict | None:
    """The verdict on the claim when the candidate is assumed as well, None unless it is good."""
    context = problem.context
    try:
        conditions = list(parse_statement(candidate.where).chains) if candidate.where else []
        (chain,) = parse_statement(candidate.text).chains
        more = relations_of(context, chain, conditions, 0)
        if _is_met(problem, more):
            return None
        seconds = EACH * problem.effort.seconds
        light = replace(LIGHT, seed=problem.effort.seed, seconds=seconds)
        with ceiling(seconds):
            found = decide(Problem(context, problem.claim, [*extra, *more], light))
    except (Unreadable, ShapeMismatch, RecursionError, Unsettled, OutOfTime):
        return None
    return found.verdict if found.verdict in GOOD and found.evidence.figures.get("cases", 0) >= 3 else None


def candidates(problem: Problem) -> Iterator[Candidate]:
    """Hypotheses about the symbols of the claim, the likeliest first."""
    context = problem.context
    arrays = [s for s in problem.symbols if s.type is not None and s.type.kind == "matrix"]
    i, j = _fresh(context)
    for one, other in combinations(problem.tuples.indices, 2):
        yield Candidate(rf"{one} \ne {other}")
    for symbol in arrays:
        if symbol.kind == "family":
            yield Candidate(rf"{symbol.name}_{i}^\top {symbol.name}_{j} = 0", rf"{i} \ne {j}")
            yield Candidate(rf"\|{symbol.name}_{i}\| = 1")
    for left, right in combinations([s for s in arrays if s.kind == "array"], 2):
        yield from _pair(left, right)
    for symbol in arrays:
        if symbol.kind == "array":
            yield from _single(symbol)
    for symbol in problem.symbols:
        if symbol.type is not None and symbol.type.scalar and symbol.kind == "array":
            yield from (Candidate(f"{symbol.name} {rest}") for rest in (r"\ge 0", "> 0", r"\ge 1", r"\le 1", r"\ne 0"))
    numbers = [s.name for s in problem.symbols if s.kind == "array" and s.type is not None and s.type.scalar]
    for one, other in combinations(numbers, 2):
        yield from (Candidate(rf"{one} {op} {other}") for op in (r"\le", r"\ge"))
        yield from (Candidate(rf"|{a}| \le {b}") for a, b in ((one, other), (other, one)))
    for name in problem.tuples.sizes:  # never = 1, where all arrays are numbers
        yield from (Candidate(rf"{name} {rest}") for rest in (r"\ge 2", r"\ge 3"))


def _fresh(context: Context) -> tuple[str, str]:
    """Two letters for indices that are not declared."""
    free = [c for c in "ijlmrsuvw" if c not in context.symbols]
    return (free[0], free[1]) if len(free) > 1 else ("i'", "j'")


def _pair(left: Symbol, right: Symbol) -> Iterator[Candidate]:
    assert left.type is not None and right.type is not None
    if left.type.rows == right.type.rows:
        yield Candidate(rf"{left.name}^\top {right.name} = 0")
    if left.type.cols == right.type.cols:
        yield Candidate(rf"{left.name} {right.name}^\top = 0")


def _single(symbol: Symbol) -> Iterator[Candidate]:
    assert symbol.type is not None
    name, kind = symbol.name, symbol.type
    if kind.vector:
        yield Candidate(rf"\|{name}\| = 1")
        yield Candidate(
            rf"\mathbf{{1}}_{{{kind.rows}}}^\top {name} = 1"
            if kind.column
            else rf"{name} \mathbf{{1}}_{{{kind.cols}}} = 1"
        )
        return
    yield Candidate(rf"{name}^\top {name} = I_{{{kind.cols}}}")
    yield Candidate(rf"{name} {name}^\top = I_{{{kind.rows}}}")
    if kind.rows == kind.cols:
        yield Candidate(rf"{name} = {name}^\top")


def _factor(problem: Problem) -> str:
    """One constant that the right side lacks, at all cases that are tried."""
    ratios: set[str] = set()
    pairs: set[str] = set()
    seen = 0
    for env in [*problem.tuples.small()[:6], *problem.tuples.large(1, 2)]:
        try:
            site = problem.site(env)
        except TooLarge:
            continue
        if site is None:
            continue
        for number in range(4):
            _, case = problem.case(site.plan, 7919 + number)
            if case is None:
                continue
            try:
                with precision(128):
                    values = evaluate(site.low.graph, [n for p in site.pairs for n in p], case, site.order)
            except (Undefined, Imprecise, TooLarge):
                continue
            for place in range(0, len(values), 2):
                left, right = values[place], values[place + 1]
                if not (exact(left) and exact(right)) or (left == 0 and right == 0):
                    if exact(left) and exact(right):
                        continue
                    return ""
                if left == 0 or right == 0:
                    return ""
                ratios.add(str(left / right))
                pairs.add(f"{left} {right}")
                seen += 1
                if len(ratios) > 1:
                    return ""
    if len(ratios) != 1 or seen < 4 or ratios <= {"1", "-1"} or len(pairs) == 1:
        return ""  # of two numbers that are always the same, any factor makes one the other
    times = format_value(_fraction(ratios.pop()))
    return f"the left side is {times} times the right side in all cases tried: is a factor missing?"


def _fraction(text: str) -> fmpq:
    top, _, bottom = text.partition("/")
    return fmpq(int(top), int(bottom or 1))


def find_needed_hypotheses(step: Step, effort: Effort) -> list[dict[str, Any]]:
    """One record for each hypothesis of a step: its text, whether it is needed, the counterexample without it."""
    try:
        context, claim, extra = claim_of(step)
    except (Unreadable, ShapeMismatch, RecursionError):
        return []
    out = []
    for text, line, without, rest in _without_one(context, claim, extra):
        try:
            with ceiling(CEILING * effort.seconds):
                found = decide(Problem(without, claim, rest, effort))
        except (Unsettled, OutOfTime):  # without it, nothing here could decide the step
            continue
        needed = found.verdict is Verdict.REFUTED and found.counterexample is not None
        at = describe(found.counterexample.values) if needed and found.counterexample is not None else ""
        out.append({"hypothesis": text, "line": line, "needed": needed, "without": str(found.verdict), "at": at})
    return out


def _without_one(
    context: Context, claim: Relation, extra: list[Relation]
) -> Iterator[tuple[str, int, Context, list[Relation]]]:
    """Text, line, context and own hypotheses of the step, each time with one hypothesis less."""
    try:
        used = {id(r) for r in Problem(context, claim, extra).hypotheses}
    except Unsettled:
        return
    for place, hypothesis in enumerate(context.hypotheses):
        if id(hypothesis.relation) in used:
            less = context.copy()
            less.hypotheses = [h for k, h in enumerate(context.hypotheses) if k != place]
            yield hypothesis.text, hypothesis.line, less, extra
    names = {n for r in (claim, *extra) for n in relation_names(context, r)}
    for name in sorted(names):
        symbol = context.symbols[name]
        if symbol.lower is None and symbol.upper is None:
            continue
        less = context.copy()
        less.symbols[name] = replace(symbol, lower=None, upper=None)
        yield f"the interval of {name}", symbol.line, less, extra
    for place, relation in enumerate(extra):
        if relation.op != "test":
            yield f"hypothesis {place + 1} of the step", relation.line, context, [*extra[:place], *extra[place + 1 :]]
