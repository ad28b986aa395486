"""The decision about one relation.

One relation under its hypotheses: tried at small and larger sizes, refuted with a shrunk case, or found to agree.
Each stage may only lower what is claimed; a verdict is never raised by a stage that merely sampled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.decision.agreement import summarize_agreement
from attention_core.derivation.decision.prove import prove
from attention_core.derivation.effort import LATE
from attention_core.derivation.graph.nodes import TooLarge, Unsettled
from attention_core.derivation.lowering.size_ties import constants, whole_marks
from attention_core.derivation.proofs.shortcuts import is_ordered_everywhere, is_proved_everywhere
from attention_core.derivation.proofs.size_conditions import no_sizes
from attention_core.derivation.records import Evidence, Finding, Verdict
from attention_core.derivation.search.larger_sizes import search_larger_sizes
from attention_core.derivation.search.sharpen import sharpen
from attention_core.derivation.search.trials import search_cases

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
            finding = sharpen(problem)
        if finding is not None:
            return finding
        agreement = summarize_agreement(problem)
        return prove(problem, agreement) if problem.effort.proofs else agreement
    except Unsettled as error:
        return Finding(Verdict.UNDECIDED, Evidence(str(error)))
    except TooLarge as error:
        return Finding(Verdict.UNDECIDED, Evidence(f"too large to decide: {error}"))


def _is_proved(problem: Problem, ordered: bool) -> bool:
    """Whether cases exist and the claim is proved for all sizes, so that no further search is needed."""
    if not problem.tally.cases:
        return False
    return is_proved_everywhere(problem) or (ordered and is_ordered_everywhere(problem))


def search_likely_failures(problem: Problem) -> Finding | None:
    """Cases made where the claim could fail: at its own numbers, at plain arrays, at large sizes."""
    from attention_core.derivation.search.far import far
    from attention_core.derivation.search.huge_search import huge
    from attention_core.derivation.search.integer_points import integer_points
    from attention_core.derivation.search.large_frames import large_frames
    from attention_core.derivation.search.size_sweep import size_sweep
    from attention_core.derivation.search.targeted import search_targeted

    finding = search_targeted(problem) or far(problem)
    if finding is None:
        finding = search_larger_sizes(problem)
        problem.tally.far = finding is not None
    if finding is None:
        finding = large_frames(problem)
        problem.tally.far = problem.tally.far or finding is not None
    if finding is None:
        finding = size_sweep(problem) or integer_points(problem) or huge(problem)
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
                last = tally.tuples[-1] if tally.tuples else {}
                tally.notes.append(f"sizes beyond {last} were too large: {error}")
                break
    return None


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
