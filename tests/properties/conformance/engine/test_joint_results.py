"""What the results of the laws say together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.joint_results import (
    GIVEN_UP,
    broken_elsewhere,
    explain_no_comparison,
    list_claims,
)
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.subjects.binding import Binding
from attention_core.declaration.implementation import Implementation

LAWS = find_contract("attention").laws
CENTRAL = next(law.name for law in LAWS if law.central)
OTHER = next(law.name for law in LAWS if law.compares and not law.central)
SILENT = LawResult(CENTRAL, "not_applicable", 0, 0.0, message="it takes no case")


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([SILENT], f"because of {CENTRAL}: it takes no case"),
        ([LawResult(OTHER, "not_applicable", 0, 0.0, message="later"), SILENT], f"because of {CENTRAL}: "),
        ([], "because of no law that compares was run"),
        ([replace(SILENT, status="held", cases=0)], f"because of {CENTRAL}: "),
    ],
)
def test_why_nothing_was_compared_is_what_the_central_law_says(results: list[LawResult], words: str) -> None:
    assert words in explain_no_comparison(LAWS, results)


@pytest.mark.parametrize("status", ["refuted", "held", "known_failure"])
def test_what_was_compared_needs_no_reason(status: str) -> None:
    assert explain_no_comparison(LAWS, [SILENT, LawResult(OTHER, status, 1, 0.0)]) == ""


def test_a_target_that_was_given_up_is_not_broken_elsewhere() -> None:
    given_up = replace(SILENT, message=f"not run: {GIVEN_UP}")
    assert broken_elsewhere([SILENT, given_up]) == ""
    assert broken_elsewhere([given_up, replace(SILENT, message="not run: three results")]) == "three results"


def test_a_claim_is_tested_when_one_of_its_laws_was_run() -> None:
    binding = Binding(Implementation(lambda: None), {"is_causal": "is_causal"}, frozenset({"is_causal"}))
    about = [law.name for law in LAWS if "is_causal" in law.needs]

    def said(status: str, message: str = "") -> str:
        return list_claims(binding, LAWS, [LawResult(n, status, 1, 0.0, message=message) for n in about])["is_causal"]

    assert said("held") == "tested" and said("refused") == "refused"
    assert said("not_applicable", f"not run: {GIVEN_UP}") == "not tested: its laws were not run"
    assert list_claims(binding, LAWS, [])["attn_mask"] == "not tested: no such parameter"
