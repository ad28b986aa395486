"""Two matrix products in which a NaN or an infinity stays with the pairs (query, key) that it belongs to.

Plain `@` forms 0 * NaN = NaN, so garbage in a masked key reaches a result through a weight that is exactly
zero: in the forward pass through weights @ value, in the backward pass through dS @ key.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class _FinitePart(torch.autograd.Function):
    """x with 0 for every NaN and infinity; the gradient passes unchanged.

    `torch.where` would do for the value, but it would also silently set the gradient of each garbage
    entry to zero, and what is attended must not be cleaned up.
    """

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.where(x.isfinite(), x, 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """Nothing to save: the gradient does not depend on x."""

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        return grad_outputs[0]


def finite_part(x: Tensor) -> Tensor:
    """x with 0 for every NaN and infinity, and with the gradient of x itself.

    Args: x, any shape. Returns: same shape.
    Example:
        >>> finite_part(torch.tensor([1.0, float("nan")])).tolist()
        [1.0, 0.0]
    """
    result: Tensor = _FinitePart.apply(x)  # type: ignore[no-untyped-call]  # torch leaves `apply` untyped
    return result


def pairwise_products(
    query: Float[Tensor, "*#batch n_q d"], key: Float[Tensor, "*#batch n_kv d"]
) -> Float[Tensor, "*#batch n_q n_kv"]:
    """s_ij = q_i . k_j, where garbage in k_j reaches column j alone, also in the gradient of the query.

    The value is that of query @ key^T. In the backward pass dq_i = sum_j ds_ij k_j uses the finite part of
    k_j: where (i, j) is masked, ds_ij = 0 and the pair adds 0; where it is attended, ds_ij is NaN already.

    Returns: (*batch, n_q, n_kv).
    Example:
        >>> pairwise_products(torch.ones(1, 2), torch.ones(3, 2))
        tensor([[2., 2., 2.]])
    """
    if bool(query.isfinite().all()) and bool(key.isfinite().all()):
        return query @ key.mT
    with torch.no_grad():
        garbage_pair = ~query.isfinite().all(-1)[..., :, None] | ~key.isfinite().all(-1)[..., None, :]
        excess = torch.where(garbage_pair, query @ key.mT, 0.0)
    return finite_part(query) @ finite_part(key).mT + excess


def weighted_sum(
    weights: Float[Tensor, "*#batch n_q n_kv"],
    attend: Bool[Tensor, "..."],
    value: Float[Tensor, "*#batch n_kv d_v"],
) -> Float[Tensor, "*#batch n_q d_v"]:
    """o_i = sum of w_ij v_j over the attended j alone: garbage in v_j reaches only the rows that attend j.

    Args: weights, 0 where masked; attend, bool, broadcasts to the weights, True where (i, j) is attended.
    Returns: (*batch, n_q, d_v).
    Example:
        >>> weights, value = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0], [torch.nan]])
        >>> weighted_sum(weights, torch.tensor([[True, False]]), value)
        tensor([[2.]])
    """
    if bool(value.isfinite().all()):
        return weights @ value
    seen = attend.expand(weights.shape).to(weights.dtype)
    # A sum that is not finite is decided by which kinds of term it contains, not by their order.
    plus, minus, nan = (
        (seen @ kind.to(weights.dtype)) > 0 for kind in (value == torch.inf, value == -torch.inf, value.isnan())
    )
    garbage = torch.where(plus, torch.inf, 0.0) + torch.where(minus, -torch.inf, 0.0)
    garbage = torch.where(nan, torch.nan, garbage).to(weights.dtype)
    # Times the mass of the row, so that the weights of a row that sees garbage get a garbage gradient too.
    return weights @ finite_part(value) + weights.sum(-1, keepdim=True) * garbage
