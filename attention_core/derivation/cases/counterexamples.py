"""Counterexamples, shrunk and as they are reported.

A case that refutes a relation: shrunk while it still does, and reported as sizes, symbols and two sides.
What did not matter to the claim is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attention_core.derivation.cases.generate import NoCase, draw
from attention_core.derivation.cases.problem import Site
from attention_core.derivation.graph.choices import Choices, shrink
from attention_core.derivation.graph.compare import Outcome, compare, exact_text
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Case
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem


WORDS = {
    "=": "is not",
    "!=": "is",
    "<": "is not below",
    "<=": "is above",
    ">": "is not above",
    ">=": "is below",
    "->": "is the limit, not",
}


def shrink_and_report(problem: Problem, site: Site, made: list[int]) -> Finding:
    """Shrink the case and report it."""

    def fails(numbers: Sequence[int]) -> Sequence[int] | None:
        choices = Choices(replay=list(numbers))
        if time.process_time() > problem.deadline:
            return None  # what refutes already is shown as it is
        try:
            case = draw(site.plan, choices)
            outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
        except (NoCase, Undefined, ZeroDivisionError, TooLarge):
            return None
        return choices.made if outcome.holds is False else None

    best = shrink(made, fails)
    choices = Choices(replay=best)
    case = draw(site.plan, choices)
    return refutation(problem, site, case, compare(site.low.graph, site.pairs, problem.claim.op, case, site.order))


def refutation(problem: Problem, site: Site, case: Case, outcome: Outcome) -> Finding:
    """A case that refutes, as it is reported."""
    problem.refuted = site, case
    example = Counterexample(
        case_values(problem, site, case), outcome.left, outcome.right, _entry(problem, site, outcome.place)
    )
    text = describe_counterexample(problem.claim.op, example)
    return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)


def describe_counterexample(op: str, example: Counterexample) -> str:
    """A counterexample of a relation as one line."""
    sides = f"{example.left} {WORDS[op]} {example.right}"
    return f"{sides} at {describe(example.values)}" if example.values else sides


def _entry(problem: Problem, site: Site, place: int) -> str:
    """Which entry of an array differs."""
    rows, cols = site.low.lower(problem.claim.left).rows, site.low.lower(problem.claim.left).cols
    if rows * cols == 1:
        return ""
    cells = list(zip(site.low.lower(problem.claim.left).cells, site.low.lower(problem.claim.right).cells, strict=True))
    at = cells.index(site.pairs[place])
    return f"entry {at // cols + 1}, {at % cols + 1}"


def case_values(problem: Problem, site: Site, case: Case, show: Callable[[Any], str] = exact_text) -> dict[str, Any]:
    """Sizes, indices and symbols of a case as text."""
    close = problem.close - {problem.moves}
    out: dict[str, Any] = {name: value for name, value in site.env.items() if name in close}
    for node, (symbol, key) in site.plan.entries.items():
        if symbol.name not in close:
            continue
        text = show(case[node])
        if symbol.kind == "family":
            name, spot = f"{symbol.name}_{key[1][0]}", key[1][1:]
        else:
            name, spot = symbol.name, key[1]
        if symbol.type is not None and symbol.type.scalar:
            out[name] = text
        else:
            rows = out.setdefault(name, [])
            while len(rows) < spot[0]:
                rows.append([])
            rows[spot[0] - 1].append(text)
    return _with_integers(problem, out)


def _with_integers(problem: Problem, values: dict[str, Any]) -> dict[str, Any]:
    """The values with each integer in the place of the sizes that it is a difference of."""
    integers = {name: one for name, one in problem.context.symbols.items() if one.whole and one.mentions <= set(values)}
    parts = {part for one in integers.values() for part in one.mentions}
    sizes = {name: value for name, value in values.items() if name in parts}
    shown = {name: one.term.data.value(sizes) for name, one in integers.items() if one.term is not None}
    return {**shown, **{name: value for name, value in values.items() if name not in parts}}


def describe(values: dict[str, Any]) -> str:
    """Values as one line."""
    parts = []
    for name, value in values.items():
        if isinstance(value, list):
            flat = "; ".join(", ".join(row) for row in value)
            parts.append(f"{name} = [{flat}]")
        else:
            parts.append(f"{name} = {value}")
    return ", ".join(parts) or "these values"
