"""Laws as cases of a test of one's own: `@parametrize_with_laws(target)` above `def test_mine(check): check()`.

The target runs in the process of the tests, as `check_implementation` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Refuted
from attention_core.declaration.implementation import Implementation

if TYPE_CHECKING:
    import pytest

CORE, PARAMETERS = "core", "parameters"
"""The cases beside the laws: whether the target can be judged at all, and whether all was judged at the end."""


def parametrize_with_laws(
    *targets: Any, effort: str = "quick", seed: int = 0, laws: Sequence[str] = ()
) -> pytest.MarkDecorator:
    """Give a test one case for each law of each target; its argument `check` is called without arguments.

    A law that is refuted raises `Refuted` with the smallest case as a program; one that does not apply, or whose every
    case the target declines, is skipped; a known failure is an expected failure. The case `core` fails where the
    target cannot be judged, and `parameters`, the last, where something was left untested.

    Args:
        targets: callables with the meaning of `scaled_dot_product_attention`, or `Implementation` records.
        effort: "quick", "standard" or "thorough".
        seed: the same seed gives the same cases.
        laws: names of laws; all when empty. With names there is no case `parameters`, as only all laws give a verdict.

    Returns:
        A mark of pytest.

    Raises:
        TargetError: a target names an unknown contract, or its contract has no such law.

    >>> import torch.nn.functional as F
    >>> mark = parametrize_with_laws(F.scaled_dot_product_attention, laws=["agrees_with_truth"])
    >>> mark.kwargs["ids"]
    ['scaled_dot_product_attention-core', 'scaled_dot_product_attention-agrees_with_truth']
    """
    import pytest

    judges = _with_names_apart([_Judge.of(target, effort, seed) for target in targets])
    checks = [check for judge in judges for check in _checks(judge, laws)]
    return pytest.mark.parametrize("check", checks, ids=[str(check) for check in checks])


class _Judge:
    """One target, whose session is opened when the first of its laws runs."""

    def __init__(self, implementation: Implementation, effort: str, seed: int) -> None:
        self.implementation, self.effort, self.seed = implementation, effort, seed
        self.results: dict[str, LawResult] = {}

    @classmethod
    def of(cls, target: Any, effort: str, seed: int) -> _Judge:
        """The judge of a callable or of a record."""
        record = target if isinstance(target, Implementation) else Implementation(target)
        if not record.name:
            record = record.with_(name=getattr(record.function, "__qualname__", type(record.function).__name__))
        return cls(record, effort, seed)

    @cached_property
    def session(self) -> Session:
        """The session of the target, opened once in this process."""
        return Session(self.implementation, effort=self.effort, seed=self.seed)


@dataclass(frozen=True)
class LawCheck:
    """One case: what `check` is in a test under `parametrize_with_laws`.

    Args:
        judge: of the target.
        name: of the law, or `core` or `parameters`.
    """

    judge: _Judge
    name: str

    def __str__(self) -> str:
        return f"{self.judge.implementation.name}-{self.name}"

    __repr__ = __str__

    def __call__(self) -> None:
        """Judge the law.

        Raises:
            Refuted: it is refuted, or the target cannot be judged.
            pytest.skip.Exception: it does not apply. pytest.xfail.Exception: a known failure.
        """
        __tracebackhide__ = True  # pytest shows the smallest case, not these lines
        session = self.judge.session
        problem = session.core()
        if self.name == CORE:
            if session.broken or problem:
                raise Refuted(f"{self.judge.implementation.name}: {session.broken or f'incomplete: {problem}'}")
            return
        if self.name == PARAMETERS:
            return self._check_parameters(session)
        if session.broken:
            _skip(f"not run: {session.broken}")
        (law,) = select_laws(session.laws, (self.name,))
        result = self.judge.results[self.name] = session.run(law)
        kind, words = outcome_of(result)
        if kind == "failed":
            raise Refuted(f"{self}: {words}")
        if kind == "skipped":
            _skip(words)
        if kind == "expected failure":
            import pytest

            pytest.xfail(words)
        return None

    def _check_parameters(self, session: Session) -> None:
        results = list(self.judge.results.values())
        refuted = any(result.status == "refuted" for result in results)
        if len(results) < len(session.laws) or refuted or session.broken or session.core():
            _skip("only where all laws ran in this process, and nothing else keeps the target from conforming")
        report = session.report(results)
        if report.untested or report.problem:
            raise Refuted(f"{self.judge.implementation.name}: incomplete: {'; '.join(report.missing())}")


def _with_names_apart(judges: Sequence[_Judge]) -> Sequence[_Judge]:
    """The judges; where two targets have one name, as functions of two modules may, the module stands before it."""
    names = [judge.implementation.name for judge in judges]
    for judge, name in zip(judges, names, strict=True):
        module = getattr(judge.implementation.function, "__module__", None)
        if names.count(name) > 1 and module:
            judge.implementation = judge.implementation.with_(name=f"{module}.{name}")
    return judges


def _checks(judge: _Judge, names: Sequence[str]) -> list[LawCheck]:
    from attention_core.conformance.contracts import find_contract

    laws = select_laws(find_contract(judge.implementation.contract).laws, names)
    last = [] if names else [PARAMETERS]
    return [LawCheck(judge, name) for name in (CORE, *(law.name for law in laws), *last)]


def _skip(words: str) -> None:
    import pytest

    pytest.skip(words)


def outcome_of(result: LawResult) -> tuple[str, str]:
    """Return what a test of one law comes to: passed, failed, skipped or expected failure, and why.

    >>> outcome_of(LawResult("stays_finite", "not_applicable", 0, 0.0, message="no floats"))
    ('skipped', 'not applicable: no floats')
    """
    found = result.counterexample
    if result.status == "refuted" and found is not None:
        case = f"{'smallest ' if found.shrunk else ''}case: {found.case}\n" if found.case else ""
        return "failed", f"{result.message}\n{case}\n{found.snippet}"
    if result.status == "known_failure":
        return "expected failure", result.message
    if result.status in ("refuted", "unexpected_pass", "error"):
        return "failed", result.message
    if result.status in ("refused", "not_applicable"):
        return "skipped", f"{result.status.replace('_', ' ')}: {result.message}"
    if not result.minimum_met:
        return "failed", f"incomplete: too few cases could be judged ({result.cases}); {result.message}"
    return "passed", ""
