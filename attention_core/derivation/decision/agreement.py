"""Verdicts without a counterexample.

What is said of a relation that no case refutes: that the cases agree, or why there was none.
A relation is VACUOUS only where it is certified that no case exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.cases.problem import Site
from attention_core.derivation.decision.defined_sizes import explain_unstated_equation, has_unstated_equation
from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.graph.numbers import MAX_PRECISION
from attention_core.derivation.proofs.contradiction import impossible, is_never_defined
from attention_core.derivation.records import Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem


CERTAIN = 20  # tuples of each way up for which a contradiction has to be certified


def summarize_agreement(problem: Problem) -> Finding:
    """What the cases say when none refutes."""
    tally = problem.tally
    if tally.unclear is not None and tally.note:
        text = f"not decided at {describe(tally.unclear)}: {tally.note}"
        return Finding(Verdict.UNDECIDED, Evidence(text))
    if tally.unclear is not None:
        return Finding(
            Verdict.UNDECIDED,
            Evidence(f"the two sides could not be told apart with 4096 bits at {describe(tally.unclear)}"),
        )
    if not tally.cases:
        return explain_silence(problem)
    if equation := explain_unstated_equation(problem):
        advice = "state the equation among the sizes, or correct the bounds and the indices"
        return Finding(Verdict.UNDECIDED, Evidence(equation, {}, advice))
    if has_unstated_equation(problem):
        text = f"the two sides are defined only at values that satisfy an equation not stated: elsewhere {tally.why}"
        return Finding(Verdict.UNDECIDED, Evidence(text, {}, "say for which values the step is meant"))
    figures: dict[str, Any] = {"cases": tally.cases, "bits": tally.bits, "tuples": len(tally.tuples)}
    text = f"{tally.cases} cases at {len(tally.tuples)} tuples of sizes agree"
    if tally.bits:
        text += f", with {tally.bits} bits at most"
    if tally.margin is not None:
        figures["margin"] = tally.margin
        text += f"; smallest margin {tally.margin:.3g}"
    if problem.moves and problem.claim.right.op != "infinity":
        text += _rate(problem, figures)
    if tally.enclosed:
        figures["left_out"] = tally.enclosed
        text += f"; {tally.enclosed} cases with values that are not rational were left out"
    if tally.outsized:
        figures["outsized"] = tally.outsized
        text += f"; {tally.outsized} cases with large values, not told apart with {MAX_PRECISION} bits, were left out"
    if tally.undefined:
        figures["undefined"] = tally.undefined
        text += f"; {tally.undefined} cases where a side is not defined were left out"
    if problem.tally.reached:
        figures["reached"] = problem.tally.reached
        text += f"; some cases at larger sizes agree as well, up to {describe(problem.tally.reached)}"
    if problem.tally.swept:
        figures["swept"] = problem.tally.swept
        text += f"; so do all sizes, in floating point, up to {describe(problem.tally.swept)}"
    if problem.tally.further:
        figures["further"] = problem.tally.further
        text += f"; so do plain arrays and numbers at {describe(problem.tally.further)}"
    for note in tally.notes:
        text += f"; {note}"
    return Finding(Verdict.AGREES, Evidence(text, figures))


def _rate(problem: Problem, figures: dict[str, Any]) -> str:
    """How fast the sides of a limit come together."""
    rate, (name, way, _) = problem.tally.rate, problem.claim.left.data
    if rate is None:
        return ""
    figures["rate"] = rate.text(name if way else "t")
    where = "" if way else f" with t = 1 / |{name} - its limit|"
    return f"; the difference is of order {figures['rate']}{where} in the slowest case"


def explain_silence(problem: Problem) -> Finding:
    """No case was ever compared."""
    tally = problem.tally
    if tally.outsized:
        text = f"the values of the sides are too large or too close to be told apart with {MAX_PRECISION} bits"
        return Finding(Verdict.UNDECIDED, Evidence(text))
    if tally.enclosed:
        return Finding(Verdict.UNDECIDED, Evidence("no rational values satisfy the hypotheses, as a limit needs them"))
    if tally.undefined and not tally.barren:
        if _nowhere(problem):
            return Finding(Verdict.VACUOUS, Evidence(f"no case is defined: {tally.why} everywhere"))
        text = f"no case that was tried is defined ({tally.why}), at {_attempts(problem)}"
        return Finding(Verdict.UNDECIDED, Evidence(text, {}, "say for which values the step is meant"))
    if tally.impossible and not tally.barren:
        why = max(set(tally.impossible), key=tally.impossible.count)
        if not problem.tuples.sizes:
            return Finding(Verdict.VACUOUS, Evidence(f"the hypotheses cannot be met: {why}"))
        text = f"the hypotheses were not met at any size that was tried: {why}"
        return Finding(Verdict.UNDECIDED, Evidence(text))
    certificate = _contradiction(problem)
    if certificate:
        return Finding(Verdict.VACUOUS, Evidence(f"the hypotheses cannot be met: {certificate}"))
    advice = "state the hypotheses so that values can be solved for, one symbol at a time"
    return Finding(Verdict.UNDECIDED, Evidence("no case that satisfies the hypotheses was found", {}, advice))


def _nowhere(problem: Problem) -> bool:
    """Whether it is certain that a side is defined at no value.

    A side that is not defined at certain sizes alone says nothing about others: then it is not certain.
    """
    sites = list(_iterate_sites(problem))
    if not problem.tuples.sizes and not problem.tuples.indices and None in sites:
        return True
    sized = bool(problem.tuples.sizes or problem.tuples.indices)
    return bool(sites) and all(
        s and is_never_defined(s.low.graph, s.order, s.plan.collect_facts(), sized) for s in sites
    )


def _attempts(problem: Problem) -> str:
    """What was tried, in words."""
    tuples = f"{len(problem.sites)} tuples of sizes" if problem.tuples.sizes else "one tuple"
    return f"{tuples} and {problem.tally.undefined} cases"


def _iterate_sites(problem: Problem) -> Iterator[Site | None]:
    """The sites of the small tuples and of others up the ladder, as far as these are not too large."""
    high = (env for way in problem.tuples.ladder() for env in islice(way, CERTAIN))
    for env in [*problem.tuples.small(), *high]:
        try:
            yield problem.site(env)
        except TooLarge:
            continue


def _contradiction(problem: Problem) -> str:
    """Why no case exists at any size that was tried, if that can be certified; else ''."""
    found = ""
    for site in _iterate_sites(problem):
        if site is not None:
            found = impossible(site.plan)
            if not found:
                return ""
    return found
