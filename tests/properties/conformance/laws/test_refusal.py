"""The laws of refusal: correct functions refuse contradictions; each law refutes the fault that it names."""

from __future__ import annotations

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance.laws import refusal
from attention_core.faults import refusal as faults
from attention_core.faults.bases.reference import correct

NAMES = [law.name for law in refusal.LAWS]
MISMATCH = "lengths_of_key_and_value_must_agree"


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.parametrize("law", NAMES)
def test_correct_functions_hold(law: str) -> None:
    held(law, correct, validates=True)
    held(law, correct, validates=True, seed=1)


def by_einsum(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Right, and as people write it: what does not fit is left to torch, which broadcasts an axis of 1."""
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if attn_mask is not None:
        low = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if low else scores + attn_mask
    return torch.einsum("...qk,...kd->...qd", torch.softmax(scores, -1), value)


def with_where(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Right, with torch.where."""
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        low = torch.full((), -torch.inf, dtype=scores.dtype)
        scores = torch.where(mask, scores, low) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, -1) @ value


LEFT_TO_BROADCASTING = (
    "head_sizes_of_query_and_key_must_agree", MISMATCH, "mask_must_not_enlarge_the_result",
)  # fmt: skip


@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("function", [by_einsum, with_where])
def test_plain_kernels_are_not_asked_what_broadcasting_lets_pass(function: object, law: str) -> None:
    if law == LEFT_TO_BROADCASTING[-1]:
        result = judged(law, function)
        assert result.status == "not_applicable" and "validates" in result.message
    else:
        held(law, function)


@pytest.mark.parametrize("law", LEFT_TO_BROADCASTING)
def test_what_is_declared_to_validate_is_asked_all_of_it(law: str) -> None:
    refuted(law, by_einsum, effort="quick", validates=True)


# torch's default kernel for processors takes keys and values of different lengths (seen with 2.13) and reads
# beyond the shorter one; asking it again here would read foreign memory in this process.
@pytest.mark.parametrize("law", [name for name in NAMES if name != MISMATCH])
def test_torch_holds(law: str) -> None:
    held(law, torch_attention, validates=True)


REFUTED = [
    ("head_sizes_of_query_and_key_must_agree", "head_size_cut_to_shorter"),
    ("head_sizes_of_query_and_key_must_agree", "contradictions_by_index_error"),
    (MISMATCH, "lengths_cut_to_shorter"),
    ("mask_must_broadcast_to_the_scores", "long_mask_cut"),
    ("mask_must_not_enlarge_the_result", "large_mask_broadcasts_the_scores"),
    ("query_heads_must_be_a_multiple_of_key_heads", "heads_filled_up"),
    ("broadcast_keys_are_refused_or_right", "broadcast_batch_lost"),
]


@pytest.mark.parametrize(("law", "fault"), REFUTED)
def test_faults_are_refuted(law: str, fault: str) -> None:
    refuted(law, getattr(faults, fault)(), effort="quick", validates=law == "mask_must_not_enlarge_the_result")


@pytest.mark.parametrize(("law", "fault"), REFUTED)
def test_faults_are_right_on_consistent_inputs(law: str, fault: str) -> None:
    held("agrees_with_truth", getattr(faults, fault)())


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in refusal.LAWS} <= set(REFUTED)


@pytest.mark.parametrize(("fault", "words"), [
    ("head_size_cut_to_shorter", "got a result, but should be refused"),
    ("contradictions_by_index_error", "got IndexError"),
])  # fmt: skip
def test_the_message_says_what_happened_instead_of_a_refusal(fault: str, words: str) -> None:
    result = judged("head_sizes_of_query_and_key_must_agree", getattr(faults, fault)(), shrink=True)
    assert words in result.message
