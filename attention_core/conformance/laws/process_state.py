"""The law of the process: a call leaves the process that it runs in as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.space import Space
from attention_core.conformance.subjects.core import PLAIN, SIZES
from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import Sizes
from attention_core.conformance.worker.exchange import Request, Response
from attention_core.conformance.worker.process_state import LOADED, expression_of
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.sizes import ATTENTION

FAMILY = "process_state"
SEEDS = (1, 2)
SEEDED_BY_CONTRACT = ("trainer", "training-step", "checkpoint", "peft")
"""Contracts whose targets are given a seed, and may put it into the global generators."""


ONCE = tuple(setting.name for setting in LOADED)
Calls = list[tuple[Request, Response]]


class Watching:
    """A runner whose requests ask for everything that a call may change, seeded anew; keeps what came back."""

    def __init__(self, runner: Runner, seed: int) -> None:
        self.runner, self.seed = runner, seed
        self.calls: Calls = []

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        response = self.runner.run(replace(request, watch=self.seed), meanwhile)
        self.calls.append((request, response))
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)


def a_call_leaves_the_process_as_it_was(subject: Any, case: Any) -> None:
    """A call leaves the process as it was: defaults, modes and threads, folder, environment, generators' seeds.

    Formula: settings before f(x) = settings after f(x); generators seeded with s and s' differ after f(x), too
    Source: pytorch/pytorch, notes on reproducibility: code that seeds a global generator makes all later draws repeat
    Fault: seeds_the_global_generator
    """
    with suppress(Violation):  # what else is wrong with a call is for other laws to say
        ask(subject, case)  # loads what it needs, which may change a variable or a filter once
    seen = [watch_call(subject, case, seed) for seed in SEEDS]
    for calls in seen:
        for request, response in calls:
            for what, before, after in response.changed:
                raise report_change(request, what, before, after)
    for what, (request, before, after) in getattr(subject.runner, "changes", {}).items():
        if what not in ONCE:
            raise report_change(request, what, before, after)  # by any call of any law so far
    if subject.implementation.contract not in SEEDED_BY_CONTRACT:
        require_no_reseeding(*seen)


def require_no_reseeding(first: Calls, second: Calls) -> None:
    """Raise where a generator stands at one place after calls that began with different seeds."""
    for (request, one), (_, other) in zip(first, second, strict=False):
        if request.seed is not None:
            continue  # the suite itself seeds this call
        for name in one.generators.keys() & other.generators.keys():
            if one.generators[name] == other.generators[name]:
                raise Violation(
                    f"the call seeds the global generator of {name}: got one state after it from seeds {SEEDS[0]} and "
                    f"{SEEDS[1]}, but should be two: all that is drawn later repeats itself",
                    Evidence((Shown(request, expression=name),), kind="seeds"),
                )


def watch_call(subject: Any, case: Any, seed: int) -> Calls:
    """The plain call of a case, with everything that it may change looked at."""
    runner = subject.runner
    subject.runner = watching = Watching(runner, seed)
    try:
        with suppress(Violation):
            ask(subject, case)
    finally:
        subject.runner = runner
    return watching.calls


def ask(subject: Any, case: Any) -> None:
    """The plain call of a contract; subjects of other packages' contracts have a method `plain` for it."""
    contract = subject.implementation.contract
    if contract in PLAIN:
        PLAIN[contract](subject, case)
    elif hasattr(subject, "plain"):
        subject.plain(case)
    elif subject.implementation.gradients:
        subject.backward(case, case.cotangent())
    else:
        subject.forward(case, fresh=True)


def report_change(request: Request, what: str, before: str, after: str) -> Violation:
    """The violation for a setting that a call changed."""
    return Violation(
        f"the call changes {what}: got {after} after it, but should be {before}, as before",
        Evidence((Shown(request, expression=expression_of(what)),), kind="process"),
    )


def _one_of(contract: str) -> Callable[[dict[str, int], np.random.Generator], dict[str, int]]:
    def adjust(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
        return dict(SIZES[contract][int(rng.integers(2))])

    return adjust


def _sizes(contract: str) -> Sizes:
    """The sizes of the contract's plain calls, and no smaller ones: what they change, they change at any size."""
    one, other = SIZES[contract]
    dtypes = ("float32",) if contract == "multi-head" else None
    ranges = {name: (min(one[name], other[name]), max(one[name], other[name])) for name in one}

    def is_related(sizes: Mapping[str, int]) -> bool:
        return dict(sizes) in (dict(one), dict(other))

    return Sizes(ranges, adjust=_one_of(contract), related=is_related, dtypes=dtypes)


def law_of(contract: str, space: Any, large: int = 1) -> Law:
    """The law for one contract."""
    return Law(a_call_leaves_the_process_as_it_was, FAMILY, contract, space=space, large=large, small=0)


LAWS = (
    *(law_of(name, Space(max_n=9, small=False), 3) for name in ATTENTION),
    *(law_of(name, _sizes(name)) for name in SIZES),
)
