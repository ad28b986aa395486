"""attention_core.kernels.nonfinite: garbage stays with its own pairs, and gradients pass beside it."""

from __future__ import annotations

import pytest
import torch

from attention_core.kernels.nonfinite import finite_part, pairwise_products, weighted_sum

NAN, INF = float("nan"), float("inf")


def test_finite_part_keeps_values_and_passes_gradients() -> None:
    x = torch.tensor([1.5, NAN, -INF, INF, -0.0], dtype=torch.float64, requires_grad=True)
    y = finite_part(x)
    assert y.tolist() == [1.5, 0.0, 0.0, 0.0, 0.0]
    cotangent = torch.tensor([2.0, 3.0, 5.0, 7.0, 11.0], dtype=torch.float64)
    assert torch.equal(torch.autograd.grad(y, x, cotangent)[0], cotangent)


@pytest.mark.parametrize("garbage", [NAN, INF, -INF])
def test_products_show_garbage_in_its_column_alone(garbage: float) -> None:
    """Small whole numbers, so the clean columns are exact."""
    q = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], requires_grad=True)
    k = torch.tensor([[1.0, 1.0], [garbage, 1.0], [2.0, 0.0]])
    s = pairwise_products(q, k)
    assert s[:, 0].tolist() == [3, 2, 1]
    assert s[:, 2].tolist() == [2, 6, 0]
    expected = torch.tensor([1.0, 3.0, 0.0]) * garbage  # 0 * garbage is NaN
    assert torch.equal(s[:, 1].nan_to_num(17.0), expected.nan_to_num(17.0))
    # The last column's cotangent alone: k_2, although 0 * garbage stands beside it.
    (gradient,) = torch.autograd.grad(s, q, torch.tensor([[0.0, 0.0, 1.0]] * 3))
    assert gradient.tolist() == [[2, 0]] * 3


def test_garbage_in_a_query_stays_in_its_row() -> None:
    q, k = torch.tensor([[NAN, 2.0], [3.0, 1.0]]), torch.ones(2, 2, requires_grad=True)
    s = pairwise_products(q, k)
    assert s[0].isnan().all()
    assert s[1].tolist() == [4, 4]
    (gradient,) = torch.autograd.grad(s, k, torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    assert gradient.tolist() == [[3, 1], [0, 0]]


SUMS = [  # values of the attended keys, their sum with weights 1/2
    ([NAN, 1.0], NAN),
    ([INF, 1.0], INF),
    ([-INF, 1.0], -INF),
    ([INF, -INF], NAN),
    ([INF, INF], INF),
    ([4.0, 2.0], 3.0),
]


@pytest.mark.parametrize(("attended", "expected"), SUMS)
def test_sums_are_those_of_the_attended_terms(attended: list[float], expected: float) -> None:
    value = torch.tensor([*attended, NAN, INF, -INF], requires_grad=True)
    weights = torch.tensor([[0.5, 0.5, 0.0, 0.0, 0.0]], requires_grad=True)
    out = weighted_sum(weights, weights > 0, value[:, None])
    assert torch.equal(out.nan_to_num(17.0), torch.tensor([[expected]]).nan_to_num(17.0))
    dw, dv = torch.autograd.grad(out.sum(), (weights, value))
    assert dv.tolist() == [0.5, 0.5, 0, 0, 0]  # linear in the values, whatever they are
    clean = all(abs(x) < INF for x in attended)
    assert bool(dw[0, :2].isfinite().all()) == clean  # a weight on garbage does not get a clean gradient
