"""Attention to the keys that indices name: the rows of keys and values are gathered, so that no others are read."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention


def indexed_attention(
    query: Float[Tensor, "B H n_q d"],
    key: Float[Tensor, "B H_kv n_kv d"],
    value: Float[Tensor, "B H_kv n_kv d_v"],
    indices: Int[Tensor, "B H_kv n_q topk"],
    *,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Attend to the keys that each query's row of indices names; -1 names none.

    Args: indices of a key head are those of all query heads that share it, in any order, each key once; scale, None =
        1/sqrt(d). H_kv may divide H.
    Returns: (B, H, n_q, d_v) in the query's dtype; rows without an index are 0. Keys that no index names are not read.
    Raises: ValueError where an index is below -1 or names no key, or shapes contradict each other.
    Example:
        >>> import torch
        >>> x = torch.tensor([1.0, 2.0, 4.0])[None, None, :, None]
        >>> indexed_attention(0 * x, 0 * x, x, torch.tensor([[[[2, 0], [1, -1], [-1, -1]]]])).flatten()
        tensor([2.5000, 2.0000, 0.0000])

    Source: DeepSeek-V3.2 (2025), section 2.1; derivations/chosen_keys.md (gathered).
    """
    (B, H, n_q, d), (H_kv, n_kv) = query.shape, key.shape[1:3]
    if ((indices < -1) | (indices >= n_kv)).any():
        raise ValueError(f"an index is -1 or the number of one of the {n_kv} keys")
    if H % H_kv:
        raise ValueError(f"{H_kv} key heads do not divide {H} query heads")
    shape, named = indices.shape, indices >= 0
    rows = indices.clamp(min=0).long().flatten(2)[..., None]
    keys, values = (
        x.gather(2, rows.expand(-1, -1, -1, x.shape[3])).reshape(B, H_kv * n_q, shape[3], x.shape[3])
        for x in (key, value)
    )
    group = H // H_kv
    queries = query.reshape(B, H_kv, group, n_q, d).transpose(2, 3).flatten(1, 2)  # (B, H_kv n_q, group, d)
    factor = d**-0.5 if scale is None else scale
    out = dot_product_attention(queries, keys, values, named.flatten(1, 2)[:, :, None], scale=factor)
    return out.reshape(B, H_kv, n_q, group, value.shape[3]).transpose(2, 3).flatten(1, 2)
