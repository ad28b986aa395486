"""Laws as cases of a test of one's own: what fails, what is skipped, and that nothing left untested passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation, parametrize_with_laws
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.parametrize import LawCheck, outcome_of
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Refuted
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.known_failures import KnownFailure

SETTINGS: dict[str, Any] = {"array": "numpy", "dtypes": ("float32",), "gradients": False}


def attention(query: Any, key: Any, value: Any) -> Any:
    scores = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ value).astype(query.dtype)


def unscaled(query: Any, key: Any, value: Any) -> Any:
    return attention(query * np.sqrt(query.shape[-1]).astype(query.dtype), key, value)


def capped(query: Any, key: Any, value: Any, softcap: float = 0.0) -> Any:
    return attention(query, key, value)


def declining(query: Any, key: Any, value: Any) -> Any:
    raise NotImplementedError("not yet")


def checks(function: Callable[..., Any], *laws: str, **settings: Any) -> dict[str, LawCheck]:
    mark = parametrize_with_laws(Implementation(function, **{**SETTINGS, **settings}), laws=laws)
    return {check.name: check for check in mark.args[1]}


def test_there_is_one_case_for_every_law_between_two_others() -> None:
    mark = parametrize_with_laws(attention, Implementation(unscaled, name="mine"))
    laws = [law.name for law in find_contract("attention").laws]
    names = ["core", *laws, "parameters"]
    assert mark.kwargs["ids"] == [f"attention-{name}" for name in names] + [f"mine-{name}" for name in names]


def test_a_right_target_passes_and_a_wrong_one_fails_with_its_smallest_case() -> None:
    law = "agrees_with_truth"
    right = checks(attention, law)
    right["core"]()
    right[law]()
    with pytest.raises(
        Refuted, match=r"(?s)unscaled-agrees_with_truth: .*got .*but should be .*smallest case: .*n_q=1.*assert "
    ):
        checks(unscaled, law)[law]()


def test_a_law_that_does_not_apply_is_skipped() -> None:
    law = "no_row_sees_a_later_one"
    with pytest.raises(pytest.skip.Exception, match="not applicable: "):
        checks(attention, law)[law]()


def test_a_known_failure_is_an_expected_one() -> None:
    law = "agrees_with_truth"
    known = {law: KnownFailure("as everybody knows")}
    with pytest.raises(pytest.xfail.Exception, match="as everybody knows"):
        checks(unscaled, law, known_failures=known)[law]()
    with pytest.raises(Refuted, match="known failure"):
        checks(attention, law, known_failures=known)[law]()


def test_what_cannot_be_judged_fails() -> None:
    with pytest.raises(Refuted, match="declining: incomplete: "):
        checks(declining, "agrees_with_truth")["core"]()


def test_a_parameter_that_no_law_tests_fails_where_all_laws_ran() -> None:
    cases = checks(capped)
    with pytest.raises(pytest.skip.Exception, match="only where all laws ran"):
        cases["parameters"]()
    judge = cases["parameters"].judge
    judge.results = {law.name: LawResult(law.name, "held", 99, 0.0) for law in judge.session.laws}
    with pytest.raises(Refuted, match=r"incomplete: .*softcap"):
        cases["parameters"]()


def test_what_no_contract_has_is_refused_at_once() -> None:
    with pytest.raises(TargetError, match="no_such_law"):
        parametrize_with_laws(attention, laws=["no_such_law"])
    with pytest.raises(TargetError, match="no-such-contract"):
        parametrize_with_laws(Implementation(attention, contract="no-such-contract"))


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (LawResult("a", "held", 3, 0.1), "passed"), (LawResult("a", "held", 0, 0.1, minimum_met=False), "failed"),
        (LawResult("a", "refuted", 3, 0.1), "failed"), (LawResult("a", "error", 3, 0.1), "failed"),
        (LawResult("a", "unexpected_pass", 3, 0.1), "failed"), (LawResult("a", "refused", 0, 0.1), "skipped"),
        (LawResult("a", "not_applicable", 0, 0.1), "skipped"), (LawResult("a", "known_failure", 0, 0.1), "expected failure"),
    ],
)  # fmt: skip
def test_every_status_is_an_outcome(result: LawResult, kind: str) -> None:
    assert outcome_of(result)[0] == kind


def test_targets_of_one_name_have_ids_of_their_own() -> None:
    def other(query: Any, key: Any, value: Any) -> Any:
        return attention(query, key, value)

    other.__module__, other.__qualname__ = "elsewhere", "attention"
    mark = parametrize_with_laws(attention, other, laws=["agrees_with_truth"])
    ids = mark.kwargs["ids"]
    assert len(set(ids)) == len(ids) == 4 and ids[-1] == "elsewhere.attention-agrees_with_truth"
