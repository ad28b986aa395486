"""Power and false alarms of the laws of merging: each refutes the fault it names, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import conforming, counterexample, outcomes
from torch import Tensor

from attention_core.conformance.laws import merge
from attention_core.conformance.laws.merge import CONTRACT
from attention_core.faults import merge as faults

SEEN_BY = {  # one law that must see it
    "powers_of_two_of_natural_logs": "merge_agrees_with_the_truth",
    "nan_where_all_are_empty": "rows_without_any_key_stay_empty",
    "first_part_where_any_is_infinite": "an_empty_part_is_neutral",
    "empty_lse_clamped": "an_empty_part_is_neutral",
    "plus_infinity_is_a_mark": "rows_without_any_key_stay_empty",
    "empty_part_of_lse_zero": "an_empty_part_is_neutral",
    "memory_read_in_order": "strides_are_followed",
    "averaged": "merge_agrees_with_the_truth",
    "exponentials_without_a_maximum": "large_lse_neither_overflow_nor_vanish",
    "lse_of_the_larger_part": "merging_is_associative",
    "shares_not_normalised": "merge_agrees_with_the_truth",
    "parts_exchanged": "merge_agrees_with_the_truth",
    "first_part_leads": "parts_come_in_any_order",
    "features_beyond_128_are_the_first_parts": "many_rows_and_parts_are_merged",
    "lse_of_the_first_head": "merge_agrees_with_the_truth",
    "gradient_of_the_lse_lost": "merge_gradients_are_true",
    "gradient_nan_where_a_part_is_empty": "merge_gradients_are_true",
    "first_of_three_parts_forgotten": "merge_agrees_with_the_truth",
    "sixteen_parts_at_most": "many_rows_and_parts_are_merged",
    "lse_in_half_precision": "merge_agrees_with_the_truth",
    "far_parts_are_not_mixed": "merge_gradients_are_true",
    "gradient_nan_in_rows_without_keys": "merge_gradients_are_true",
    "empty_second_part_gives_the_first": "rows_without_any_key_stay_empty",
    "heads_beyond_64_by_the_last": "an_empty_part_is_neutral",
}
RIGHT: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (faults.correct, {}),
    (faults.stacked(), {}),
    (faults.pair(), {}),
    (faults.stacked_by_softmax, {"masked_nan": "ignored", "accumulate": "float32"}),
    (faults.by_the_difference, {}),
    (faults.merge_state, {}),
    (faults.merge_state_in_place, {"untested": ("mask",)}),
    (faults.merge_attn_states, {}),
    (faults.in_its_first_arguments, {"parameters": {"form": "in_place"}}),
]


def record_of(fault: Callable[..., Any]) -> dict[str, Any]:
    return faults.DECLARED.get(fault, {})


@pytest.mark.parametrize("law", merge.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: merge.Law) -> None:
    fault = getattr(faults, law.fault)
    refuted(law.name, fault(), effort="quick", contract=CONTRACT, **record_of(fault))


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY[fault.__name__], fault(), "quick", contract=CONTRACT)


def test_a_declaration_makes_a_fault() -> None:
    """The same merge is right, or wrong, by what is said of its logarithm and of NaN."""
    for fault, record in faults.DECLARED.items():
        law = "merge_agrees_with_the_truth" if "parameters" in record else "nan_in_an_empty_part_is_ignored"
        refuted(law, fault(), "quick", contract=CONTRACT, **record)
        conforming(fault(), CONTRACT)


@pytest.mark.thorough(table=True, keep=("*-0",))
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("target", "record"), RIGHT, ids=[getattr(t, "__name__", "") for t, _ in RIGHT])
def test_right_merges_conform(target: Callable[..., Any], record: dict[str, Any], seed: int) -> None:
    results = conforming(target, CONTRACT, "quick", seed, **record)
    silent = {name for name, r in results.items() if r.status == "not_applicable"}
    assert silent <= {"nan_in_an_empty_part_is_ignored", "merge_gradients_are_true"}


def by_logaddexp(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor, hide: bool = False) -> Any:
    """The usual merge; `hide`: rows that no part has a key for are hidden before and after."""
    dead = torch.isneginf(lse_a) & torch.isneginf(lse_b) & hide
    lse_a, lse_b = lse_a.masked_fill(dead, 0.0), lse_b.masked_fill(dead, 0.0)
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = ((x - lse).exp().nan_to_num(0.0)[..., None] for x in (lse_a, lse_b))
    out = (a * out_a + b * out_b).masked_fill(dead[..., None], 0.0)
    return out.to(out_a.dtype), lse.masked_fill(dead, -torch.inf)


def test_the_nan_that_logaddexp_passes_back_is_no_false_alarm() -> None:
    """In plain code: it reaches all keys of the part, in whose backward pass the row's weights are 0."""
    law = "merge_gradients_are_true"

    def hidden(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
        return by_logaddexp(out_a, lse_a, out_b, lse_b, hide=True)

    def plain(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
        return by_logaddexp(out_a, lse_a, out_b, lse_b)

    refuted(law, plain, contract=CONTRACT)
    held(law, hidden, contract=CONTRACT)
    lse = torch.tensor([1.0, -torch.inf], requires_grad=True)
    out, _ = by_logaddexp(torch.ones(2, 1), lse, torch.zeros(2, 1), torch.tensor([0.0, -torch.inf]))
    out.sum().backward()
    assert lse.grad is not None and torch.isnan(lse.grad[1]) and out[1] == 0
    weights = torch.tensor([[0.5, 0.5], [0.0, 0.0]])  # of both keys of the part, of a row with keys and of one without
    assert torch.isnan((weights * lse.grad[:, None]).T @ torch.ones(2, 1)).all()


def test_what_rows_without_a_key_give_is_declared() -> None:
    def with_nan(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = faults.correct(out_a, lse_a, out_b, lse_b)
        return out.masked_fill((lse == -torch.inf)[..., None], torch.nan), lse

    law = "rows_without_any_key_stay_empty"
    refuted(law, with_nan, "quick", contract=CONTRACT)
    for dead_rows in ("nan", "unspecified"):
        held(law, with_nan, contract=CONTRACT, dead_rows=dead_rows)


def test_a_merge_without_gradients_is_not_asked_for_them() -> None:
    def forward_only(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        return faults.correct(*(x.detach() for x in (out_a, lse_a, out_b, lse_b)))

    assert judged("merge_gradients_are_true", forward_only, contract=CONTRACT).status == "not_applicable"
    conforming(forward_only, CONTRACT)


def test_a_single_result_is_refused_in_so_many_words() -> None:
    result = refuted("merge_agrees_with_the_truth", lambda a, b, c, d: a, "quick", contract=CONTRACT)
    assert "returns 1 value(s), but should return (out, lse)" in result.message


@pytest.mark.thorough
def test_counterexamples_are_programs_that_fail_on_the_fault_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge that returns its result, one that writes it, one in base 2, and a gradient."""
    path = tmp_path / "merging.py"
    path.write_text(PROGRAMS, encoding="utf-8")
    snippets = {
        name: counterexample(law, f"{path}:{name}", CONTRACT, **record)
        for name, law, record in (
            ("average", "merge_agrees_with_the_truth", {}),
            ("average", "merge_gradients_are_true", {}),
            ("written", "merge_agrees_with_the_truth", {"parameters": {"form": "in_place"}}),
            ("base_two", "large_lse_neither_overflow_nor_vanish", {"parameters": {"base": 2}}),
        )
    }
    wrong = outcomes(snippets)
    assert all(text.startswith("AssertionError") for text in wrong.values()), wrong
    path.write_text(PROGRAMS.replace("WRONG = True", "WRONG = False"), encoding="utf-8")
    assert outcomes(snippets) == dict.fromkeys(snippets, "")


PROGRAMS = """
import torch

WRONG = True


def average(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = ((x - lse).exp().nan_to_num(0.0)[..., None] for x in (lse_a, lse_b))
    if WRONG:
        a = b = 0.5 * torch.ones_like(a) + 0 * a
    return (a * out_a + b * out_b).to(out_a.dtype), lse


def written(out_a, lse_a, out_b, lse_b):
    out, lse = average(out_a, lse_a, out_b, lse_b)
    out_a.copy_(out)
    lse_a.copy_(lse)


def base_two(out_a, lse_a, out_b, lse_b):
    out, lse = average(out_a, lse_a * 0.6931471805599453, out_b, lse_b * 0.6931471805599453)
    return out, lse if WRONG else lse / 0.6931471805599453
"""
