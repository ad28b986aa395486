"""Heads: split the features into heads, merge them back, and repeat key heads for grouped queries.

One head is a contiguous run of features: head h of token n holds the features h E/H ... (h + 1) E/H - 1.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor


def split_heads(x: Float[Tensor, "B n E"], H: int) -> Float[Tensor, "B H n d"]:
    """Cut the features of every token into H heads: y[b, h, n, c] = x[b, n, h d + c], d = E / H.

    One reshape cannot do this: (B, n, E) -> (B, H, n, d) would mix tokens with features. The features are
    cut first, then the head axis is moved in front of the tokens.

    Args: x (B, n, E); H, number of heads. Returns: (B, H, n, E / H), a view of x where possible.
    Raises: ValueError where x has not three axes, H < 1, or E is not divisible by H.
    Example:
        >>> import torch
        >>> split_heads(torch.zeros(2, 3, 10), 5).shape
        torch.Size([2, 5, 3, 2])

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2.
    """
    if x.ndim != 3:
        raise ValueError(f"x must have the axes (B, n, E), got shape {tuple(x.shape)}")
    B, n, E = x.shape
    if H < 1 or E % H:
        raise ValueError(f"{E} features cannot be cut into {H} heads of equal size")
    return x.reshape(B, n, H, E // H).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H n d"]) -> Float[Tensor, "B n E"]:
    """The inverse of `split_heads`: y[b, n, h d + c] = x[b, h, n, c].

    Args: x (B, H, n, d). Returns: (B, n, H d).
    Raises: ValueError where x has not four axes.
    Example:
        >>> import torch
        >>> x = torch.arange(12.0).reshape(1, 3, 4)
        >>> torch.equal(merge_heads(split_heads(x, 2)), x)
        True

    Source: Vaswani et al. (2017), section 3.2.2, Concat(head_1, ..., head_H).
    """
    if x.ndim != 4:
        raise ValueError(f"x must have the axes (B, H, n, d), got shape {tuple(x.shape)}")
    B, H, n, d = x.shape
    return x.transpose(1, 2).reshape(B, n, H * d)


def expand_kv_heads(x: Float[Tensor, "*batch H_kv n c"], H: int) -> Float[Tensor, "*batch H n c"]:
    """Repeat each key or value head for its group of H / H_kv consecutive query heads.

    y[..., h, :, :] = x[..., h // (H / H_kv), :, :]: heads 0 0 1 1, not 0 1 0 1.

    Args: x (*batch, H_kv, n, c); H, number of query heads. Returns: (*batch, H, n, c).
    Raises: ValueError where x has no head axis or H is not divisible by H_kv.
    Example:
        >>> import torch
        >>> expand_kv_heads(torch.tensor([[[1.0]], [[2.0]]]), 4).flatten()
        tensor([1., 1., 2., 2.])

    Source: Ainslie et al., "GQA" (2023), section 2.2.
    """
    if x.ndim < 3:
        raise ValueError(f"grouped queries need a head axis (*batch, H_kv, n, c), got shape {tuple(x.shape)}")
    H_kv = x.shape[-3]
    if H_kv == H:
        return x
    if H_kv == 0 or H % H_kv:
        raise ValueError(f"H = {H} query heads are not divisible by H_kv = {H_kv} key heads")
    return x.repeat_interleave(H // H_kv, dim=-3)
