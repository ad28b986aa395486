"""Attend to unequal parts of the keys separately and merge the results by their log-sum-exp.

The way to attend across caches, devices or passes: a part needs no knowledge of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.arguments import check_dropout, prepare
from attention_core.kernels.dot_product import attend


def merge(
    out_a: Float[Tensor, "*#batch n_q d_v"],
    lse_a: Float[Tensor, "*batch n_q"],
    out_b: Float[Tensor, "*#batch n_q d_v"],
    lse_b: Float[Tensor, "*batch n_q"],
) -> tuple[Float[Tensor, "*#batch n_q d_v"], Float[Tensor, "*batch n_q"]]:
    """Attention over two disjoint sets of keys from attention over each.

    lse = log(e^lse_a + e^lse_b), out = e^(lse_a - lse) out_a + e^(lse_b - lse) out_b. Associative, and
    (0, -inf), the result for no keys, is its neutral element.

    Args: out (*batch, n_q, d_v) and lse (*batch, n_q), natural log, of the two sets, for the same queries.
    Returns: (out, lse) of the union. Raises: ValueError where the shapes do not belong together.
    Example:
        >>> out, lse = torch.ones(1, 2), torch.zeros(1)
        >>> [x.tolist() for x in merge(out, lse, torch.zeros_like(out), torch.full_like(lse, -torch.inf))]
        [[[1.0, 1.0]], [0.0]]

    Source: Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021), section 2.
    """
    if out_a.shape != out_b.shape or not lse_a.shape == lse_b.shape == out_a.shape[:-1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (out_a, lse_a, out_b, lse_b))
        raise ValueError(f"these parts do not belong to the same queries: out, lse, out, lse are {shapes}")
    largest = torch.maximum(lse_a, lse_b).detach()
    dead = largest == -torch.inf
    # The shift cancels in the result; where both parts are dead it must only be finite.
    shift = torch.where(dead, 0.0, largest)
    mass_a, mass_b = torch.exp(lse_a - shift), torch.exp(lse_b - shift)
    total = torch.where(dead, 1.0, mass_a + mass_b)
    out = (mass_a / total)[..., None] * out_a + (mass_b / total)[..., None] * out_b
    return out, torch.where(dead, -torch.inf, shift + total.log())


def split_merge_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    sizes: Sequence[int] | None = None,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """The function of `dot_product_attention`, from parts of the keys: (out, lse) = merge over the parts.

    Args: sizes, numbers of keys of the parts, summing to n_kv, 0 allowed; None takes three unequal parts,
        about 1/6, 1/3 and 1/2 (equal parts would hide a merge that forgets the log-sum-exp on equal scores);
        the rest as `dot_product_attention`.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; dead rows are 0.
    Raises: ValueError for sizes that do not sum to n_kv, and as `dot_product_attention`.
    Example:
        >>> q, x = torch.ones(1, 2), torch.ones(5, 2)
        >>> split_merge_attention(q, x, x, sizes=[1, 4])
        tensor([[1., 1.]])

    Source: Rabe and Staats (2021), section 2.
    """
    check_dropout(dropout_p)
    problem = prepare(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    n_kv = key.shape[-2]
    if sizes is None:
        sizes = (n_kv // 6, n_kv // 3, n_kv - n_kv // 6 - n_kv // 3)
    if not sizes or min(sizes) < 0 or sum(sizes) != n_kv:
        raise ValueError(f"the sizes {list(sizes)} of the parts must be >= 0 and sum to n_kv = {n_kv}")
    ends = pairwise(accumulate(sizes, initial=0))
    first, *others = (attend(problem.part(slice(*end)), dropout_p) for end in ends)
    out, lse = first.out, first.lse
    for part in others:
        out, lse = merge(out, lse, part.out, part.lse)
    return out.to(query.dtype)
