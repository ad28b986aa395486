"""The small source: cases drawn by Hypothesis, shared by all laws they fit; what fails, Hypothesis shrinks.

Cases are drawn once and remembered, so that laws which share them also share the calls on them, and targets of one
process that declare and claim the same get the same cases.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers

from attention_core.conformance.cases.small import small_cases as strategy_of
from attention_core.conformance.cases.space import Profile, Space
from attention_core.conformance.contracts import Contract
from attention_core.conformance.search.judging import Found, Tally, allowance, judge
from attention_core.conformance.subjects.evidence import Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.worker.exchange import FLOATS
from attention_core.declaration.implementation import CLAIMS

POOL_STEP = 16
"""Small cases are drawn in multiples of this, so that laws asking for a few more or less share them."""
WIDE = 64
"""Cases of the widest space at effort "quick"."""
_CONSTANTS: Any = LRUCache(1024)
"""Which of Hypothesis's constants each of our draws permits; local ones are not among them."""
_DRAWING = threading.RLock()
"""Held while they are left out: of two threads that overlap, the later one would put ours back for good."""
_POOLS: WeakKeyDictionary[Any, dict[tuple[int, int], list[Any]]] = WeakKeyDictionary()
"""Strategy -> (count, seed) -> cases: a strategy decides the cases, whatever target they are for."""


class _Enough(BaseException):
    """Ends Hypothesis's shrinking when its allowance is spent (our own minimiser goes on)."""


def search_small(
    law: Law, contract: Contract, subject: Any, space: Any, times: int, seed: int, tally: Tally, start: int = 0,
    end: int | None = None, *, shared: bool = True,
) -> Found | None:  # fmt: skip
    """The Hypothesis source: small cases, those from `start` to `end`; `shared`, they are drawn once for all laws."""
    strategy, count = contract.small(subject, space), law.small * times
    if strategy is None or count == 0:
        return None
    # Many cases of the widest space, of which few fit, would be drawn for one law alone.
    cases = (
        small_cases(contract, subject, space, count, times, seed)
        if shared
        else pool(contract, subject, space, count, seed)
    )
    for case in cases[start:end]:
        violation = judge(law, subject, case, tally)
        if violation is not None:
            return Found(case, violation, (count, seed))
    return None


def small_cases(contract: Contract, subject: Any, space: Any, count: int, times: int, seed: int) -> list[Any]:
    """`count` small cases of a space: those of the widest space that fit, and its own where these are too few."""
    fitting: list[Any] = []
    widest = contract.widest(subject, space)
    if widest is not None:
        wide = pool(contract, subject, widest, WIDE * times, seed)
        fitting = [case for case in wide if contract.allows(subject, space, case)][:count]
    if len(fitting) < count:
        fitting += pool(contract, subject, space, count - len(fitting), seed)
    return fitting


def pool(contract: Contract, subject: Any, space: Any, count: int, seed: int) -> list[Any]:
    """`count` small cases of a space, remembered: laws that share them also share the calls on them."""
    pools = subject.__dict__.setdefault("pools", {})
    size = POOL_STEP * -(-count // POOL_STEP)
    name = (space.for_small(), size, seed)
    if name not in pools:
        pools[name] = draw_pool(contract.small(subject, space), size, seed)
    found: list[Any] = pools[name]
    return found[:count]


def draw_pool(strategy: Any, size: int, seed: int) -> list[Any]:
    """`size` cases of a strategy, drawn once as long as the strategy lives."""
    drawn = _POOLS.setdefault(strategy, {})
    if (size, seed) not in drawn:
        cases: list[Any] = []
        run_hypothesis(cases.append, strategy, size, seed, (Phase.generate,))
        drawn[size, seed] = cases
    return drawn[size, seed]


def run_hypothesis(
    trial: Callable[[Any], None], strategy: Any, count: int, seed: int, phases: tuple[Phase, ...]
) -> None:
    """Hypothesis on one strategy, deterministic and without its database."""

    def test(case: Any) -> None:
        trial(case)

    settings: Callable[[Any], Any] = hypothesis.settings(
        max_examples=count, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
        print_blob=False, verbosity=Verbosity.quiet, suppress_health_check=list(HealthCheck), phases=phases,
        backend="hypothesis",
    )  # fmt: skip
    given: Any = hypothesis.given(strategy)
    run = settings(given(test))
    seed_it: Callable[[Any], Callable[[], None]] = hypothesis.seed(seed)
    with storage_in_cache(), without_local_constants():
        seed_it(run)()


@contextlib.contextmanager
def without_local_constants() -> Iterator[None]:
    """Let the seed alone decide what is drawn.

    Hypothesis also draws constants that it finds in the source of loaded modules that are not installed: the cases of a
    seed would depend on the current folder and on what a test run has imported before. It has no setting for this. Its
    table of permitted constants is ours meanwhile, so that neither our draws nor other tests see the other's.
    """
    module: Any = providers
    with _DRAWING:
        before = module._get_local_constants, module.CONSTANTS_CACHE
        module._get_local_constants, module.CONSTANTS_CACHE = module.Constants, _CONSTANTS
        try:
            yield
        finally:
            module._get_local_constants, module.CONSTANTS_CACHE = before


@contextlib.contextmanager
def storage_in_cache() -> Iterator[None]:
    """Let Hypothesis write into the user's cache, not into the current folder; a folder that is set stays."""
    if os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY"):
        yield
        return
    directory: Any = storage_directory(intent_to_write=False)
    before = getattr(directory, "home_directory", directory)  # earlier versions give the path itself
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    set_hypothesis_home_dir(cache / "attention-core" / "hypothesis")
    try:
        yield
    finally:
        set_hypothesis_home_dir(before)


def start_hypothesis() -> None:
    """Let Hypothesis make the random numbers of this thread.

    It looks for an object that holds them and warns where it finds none. It finds none after `gc.freeze`.
    """
    run_hypothesis(lambda case: None, st.none(), 1, 0, (Phase.generate,))


@cache
def warm_up() -> None:
    """What Hypothesis imports and compiles at its first draws, once, when there is time for it."""
    strategy = strategy_of(Space(), Profile(FLOATS, frozenset(CLAIMS), "top_left", "zeros"))
    run_hypothesis(lambda case: None, strategy, 2, 0, (Phase.generate,))


def shrink_small(law: Law, contract: Contract, subject: Any, space: Any, found: Found, calls: int) -> Found:
    """The same draws again, this time judged as they come, so that Hypothesis shrinks the first that fails."""
    if found.draws is None:
        return found
    strategy, (count, seed) = contract.small(subject, space), found.draws
    best, tally = [found], Tally()
    left = [allowance(found.violation, calls)]
    failed = [False]

    def trial(case: Any) -> None:
        if failed[0]:
            left[0] -= 1
        if left[0] < 0:
            raise _Enough
        violation = judge(law, subject, case, tally)
        # shrinking must not slip from one fault to another
        if violation is not None and violation.evidence.kind == found.violation.evidence.kind:
            failed[0] = True
            best.append(Found(case, violation))
            raise violation

    if left[0] > 0:
        with contextlib.suppress(Violation, _Enough, hypothesis.errors.Flaky):
            run_hypothesis(trial, strategy, count, seed, (Phase.generate, Phase.shrink))
    return best[-1]
