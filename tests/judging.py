"""How tests put one law to a function: `held(law, f)` and `refuted(law, f)`, both raising with the law's message."""

from __future__ import annotations

from typing import Any

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.search.judging import SHRINK_CALLS
from attention_core.conformance.search.search import run_law


def judged(
    law: str, function: Any, effort: str = "quick", seed: int = 0, *, shrink: bool = False, **record: Any
) -> LawResult:
    """The result of one law; `record` sets fields of the `Implementation`.

    Whether a law refutes does not depend on how small its counterexample gets, and most of the time would go there.
    """
    with Session(Implementation(function, name="under test", **record), effort=effort, seed=seed) as session:
        (chosen,) = select_laws(session.laws, [law])
        return run_law(chosen, session.contract, session.subject, effort, seed, shrink=SHRINK_CALLS if shrink else 0)


def held(law: str, function: Any, effort: str = "quick", **record: Any) -> LawResult:
    """Raise unless the law held on enough cases."""
    result = judged(law, function, effort, **record)
    assert result.status == "held", f"{law}: {result.status}, but should be held: {result.message}"
    assert result.minimum_met, f"{law}: only {result.cases} problems were judged"
    return result


def refuted(law: str, function: Any, effort: str = "standard", **record: Any) -> LawResult:
    """Raise unless the law was refuted."""
    result = judged(law, function, effort, **record)
    assert result.status == "refuted", f"{law}: {result.status}, but should be refuted ({result.message})"
    assert result.counterexample is not None
    return result
