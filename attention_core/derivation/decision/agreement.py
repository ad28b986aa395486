"""Verdicts for relations without a counterexample.

The cases agree, or there was none. A relation is VACUOUS only where it is certified that no case exists.

An entry that does not exist, such as a_{12} of an array with one column, leaves a side without a value. A few such
sizes are usual (the largest of no number, x_2 at n = 1) and are left out. If the sides are defined only where the sizes
satisfy one more equation (m = n under swapped bounds), the cases that were compared say nothing about the claim. The
same holds of values: the root of -x^2 is defined at x = 0 alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.cases.problem import Site
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import MAX_PRECISION, exact
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import plan
from attention_core.derivation.proofs.contradiction import impossible, is_never_defined
from attention_core.derivation.records import Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site


Env = dict[str, int]
Row = Mapping[str, int | Fraction]
NEIGHBOURS = 4  # tuples where the sides are defined whose neighbours are tried
SHARE = 0.25  # of a step's time, for sizes where the sides are defined
DRAWN = 60  # cases that are drawn again where most have a side without a value
ENTRIES = 6  # numbers of a case at most, for these
SITES = 3

NO_CASE = "no case that satisfies the hypotheses was found"


def explain_unstated_equation(problem: Problem) -> str:
    """Say which equation among the sizes both sides need that no hypothesis states.

    Args:
        problem: the problem, after its cases were compared.

    Returns:
        Where the sides are defined, with a tuple of sizes where they are not; '' if they are defined at sizes that
        satisfy no further equation.
    """
    defined: list[Env] = [dict(place) for place, site in problem.sites.items() if site is not None]
    missing = [dict(place) for place, site in problem.sites.items() if site is None]
    undefined = [(env, why) for env in missing if (why := _explain_gap(problem, env))]
    if not defined or not undefined:
        return ""
    directions = _directions([*defined, *(env for env, _ in undefined)])
    deadline = time.process_time() + SHARE * problem.effort.seconds
    neighbours = _iterate_neighbours(problem, defined)
    while len(_directions(defined)) < len(directions):
        env = next(neighbours, None) if time.process_time() < deadline else None
        if env is None:
            where, why = min(undefined, key=lambda one: sum(one[0].values()))
            shown = ", ".join(f"{name} = {value}" for name, value in where.items())
            return f"the two sides are defined only {_equation(defined)}: at {shown} {why}"
        if _is_defined(problem, env):
            defined.append(env)
    return ""


def _explain_gap(problem: Problem, env: Env) -> str:
    """Why a side has no value at sizes that the hypotheses admit; '' where they do not admit them."""
    low = Lowering(problem.context, env)
    low.hypotheses, low.means = problem.hypotheses, problem.means
    try:
        plan(problem.context, low, problem.symbols, problem.hypotheses)
    except Infeasible:
        return ""
    except (Undefined, TooLarge) as error:
        return str(error) if isinstance(error, Undefined) else ""
    try:
        low.lower(problem.claim.left), low.lower(problem.claim.right)
    except Undefined as error:
        return str(error)
    except (Infeasible, TooLarge):
        return ""
    return ""


def _is_defined(problem: Problem, env: Env) -> bool:
    try:
        return problem.site(env) is not None
    except TooLarge:
        return False


def _iterate_neighbours(problem: Problem, defined: list[Env]) -> Iterator[Env]:
    """Admitted tuples that differ by 1 or 2 in one size or index from tuples where the sides are defined."""
    for env in sorted(defined, key=lambda one: sum(one.values()))[-NEIGHBOURS:]:
        for name in env:
            for shift in (1, -1, 2, -2):
                near = {**env, name: env[name] + shift}
                if near[name] >= 1 and _is_admitted(problem, near):
                    yield near


def _is_admitted(problem: Problem, env: Env) -> bool:
    """Whether the conditions among sizes hold and every index is in its range."""
    sizes = {name: env[name] for name in problem.tuples.sizes}
    low = Lowering(problem.context, sizes)
    for name in problem.tuples.indices:
        symbol = problem.context.symbols[name]
        assert symbol.lowest is not None and symbol.highest is not None
        if not symbol.lowest.value(low.top) <= env[name] <= symbol.highest.value(low.top):
            return False
    return problem.tuples.feasible(env)


def has_unstated_equation(problem: Problem) -> bool:
    """Whether the cases where both sides have a value satisfy an equation that the other cases do not.

    Computed only where most cases have a side without a value; linear equations at small sizes are found.
    """
    tally = problem.tally
    if problem.moves or tally.undefined <= tally.cases:
        return False
    sites = [s for s in problem.sites.values() if s is not None and 0 < len(s.plan.entries) <= ENTRIES][:SITES]
    return bool(sites) and all(_is_thin(problem, site) for site in sites)


def _is_thin(problem: Problem, site: Site) -> bool:
    defined: list[Row] = []
    undefined: list[Row] = []
    for number in range(DRAWN):
        _, case = problem.case(site.plan, problem.effort.seed * 1_000_003 + number)
        if case is None or not all(exact(case[node]) for node in site.plan.entries):
            continue
        row = {str(node): Fraction(int(case[node].p), int(case[node].q)) for node in site.plan.entries}
        try:
            compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
        except Undefined:
            undefined.append(row)
        else:
            defined.append(row)
    if not defined or not undefined:
        return False
    known = len(_directions(defined))
    return len(defined) > known + 2 and known < len(_directions([*defined, *undefined]))


def _directions(envs: Sequence[Row]) -> list[list[Fraction]]:
    """A basis of the differences between tuples, by elimination."""
    basis: list[list[Fraction]] = []
    for env in envs[1:]:
        row = [Fraction(env[name] - first) for name, first in envs[0].items()]
        for known in basis:
            place = next(k for k, value in enumerate(known) if value)
            row = [a - row[place] / known[place] * b for a, b in zip(row, known, strict=True)]
        if any(row):
            basis.append(row)
    return basis


def _equation(defined: list[Env]) -> str:
    """The equation that the tuples satisfy, in words, if it is a simple one."""
    names = list(defined[0])
    for name in names:
        if len({env[name] for env in defined}) == 1:
            return f"at {name} = {defined[0][name]}"
    for one, other in combinations(names, 2):
        gaps = {env[one] - env[other] for env in defined}
        if len(gaps) == 1:
            gap = gaps.pop()
            end = f" {'+' if gap > 0 else '-'} {abs(gap)}" if gap else ""
            return f"where {one} = {other}{end}"
    return "where the sizes satisfy a further equation"


__all__ = ["explain_unstated_equation", "has_unstated_equation"]


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
    if sizes := find_open_sizes(problem):
        text = f"it is false at {describe(sizes)}, and whether values there satisfy the hypotheses is not known"
        return Finding(Verdict.UNDECIDED, Evidence(text))
    figures: dict[str, Any] = {"cases": tally.cases, "bits": tally.bits, "tuples": len(tally.tuples)}
    agree = "agrees" if tally.cases == 1 else "agree"
    text = f"{_count(tally.cases, 'case')}{_sizes_tried(problem)} {agree}"
    if tally.bits:
        text += f", with {tally.bits} bits at most"
    text += _largest_sizes(problem, figures)
    if tally.margin is not None:
        figures["margin"] = tally.margin
        text += f"; smallest margin {tally.margin:.3g}"
    if problem.moves and problem.claim.right.op != "infinity":
        text += _rate(problem, figures)
    text += _note_limits(problem, figures)
    for note in tally.notes:
        text += f"; {note}"
    return Finding(Verdict.AGREES, Evidence(text, figures))


def _sizes_tried(problem: Problem) -> str:
    """At how many tuples of sizes, in words; a step without sizes has none."""
    return f" at {_count(len(problem.tally.tuples), 'tuple')} of sizes" if problem.tuples.sizes else ""


def _count(number: int, noun: str) -> str:
    """A number of things: 1 case, 2 cases."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _note_limits(problem: Problem, figures: dict[str, Any]) -> str:
    """Cases that were left out, and how far the search went beyond the others."""
    tally, text = problem.tally, ""
    notes: dict[str, tuple[int | dict[str, Any], str]] = {
        "left_out": (tally.enclosed, "{} cases with values that are not rational were left out"),
        "outsized": (
            tally.outsized, f"{{}} cases with large values, not told apart with {MAX_PRECISION} bits, were left out"
        ),
        "undefined": (tally.undefined, "{} cases where a side is not defined were left out"),
        "reached": (tally.reached, "some cases at larger sizes agree as well, up to {}"),
        "swept": (tally.swept, "so do all sizes, in floating point, up to {}"),
        "further": (tally.further, "so do plain arrays and numbers at {}"),
    }  # fmt: skip
    for name, (value, words) in notes.items():
        if value:
            figures[name] = value
            text += "; " + words.format(describe(value) if isinstance(value, dict) else value)
    return text


def find_open_sizes(problem: Problem) -> Env:
    """Sizes at which a claim about sizes alone is false, but no case was built and none is ruled out.

    Args:
        problem: The problem, after its cases were compared.
    """
    for place, site in problem.sites.items():
        env = dict(place)
        if site is None or env in problem.tally.tuples or any(site.low.graph.ops[n] == "leaf" for n in site.order):
            continue
        try:
            outcome = compare(site.low.graph, site.pairs, problem.claim.op, {}, site.order)
        except Undefined:
            continue
        if outcome.holds is False:
            return env
    return {}


def _largest_sizes(problem: Problem, figures: dict[str, Any]) -> str:
    """How large the sizes of the cases were."""
    tuples = problem.tally.tuples
    largest = {n: max(env[n] for env in tuples) for n in problem.tuples.sizes if n in problem.close and tuples}
    if not largest:
        return ""
    figures["largest"] = largest
    return f", up to {describe(largest)}"


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
    return Finding(Verdict.UNDECIDED, Evidence(NO_CASE, {}, advice))


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
