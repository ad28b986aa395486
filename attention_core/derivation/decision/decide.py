"""The decision about one relation.

One relation under its hypotheses: tried at small and larger sizes, refuted with a shrunk case, or found to agree.
Each stage may only lower what is claimed; a verdict is never raised by a stage that merely sampled. From agreement to
EXACT or PROVED only complete arguments lead: normal forms at every small tuple of sizes, rewriting for all sizes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.decision.agreement import summarize_agreement
from attention_core.derivation.decision.finite_range import count_decided_values
from attention_core.derivation.decision.infinite_sides import compare_infinite
from attention_core.derivation.effort import LATE
from attention_core.derivation.graph.nodes import TooLarge, Unsettled
from attention_core.derivation.lowering.integral_forms import Infinite
from attention_core.derivation.lowering.spaces import constants, whole_marks
from attention_core.derivation.probability.linear_averages import holds_for_any_law
from attention_core.derivation.probability.moments import DependenceUnsaid
from attention_core.derivation.proofs.all_sizes import RULE, identical, is_ordered_everywhere, is_proved_everywhere
from attention_core.derivation.proofs.all_sizes import SIGN_RULE as SIGNS
from attention_core.derivation.proofs.contradiction import no_sizes
from attention_core.derivation.proofs.modular import at_large_size
from attention_core.derivation.proofs.size_degree import enough_sizes
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.search.larger_sizes import search_larger_sizes
from attention_core.derivation.search.solved_points import search_solved_points
from attention_core.derivation.search.tied_sizes import explain_missing_span, search_tied_sizes, ties_sizes
from attention_core.derivation.search.trials import search_cases, sharpen
from attention_core.derivation.terms.relevance import relation_names

if TYPE_CHECKING:
    from attention_core.derivation.terms.terms import Relation

SHARE = 0.19  # of a step's time
MOST_TUPLES = 90
MOST_SIZES = 12
SMALLER = "split the step into smaller ones, or write it with smaller numbers and sizes"
SUMS = frozenset({"reduce", "norm", "matmul"})  # operations that sum over a dimension


def prove(problem: Problem, found: Finding) -> Finding:
    """The finding, raised where a proof stage closes the claim."""
    if found.verdict is not Verdict.AGREES:
        return found
    figures = found.evidence.figures
    apart = "margin" in figures or not figures.get("bits")  # intervals that overlap show no order
    if _compares_numbers(problem) and apart:
        text = f"both sides are numbers, and intervals around them lie in this order; {found.evidence.text}"
        return replace(found, verdict=Verdict.EXACT, evidence=Evidence(text, figures))
    if is_proved_everywhere(problem) or is_ordered_everywhere(problem):
        same = is_proved_everywhere(problem)
        rule = RULE if same else SIGNS
        why = "written out entry by entry, they are the same" if same else "written out, their difference has one sign"
        text = f"holds for all sizes and values where both sides are defined: {why}; {found.evidence.text}"
        return replace(found, verdict=Verdict.PROVED, evidence=Evidence(text, {**found.evidence.figures, "rule": rule}))
    if count := count_decided_values(problem):
        text = f"decided at all {count} values that the sizes and indices may have; {found.evidence.text}"
        return replace(found, verdict=Verdict.EXACT, evidence=Evidence(text, {**figures, "values": count}))
    if problem.claim.op not in ("=", "<=", ">="):
        return found
    sizes, needed = problem.tuples.sizes, _count_sizes_for_exact(problem)
    if needed is None:  # what holds at some sizes says nothing about others
        return with_large_sizes(problem, found)
    proved = _count_exact_sizes(problem, max(3, needed))
    if not proved or (sizes and proved < max(2, needed)):
        return with_large_sizes(problem, found)
    figures = dict(found.evidence.figures)
    if not sizes and not problem.tuples.indices:
        figures["rule"] = "exact expansion"
        why = "holds for all values where both sides are defined: multiplied out, they are the same"
        text = f"{why}; {found.evidence.text}"
        return replace(found, verdict=Verdict.PROVED, evidence=Evidence(text, figures))
    figures["sizes"] = proved
    what = "reduces to 0" if problem.claim.op == "=" else "is seen not to change sign"
    text = f"with symbolic entries the difference {what}{_where(problem, proved)}; {found.evidence.text}"
    return with_large_sizes(problem, replace(found, verdict=Verdict.EXACT, evidence=Evidence(text, figures)))


def _count_exact_sizes(problem: Problem, most: int) -> int:
    """Up to how many values of each size, `most` at most, the claim is exact."""
    deadline = min(time.process_time() + SHARE * problem.effort.seconds, problem.deadline)
    proved = 0
    for k in range(1, most + 1) if problem.tuples.sizes else (1,):
        envs = problem.tuples.first_few(k, MOST_TUPLES)
        outcomes = [_exact_at(problem, env, deadline) for env in envs or []]
        if envs is None or False in outcomes:
            break
        proved = k if True in outcomes else proved
    return proved


def _count_sizes_for_exact(problem: Problem) -> int | None:
    """How many values of each size make EXACT; None where what holds at some sizes says nothing about others.

    An equation is settled by its degree in the sizes as numbers; an inequality may fail at the next size, so that one
    without sizes alone is EXACT here (one with sizes may be PROVED by its signs).
    """
    claim, context = problem.claim, problem.context
    if not problem.tuples.sizes:
        return 1
    own = [h for h in problem.hypotheses if not problem.tuples.whole(h)]
    if claim.op != "=":
        names = relation_names(context, claim).union(*(relation_names(context, h) for h in own))
        return None if any(context.symbols[n].kind == "size" for n in names) else 1
    equations = [h for h in own if h.op == "="]
    tied = [relation_names(context, h) for h in equations if _has_size_as_number(problem, h)]
    needed = enough_sizes(context, claim, bool(equations), frozenset().union(*tied))
    if any(_ties_entries(h) for h in equations) or any(ties_sizes(h) for h in problem.tuples.conditions):
        return None
    return needed if needed is not None and needed <= MOST_SIZES else None


def _has_size_as_number(problem: Problem, hypothesis: Relation) -> bool:
    """Whether a size stands in an equation as a number, as in a = n."""
    known = problem.context.symbols
    parts = [part for side in (hypothesis.left, hypothesis.right) for part in side.walk()]
    sizes = [name for part in parts if part.op == "size" for name in part.data.symbols()]
    return bool(sizes) or any(
        part.op == "int" and part.data in known and known[part.data].kind == "size" for part in parts
    )


def _ties_entries(hypothesis: Relation) -> bool:
    """Whether an equation with a sum ties the entries of arrays: small sizes then say nothing about larger ones.

    Under sum p_i = 1 and sum p_i^2 = 1 two entries are 0 and 1, and p_i^2 = p_i; three can be 2/3, 2/3, -1/3. Under
    sum x_i = sum x_i^3 = 0 four entries cancel in pairs, and five need not. Skew matrices with A 1 = 0 commute up to
    3 rows.
    """
    found = {t.op for side in (hypothesis.left, hypothesis.right) for t in side.walk()}
    return bool(found & set(SUMS)) and (hypothesis.left.type.scalar or "ones" in found)


def _where(problem: Problem, count: int) -> str:
    """The sizes that were settled, in words."""
    lowest = {n: problem.tuples.lowest(n) for n in problem.tuples.sizes}
    if all(low == 1 for low in lowest.values()):
        return f" at all sizes up to {count}"
    message = ", ".join(f"{n} = {low}, ..., {low + count - 1}" for n, low in lowest.items())
    return f" at all allowed sizes among {message}"


def with_large_sizes(problem: Problem, found: Finding) -> Finding:
    """The finding, with what a larger size says modulo a prime; a difference there is shown at a point."""
    large = at_large_size(problem) if problem.tuples.sizes else None
    if large is None or (not large.differs and large.missed == 0):  # without an entry to draw, chance shows nothing
        return found
    where = ", ".join(f"{n} = {v}" for n, v in large.sizes.items())
    if large.differs:
        text = f"modulo 2^61 - 1 the two sides differ at {where}, but no point that shows it was found"
        undecided = replace(found, verdict=Verdict.UNDECIDED, evidence=Evidence(text))
        return search_cases(problem, large.site, 20) or undecided
    text = f"{found.evidence.text}; modulo 2^61 - 1 both sides agree at {where}, where a difference is missed"
    text += f" with probability {large.missed:.1g} at most"
    figures = {**found.evidence.figures, "modular": {"sizes": large.sizes, "missed": large.missed}}
    return replace(found, evidence=Evidence(text, figures))


def _exact_at(problem: Problem, env: dict[str, int], deadline: float) -> bool | None:
    """Whether the claim is exact at these sizes; None where they admit no case."""
    if time.process_time() > deadline:
        return False
    try:
        site = problem.site(env)
        return None if site is None else identical(site, deadline, problem.claim.op)
    except TooLarge:
        return False


_SYMBOLS = frozenset({"leaf", "member", "size", "index", "expect"})


def _compares_numbers(problem: Problem) -> bool:
    """Whether an inequality has no symbol at all: its one case is all there is, and its intervals are rigorous."""
    claim = problem.claim
    tuples = problem.tuples
    if claim.op not in ("<", "<=", ">", ">=") or problem.moves or tuples.sizes or tuples.indices or problem.hypotheses:
        return False
    return not any(part.op in _SYMBOLS for side in (claim.left, claim.right) for part in side.walk())


Env = dict[str, int]
NAMED = 40  # tuples of each way up that are looked at there, and of all of them
SEEN = 6  # tuples high up that are enough where the small ones are not defined


def decide(problem: Problem) -> Finding:
    """The verdict on a problem with its evidence."""
    try:
        finding = search(problem)
        if finding is None and problem.effort.ladder and not _is_proved(problem, ordered=True):
            finding = search_likely_failures(problem)
        if finding is None and not _is_proved(problem, ordered=False):
            finding = sharpen(problem) or search_solved_points(problem)
        if finding is not None:
            return finding
        agreement = summarize_agreement(problem)
        found = prove(problem, agreement) if problem.effort.proofs else agreement
        few = found.verdict is Verdict.AGREES and problem.tally.too_large and not _has_sizes(problem)
        if few and problem.claim.op == "=":  # powers of 0 and 1, which can be computed, are not a sample of the values
            return Finding(Verdict.UNDECIDED, Evidence(f"{found.evidence.text}: {SMALLER}", found.evidence.figures))
        if found.verdict is Verdict.AGREES and (why := explain_missing_span(problem)):
            advice = "state the equation that is meant, or say for which sizes the step is meant"
            return Finding(Verdict.UNDECIDED, Evidence(why, {}, advice))
        return _note_divergence(problem, found)
    except Infinite as error:
        return compare_infinite(problem) or Finding(Verdict.UNDECIDED, Evidence(str(error)))
    except DependenceUnsaid as error:
        if not holds_for_any_law(problem.claim):
            return Finding(Verdict.UNDECIDED, Evidence(str(error)))
        text = (
            "holds for any joint law under which its averages exist: averages are linear, and both sides are the same"
        )
        return Finding(Verdict.PROVED, Evidence(text, {"rule": "linear averages"}))
    except Unsettled as error:
        return Finding(Verdict.UNDECIDED, Evidence(str(error)))
    except TooLarge as error:
        return Finding(Verdict.UNDECIDED, Evidence(f"too large to decide ({error}): {SMALLER}"))


def _has_sizes(problem: Problem) -> bool:
    return bool(problem.tuples.sizes or problem.tuples.indices)


def _note_divergence(problem: Problem, found: Finding) -> Finding:
    """The finding, with a word on the cases that an integral or an endless sum leaves out; none if it has a value."""
    kinds = {part.op for side in (problem.claim.left, problem.claim.right) for part in side.walk()}
    if not problem.tally.undefined or not kinds & {"integral", "series"}:
        return found
    article, name = ("an", "integral") if "integral" in kinds else ("a", "sum")
    if problem.tally.lost and found.verdict in GOOD:
        text = f"at values where {article} {name} has no closed form it has a value, and nothing was compared there"
        advice = "assume what leaves these values out, such as $b \\ne 0$ for $e^{b x}$"
        return Finding(Verdict.UNDECIDED, Evidence(text, {}, advice))
    if problem.tally.divergent and found.verdict in GOOD:
        where = describe(min(problem.tally.divergent, key=lambda one: sum(map(abs, one.values()))))
        text = f"it holds where the {name} converges ({found.evidence.text}), and at {where} it diverges"
        return Finding(Verdict.AMBIGUOUS, Evidence(text, found.evidence.figures, _name_convergence(problem)))
    if not problem.tally.divergent:
        return found  # what is not defined at these cases is not an integral: sin(a) / a at a = 0
    text = f"{found.evidence.text}; where {article} {name} diverges the step says nothing: say which values are meant"
    return replace(found, evidence=replace(found.evidence, text=text))


def _name_convergence(problem: Problem) -> str:
    """The sign of a number that tells the cases where an integral converges from the others, as what to assume."""
    inside, outside = problem.tally.convergent, problem.tally.divergent
    for name in outside[0]:
        for sign, factor in ((">", 1), ("<", -1)):
            apart = all(factor * one.get(name, 0) > 0 for one in inside) and all(
                factor * one.get(name, 1) <= 0 for one in outside
            )
            if apart:
                return f"assume ${name} {sign} 0$, under which it converges at all values that were tried"
    return "assume what makes it converge"


def _is_proved(problem: Problem, ordered: bool) -> bool:
    """Whether cases exist and the claim is proved for all sizes, so that no further search is needed."""
    if not problem.tally.cases:
        return False
    return is_proved_everywhere(problem) or (ordered and is_ordered_everywhere(problem))


def search_likely_failures(problem: Problem) -> Finding | None:
    """Cases made where the claim could fail: at its own numbers, at plain arrays, at large sizes."""
    from attention_core.derivation.search.far import far
    from attention_core.derivation.search.huge_search import huge
    from attention_core.derivation.search.irrational_points import search_sign_changes, search_touching
    from attention_core.derivation.search.larger_sizes import large_frames, search_averages
    from attention_core.derivation.search.size_sweep import integer_points, size_sweep
    from attention_core.derivation.search.targeted import search_targeted

    finding = (
        search_tied_sizes(problem)
        or search_targeted(problem)
        or search_sign_changes(problem)
        or far(problem)
        or search_averages(problem)
    )
    if finding is None:
        finding = search_larger_sizes(problem)
        problem.tally.far = finding is not None
    if finding is None:
        finding = large_frames(problem)
        problem.tally.far = problem.tally.far or finding is not None
    if finding is None:
        finding = size_sweep(problem) or integer_points(problem) or huge(problem) or search_touching(problem)
    return finding


def search(problem: Problem) -> Finding | None:
    """Look for a counterexample at small sizes first, then at larger ones."""
    tuples, effort, tally = problem.tuples, problem.effort, problem.tally
    small, large = tuples.small(), tuples.large(effort.seed, effort.tuples)
    if not small and not large and not tuples.further():
        return _without_sizes(problem)
    waiting = max(1, len(small) + len(large))  # tuples that share the altered cases that are left
    each = max(3, min(effort.small, effort.total // waiting))
    for count, envs, high in _rounds(problem, [(each, small), (effort.large, large)]):
        for env in envs:
            if high and len(tally.tuples) >= SEEN:
                break
            if time.process_time() > problem.deadline:
                return Finding(Verdict.UNDECIDED, Evidence(LATE))
            share = max(effort.climb, (effort.altered - tally.altered) // waiting)
            waiting = max(1, waiting - 1)
            try:
                if finding := _search_at(problem, env, count, share):
                    return finding
            except TooLarge as error:
                if high:
                    break
                if not tally.cases:
                    raise
                tally.notes.append(f"{_name_left_out(tally.tuples)} were too large: {error}")
                tally.too_large = True
                break
    return None


def _name_left_out(tried: list[Env]) -> str:
    """What was not tried after these sizes, in words; a step without sizes has only values."""
    return f"sizes beyond {describe(tried[-1])}" if tried and tried[-1] else "other values"


def _rounds(problem: Problem, near: list[tuple[int, list[Env]]]) -> Iterator[tuple[int, list[Env], bool]]:
    """How many cases at which tuples; further up where the small ones admit no case."""
    for count, envs in near:
        yield count, envs, False
    further: tuple[Callable[[], list[Env]], ...] = (problem.tuples.further, lambda: named_tuples(problem))
    for make in further:
        tally = problem.tally
        if not tally.cases and (tally.undefined or not tally.seen):
            yield problem.effort.small, make(), True


def _search_at(problem: Problem, env: Env, count: int, share: int) -> Finding | None:
    """Cases at one tuple of sizes."""
    site = problem.site(env)
    if site is None:
        return None
    problem.tally.seen = True
    return search_cases(problem, site, count, share)


def _without_sizes(problem: Problem) -> Finding:
    """The verdict where no tuple of sizes was found."""
    if no_sizes(problem.tuples):
        return Finding(Verdict.VACUOUS, Evidence("no sizes and indices satisfy the conditions among them"))
    text = "no sizes and indices that satisfy the conditions among them were found"
    return Finding(Verdict.UNDECIDED, Evidence(text))


def named_tuples(problem: Problem) -> list[Env]:
    """Tuples around the numbers that the claim and its hypotheses name, and up the ladder."""
    problem.tuples.marks = whole_marks(constants(problem.context, [problem.claim, *problem.hypotheses]))
    envs = [env for way in problem.tuples.ladder() for env in islice(way, NAMED)]
    marks = set(problem.tuples.marks)
    return sorted(envs, key=lambda env: not marks & set(env.values()))[:NAMED]
