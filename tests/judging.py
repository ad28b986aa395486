"""How tests put one law to a function: `held(law, f)` and `refuted(law, f)`, both raising with the law's message.

What should be refuted meets all cases of its effort. What should hold meets the fewest that a verdict needs, as a run at
effort "quick" does with laws that diagnose; with `--thorough` it meets all.
"""

from __future__ import annotations

from typing import Any

import thorough

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.search.judging import SHRINK_CALLS
from attention_core.conformance.search.search import Search

SEARCH = Search.to


def search_briefly(search: Search, effort: str, **how: Any) -> LawResult:
    """The law's result on the fewest cases that a verdict needs; on all where those are too few to call it held."""
    result = SEARCH(search, effort, **{**how, "fewest": thorough.takes_fewest()})
    enough = result.status == "refuted" or (result.status == "held" and result.minimum_met)
    return result if enough else SEARCH(search, effort, **how)


def judged(
    law: str, function: Any, effort: str = "quick", seed: int = 0, *, shrink: bool = False, brief: bool = False,
    **record: Any,
) -> LawResult:  # fmt: skip
    """The result of one law; `record` sets fields of the `Implementation`.

    Whether a law refutes does not depend on how small its counterexample gets, and most of the time would go there.
    """
    with Session(Implementation(function, name="under test", **record), effort=effort, seed=seed) as session:
        (chosen,) = select_laws(session.laws, [law])
        search, calls = Search(chosen, session.contract, session.subject, seed), SHRINK_CALLS if shrink else 0
        return search_briefly(search, effort, shrink=calls) if brief else search.to(effort, shrink=calls)


def held(law: str, function: Any, effort: str = "quick", **record: Any) -> LawResult:
    """Raise unless the law held on enough cases."""
    result = judged(law, function, effort, brief=True, **record)
    assert result.status == "held", f"{law}: {result.status}, but should be held: {result.message}"
    assert result.minimum_met, f"{law}: only {result.cases} problems were judged"
    return result


def refuted(law: str, function: Any, effort: str = "standard", **record: Any) -> LawResult:
    """Raise unless the law was refuted."""
    result = judged(law, function, effort, **record)
    assert result.status == "refuted", f"{law}: {result.status}, but should be refuted ({result.message})"
    assert result.counterexample is not None
    return result
