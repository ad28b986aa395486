"""The laws of gradients: no false alarm on correct functions, and each refutes the fault that it names.

Faults are those of attention_core/faults/gradients.py, run through the same search that a person would start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.second_budget import second_bound
from attention_core.conformance.laws import gradients
from attention_core.conformance.laws import second_gradients as second
from attention_core.faults import correct as odd_but_correct
from attention_core.faults import gradients as faults
from attention_core.faults import odd
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build, correct, weights
from attention_core.oracle import attention as true_attention
from attention_core.oracle import second_gradients

FULL: dict[str, Any] = {"mask_gradient": True, "second_gradients": True}


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


FIRST = [law.name for law in gradients.LAWS]
NAMES = [*FIRST, *(law.name for law in second.LAWS)]


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("function", [correct, build_backward()], ids=["autograd", "by_hand"])
def test_correct_functions_hold(law: str, function: Callable[..., Tensor]) -> None:
    for seed in range(2):
        held(law, function, seed=seed, **FULL)


AT_DEAD_ROWS = {
    "zeros": weights,
    "nan": lambda s: torch.softmax(s, -1),
    "uniform": odd_but_correct.mean_where_dead,
    "unspecified": lambda s: torch.softmax(s, -1),
}


@pytest.mark.thorough(keep=("*-nan-bottom_right", "*-zeros-top_left", "masked_pairs_*-uniform-bottom_right"))
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("convention", AT_DEAD_ROWS)
@pytest.mark.parametrize("law", FIRST)
def test_every_convention_of_dead_rows_is_accepted(law: str, convention: str, alignment: str) -> None:
    """Under bottom_right, causality alone leaves rows without a key, where no law speaks of masks."""
    make = odd_but_correct.dead_rows_at_the_end if alignment == "bottom_right" else build_with
    held(law, make(AT_DEAD_ROWS[convention]), dead_rows=convention, causal=alignment, mask_gradient=True)


def build_with(weights: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """The reference with these weights."""
    return build(weights=weights)


@pytest.mark.parametrize("law", FIRST)
def test_torch_holds(law: str) -> None:
    held(law, torch_attention, mask_gradient=True)


REFUTED = [
    ("query_gradient_is_true", "stale_first_chunk"),
    ("key_gradient_is_true", "stale_first_chunk"),
    ("query_gradient_is_true", "without_row_sum"),
    ("query_gradient_is_true", "nan_with_bias_and_causal"),
    ("query_gradient_is_true", "query_gradient_of_next_row"),
    ("key_gradient_is_true", "key_without_scale"),
    ("key_gradient_is_true", "key_of_scores_not_transposed"),
    ("key_gradient_is_true", "key_detached"),
    ("key_gradient_is_true", "group_mean"),
    ("value_gradient_is_true", "value_of_first_group_member"),
    ("value_gradient_is_true", "value_gradient_of_head_size"),
    ("mask_gradient_is_true", "mask_not_summed"),
    ("mask_gradient_is_true", "mask_gradient_of_sixteen_rows"),
    ("mask_gradient_is_true", "mask_gradient_scaled"),
    ("mask_gradient_is_true", "mask_gradient_nan_at_masked"),
    ("one_gradient_alone_is_the_same", "gradients_in_order_of_asking"),
    ("output_is_the_same_with_gradients", "causal_lost_in_training"),
    ("zero_cotangent_gives_zero", "uninitialised_query_gradient"),
    ("gradient_is_linear_in_the_cotangent", "clipped_gradient"),
    ("row_cotangent_moves_its_query_alone", "query_gradient_of_next_row"),
    ("masked_pairs_pass_no_gradient", "backward_without_mask"),
    ("masked_pairs_pass_no_gradient", "backward_without_causal"),
    ("second_gradients_are_true", "weights_constant_in_backward"),
    ("second_gradients_are_symmetric", "weights_constant_in_backward"),
]


@pytest.mark.parametrize(("law", "fault"), REFUTED)
def test_faults_are_refuted(law: str, fault: str) -> None:
    # Sixteen rows: about one run in ten at quick draws no mask that more rows share, so one in 10^5 at standard.
    effort = "standard" if fault == "mask_gradient_of_sixteen_rows" else "quick"
    refuted(law, getattr(faults, fault)(), effort=effort, **FULL)


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in (*gradients.LAWS, *second.LAWS)} <= set(REFUTED)


@pytest.mark.parametrize("fault", ["key_without_scale", "key_detached"])
def test_the_other_gradients_of_a_fault_are_right(fault: str) -> None:
    for law in ("query_gradient_is_true", "value_gradient_is_true"):
        held(law, getattr(faults, fault)())


def test_gradients_that_are_not_declared_are_not_judged() -> None:
    result = judged("query_gradient_is_true", correct, gradients=False)
    assert (result.status, result.message) == ("not_applicable", "gradients not declared")


def test_second_bound_covers_another_order_of_sums_and_no_wrong_term() -> None:
    """Permuting the keys changes only roundings; one lost term is far outside."""
    rng = np.random.default_rng(5)
    q, k, v, c = (rng.standard_normal((2, 2, n, 5)) for n in (7, 9, 9, 7))
    w = (rng.standard_normal(q.shape), rng.standard_normal(k.shape), rng.standard_normal(v.shape))
    order = rng.permutation(9)
    bound = second_bound((q, k, v), c, w, true_attention(q, k, v))
    plain = second_gradients(q, k, v, c, w)
    moved = (w[0], w[1][:, :, order], w[2][:, :, order])
    other = second_gradients(q, k[:, :, order], v[:, :, order], c, moved)
    assert (np.abs(plain.query - other.query) <= bound.query).all()
    assert (np.abs(plain.key[:, :, order] - other.key) <= bound.key[:, :, order]).all()
    without = second_gradients(q, k, v, c, (w[0], w[1], np.zeros_like(v)))
    assert (np.abs(plain.query - without.query) > bound.query).all()


def test_merged_parts_of_a_peaked_row_have_their_second_derivatives() -> None:
    """Odd and even keys apart: the first key's weight of e^-38 is e^-13 within its part, and cancels at the merge alone."""
    q, k = np.array([[[[0.0, 1.0]]]]), np.array([[[[1.0, -38.0], [0.0, 0.0], [0.0, -25.0]]]])
    inputs, c = (q, k, np.array([[[[0.3], [1.0], [-0.7]]]])), np.array([[[[0.9]]]])
    directions = (np.zeros_like(q), np.zeros_like(k), np.array([[[[0.0], [0.0], [1.0]]]]))
    leaves = [torch.from_numpy(x).requires_grad_() for x in inputs]
    out = odd_but_correct.halves_merged_by_lse()(*leaves, scale=1.0)
    first = torch.autograd.grad(out, leaves, torch.from_numpy(c), create_graph=True)
    got = torch.autograd.grad(first[2][0, 0, 2, 0], leaves[0])[0].numpy()
    truth = true_attention(*inputs, scale=1.0)
    true = second_gradients(*inputs, c, directions, truth=truth, scale=1.0).query
    error = np.abs(got - true)[0, 0, 0, 0]
    assert error > 1e-9 * abs(true[0, 0, 0, 0]), "the case has lost what it is for"
    assert error <= second_bound(inputs, c, directions, truth, scale=1.0).query[0, 0, 0, 0] < 1e-8 * np.exp(-25.0)


def test_merged_parts_have_their_gradients_where_a_light_part_has_large_values() -> None:
    """Odd and even keys apart: the even ones weigh e^-20 together, and the mean of their values is 1e7 times the row's."""
    q, k = np.array([[[[0.0, 1.0]]]]), np.array([[[[1.0, -40.0], [0.0, 0.0], [0.0, -20.0]]]])
    v, c = np.array([[[[0.0], [2.0**-10], [10.0**4]]]]), np.array([[[[1.0]]]])
    leaves = [torch.from_numpy(x).float().requires_grad_() for x in (q, k, v)]
    out = odd_but_correct.halves_merged_by_lse()(*leaves, scale=1.0)
    got = torch.autograd.grad(out, leaves[0], torch.from_numpy(c).float())[0].double().numpy()
    truth = true_attention(q, k, v, scale=1.0)
    true = oracle.gradients(q, k, v, c, scale=1.0)
    bound = budget.backward_bound(q, k, v, c, truth, true, scale=1.0, dtype="float32").query[0, 0, 0, 0]
    error = np.abs(got - true.query)[0, 0, 0, 0]
    assert error > 1e-2 * abs(true.query[0, 0, 0, 0]), "the case has lost what it is for"
    assert error <= bound < 0.1 * np.exp(-40.0), "it still goes with the weight"


def test_gradients_that_are_rounded_before_a_large_scale_are_correct() -> None:
    """In float16 a sum of products near the smallest number rounds to it, and 1.5 times that rounds once more."""
    held("two_batch_axes_are_a_batch", odd.narrow(), effort="standard", seed=2)
