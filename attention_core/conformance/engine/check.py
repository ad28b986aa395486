"""The engine's front door: one function that puts an implementation through the laws of its contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attention_core.conformance.engine.second_judgement import judge_other_form, judge_under_conventions
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import Implementation, OtherForm, TargetError, usual_dead_rows

Progress = Callable[[LawResult], None]


def check_implementation(
    target: Any, effort: str = "standard", seed: int = 0, *, laws: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:  # fmt: skip
    """Put an attention implementation through the laws of its contract.

    Args:
        target: a callable with the meaning of `scaled_dot_product_attention`, or an `Implementation`.
        effort: "quick", "standard" or "thorough": a number of cases, not of seconds.
        seed: the same seed gives the same run.
        laws: names of laws to run; all when empty.
        progress: called with each result.

    Returns:
        A `Report` with `.verdict`, `.laws`, `.counterexamples` and `.to_json()`. The target runs in this process,
        without isolation, and the report says so. A class that has another form than the contract's (of modules, of
        caches) is judged in this form as well: `.under_found` is the report on it.

    Raises:
        TargetError: the target cannot be tested as given.

    Example:
        >>> import torch
        >>> from attention_core.conformance import check_implementation
        >>> check_implementation(torch.softmax, effort="quick").verdict
        'incomplete'
    """
    implementation = target if isinstance(target, Implementation) else Implementation(target)
    if not implementation.name:
        name = getattr(implementation.function, "__qualname__", type(implementation.function).__name__)
        implementation = implementation.with_(name=name)
    try:
        return _judge(implementation, effort, seed, laws, progress)
    except OtherForm as error:
        if laws:
            raise
        report = Report(implementation.name, seed=seed, effort=effort, problem=str(error), failed=True, isolated=False)
        judge_other_form(report, error, lambda changes: _in_form(implementation, changes, effort, seed, progress))
        return report


def _in_form(
    implementation: Implementation, changes: Mapping[str, Any], effort: str, seed: int, progress: Progress | None
) -> Report:
    """The report on a target under another form; what it cannot be called with is the report's error."""
    if implementation.dead_rows == usual_dead_rows(implementation.contract):  # where nobody declared it
        changes = {"dead_rows": "", **changes}
    try:
        return _judge(implementation.with_(**changes), effort, seed, (), progress)
    except TargetError as error:
        return Report(implementation.name, seed=seed, effort=effort, problem=str(error), failed=True, isolated=False)


def _judge(
    implementation: Implementation, effort: str, seed: int, laws: Sequence[str], progress: Progress | None
) -> Report:
    """The report on a target in the form that is declared, and under the conventions found of it."""
    with Session(implementation, effort=effort, seed=seed) as session:
        chosen, found = select_laws(session.laws, laws), dict[str, LawResult]()
        for result in session.results(chosen):
            found[result.law] = result
            if progress is not None:
                progress(result)
        report = session.report([found[law.name] for law in chosen], complete=not laws)
        judge_under_conventions(session, report, [law.name for law in chosen], complete=not laws)
        return report
