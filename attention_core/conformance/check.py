"""The engine's front door: one function that puts an implementation through the laws of its contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attention_core.conformance.first_look.second_judgement import judge_under_found
from attention_core.conformance.implementation import Implementation
from attention_core.conformance.report import LawResult, Report
from attention_core.conformance.session import Session, select_laws


def check_implementation(
    target: Any, effort: str = "standard", seed: int = 0, *, laws: Sequence[str] = (),
    progress: Callable[[LawResult], None] | None = None,
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
        without isolation, and the report says so.

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
    with Session(implementation, effort=effort, seed=seed) as session:
        chosen, found = select_laws(session.laws, laws), dict[str, LawResult]()
        for result in session.results(chosen):
            found[result.law] = result
            if progress is not None:
                progress(result)
        report = session.report([found[law.name] for law in chosen], complete=not laws)
        judge_under_found(session, report, [law.name for law in chosen], complete=not laws)
        return report
