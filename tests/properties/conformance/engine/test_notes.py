"""Notes of a report: what a declaration leaves unjudged is named."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.notes import about_absent, list_waivers
from attention_core.conformance.report.law_result import LawResult


def waived(contract: str, **declared: Any) -> dict[str, list[str]]:
    """What a record leaves unjudged where nothing else keeps a law from judging."""
    laws = find_contract(contract).laws
    left = [LawResult(law.name, "not_applicable", 0, 0.0) for law in laws]
    return list_waivers(Implementation(None, contract=contract, **declared), laws, left)


def test_every_law_that_misfits_leave_open_is_named() -> None:
    found = waived("attention", misfits="unspecified")["misfits=unspecified"]
    assert "broadcast_keys_are_refused_or_right" in found and len(found) == 5
    validated = waived("attention", misfits="unspecified", validates=True)["misfits=unspecified"]
    assert set(validated) - set(found) == {"mask_must_not_enlarge_the_result"}


@pytest.mark.parametrize(
    "contract, declared, what, law",
    [
        ("attention", {"gradients": False}, "gradients=False", "query_gradient_is_true"),
        ("attention", {"dead_rows": "unspecified"}, "dead_rows=unspecified", "dead_rows_are_as_declared"),
        ("kv-cache", {"parameters": {"inputs": "kept"}}, "inputs=kept", "tokens_outlive_the_callers_arrays"),
        ("bias", {"parameters": {"results": "shared"}}, "results=shared", "results_are_the_callers_own"),
    ],
)
def test_so_is_what_other_declarations_leave_open(contract: str, declared: dict[str, Any], what: str, law: str) -> None:
    assert law in waived(contract, **declared)[what]


def test_nothing_is_left_open_by_what_is_usual() -> None:
    assert waived("attention") == waived("multi-head") == waived("attention", array="numpy") == {}


@pytest.mark.usefixtures("fewest_cases")
def test_the_verdict_names_what_is_left_open() -> None:
    import torch

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v

    report = check_implementation(Implementation(attention, misfits="unspecified", gradients=False), effort="quick")
    assert report.verdict == "conforms"
    assert "; not judged, as misfits=unspecified is declared: head_sizes_of_query_and_key_must_agree, " in str(report)
    assert "; not judged, as gradients=False is declared: " in str(report)


@pytest.mark.parametrize("status", ["held", "not_applicable"])
def test_gradients_that_one_law_judged_are_tested(status: str) -> None:
    laws = find_contract("varlen").laws
    plain, featured = (law.name for law in laws if law.absent)
    results = [
        LawResult(plain, status, 4, 0.0, message="it gives none"),
        LawResult(featured, "not_applicable", 0, 0.0, message="it has no parameter for a window"),
    ]
    expected = {"held": [], "not_applicable": ["gradients are not tested: it gives none"]}
    assert about_absent(laws, results) == expected[status]
