"""What a session asks of the subject of any contract, and the base class that holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Protocol

from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation


class SessionSubject(Protocol):
    """A target under test, as a session and its search know it; laws know more of the subject of their contract.

    Args:
        runner, implementation, seed: of the session.
        calls, lost: calls so far, and processes that they cost.
        origin: what a worker loads, "" for an object of this process.
        stand_in: whether the target stands in for what it was built from.
        looks_alone: whether counterexamples are tried in a process that made no other call.
        as_it_is: whether its calls are never compiled, as where a law asks what calls leave behind.
        ratios: (dtype, quantity) -> the largest error over its bound.
        relevant, powers: (law, null model) -> problems that it would get wrong, and that would show it.
        binding: the target's conventions, of the contract `attention`; None of others.
        form: how a module is built and called; None of others.
        unjudged: what the law that runs met in the target and no law judges, "" where it met nothing such.
        written: sizes that are written in the target; those near which a case was judged are `met`.
        unused_parameters: parameters that the contract's base class names and this target has no use for.
        close: ends what the subject has started and removes what it has written; the session's last call.
    """

    runner: Runner
    implementation: Implementation
    seed: int
    calls: int
    lost: int
    origin: str
    stand_in: bool
    looks_alone: bool
    as_it_is: bool
    ratios: dict[tuple[str, str], float]
    relevant: Counter[tuple[str, str]]
    powers: Counter[tuple[str, str]]
    binding: Any
    form: Any
    unjudged: str
    written: tuple[int, ...]
    met: set[int]

    def unused_parameters(self) -> Collection[str]: ...

    def close(self) -> None: ...


class SubjectBase:
    """The part of a subject that all contracts share, as a session begins with it."""

    binding: Any = None
    form: Any = None

    def __init__(self, runner: Runner, implementation: Implementation, seed: int = 0) -> None:
        self.runner, self.implementation, self.seed = runner, implementation, seed
        self.calls = self.lost = 0
        self.origin, self.stand_in, self.looks_alone, self.as_it_is = "", False, False, False
        self.ratios: dict[tuple[str, str], float] = {}
        self.relevant: Counter[tuple[str, str]] = Counter()
        self.powers: Counter[tuple[str, str]] = Counter()
        self.unjudged = ""
        self.written: tuple[int, ...] = ()
        self.met: set[int] = set()

    def unused_parameters(self) -> Collection[str]:
        """Parameters that the contract's own base class names and this target has no use for."""
        return ()

    def close(self) -> None:
        """End the process that counterexamples were tried in, if any."""
        fresh = getattr(self, "fresh", None)
        if fresh is not None:
            fresh.close()
