"""Attention of draft tokens in a tree: each attends to the context and to its ancestors, found through parents."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention


def tree_mask(parents: Int[Tensor, "B n"]) -> Bool[Tensor, "B n n"]:
    """Say whether token j of a tree is token i or one of its ancestors.

    Args: parents: the number of each token's parent, which comes before it; -1 for a root.
    Returns: bool (B, n, n).
    Raises: ValueError where a parent does not come before its child.
    Example:
        >>> tree_mask(torch.tensor([[-1, 0, 0]])).int()
        tensor([[[1, 0, 0],
                 [1, 1, 0],
                 [1, 0, 1]]], dtype=torch.int32)

    Source: Cai et al., "Medusa" (2024), section 2.3.1.
    """
    n = parents.shape[1]
    numbers = torch.arange(n, device=parents.device)
    if ((parents >= numbers) | (parents < -1)).any():
        raise ValueError("a parent is -1 or the number of a token before its child")
    seen = torch.eye(n, dtype=torch.bool, device=parents.device).repeat(len(parents), 1, 1)
    ancestor = parents
    while (ancestor >= 0).any():
        seen |= ancestor[..., None] == numbers
        ancestor = torch.where(ancestor >= 0, parents.gather(1, ancestor.clamp(min=0)), -1)
    return seen


def tree_attention(
    query: Float[Tensor, "B H n d"],
    key: Float[Tensor, "B H_kv n_kv d"],
    value: Float[Tensor, "B H_kv n_kv d_v"],
    parents: Int[Tensor, "B n"],
    *,
    context_lens: Int[Tensor, " B"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "B H n d_v"]:
    """Attend to a context and, after it, to the ancestors of every draft token and to itself.

    Args: parents, as of `tree_mask`; context_lens: keys of each sequence's context, before its n draft tokens, None =
        n_kv - n; scale, None = 1/sqrt(d). H_kv may divide H.
    Returns: (B, H, n, d_v) in the query's dtype.
    Raises: ValueError where a tree does not fit the arrays, or shapes contradict each other.
    Example:
        >>> x = torch.tensor([1.0, 2.0, 4.0])[None, None, :, None]
        >>> tree_attention(0 * x[:, :, 1:], 0 * x, x, torch.tensor([[-1, -1]])).flatten()
        tensor([1.5000, 2.5000])

    Source: Miao et al., "SpecInfer" (2024), section 4; derivations/chosen_keys.md (tree-path).
    """
    n, n_kv = query.shape[2], key.shape[2]
    ends = key.new_full((len(query),), n_kv - n).long() if context_lens is None else context_lens.long()
    fits = parents.shape == (len(query), n) and ends.shape == (len(query),)
    if not fits or (ends < 0).any() or (ends + n > n_kv).any():
        shape = tuple(parents.shape)
        raise ValueError(f"{n} draft tokens after {ends.tolist()} keys, with {shape} parents, of {n_kv}")
    if not n:
        return query.new_zeros(*query.shape[:3], value.shape[3])
    place = torch.arange(n_kv, device=key.device) - ends[:, None]
    own = tree_mask(parents).gather(2, place.clamp(0, n - 1)[:, None].expand(-1, n, -1))
    seen = (place < 0)[:, None] | (own & ((place >= 0) & (place < n))[:, None])
    grouped = query.shape[1] != key.shape[1]
    return dot_product_attention(query, key, value, seen[:, None], scale=scale, enable_gqa=grouped)
