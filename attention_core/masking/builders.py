"""Masks as plain tensors: functions f(n_q, n_kv, **params) -> bool, for code that wants the tensor itself.

The two forms of a mask turn into each other: bool (True = attend) and additive (0 or -inf, added to scores).
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.masking.checks import Align, Integers
from attention_core.masking.structured import causal, padding, prefix, segments, sliding_window


def to_additive(mask: Bool[Tensor, "*shape"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*shape"]:
    """The bias with the same meaning: 0 where True, -inf where False.

    Raises: ValueError for a mask that is not bool.
    Example:
        >>> to_additive(torch.tensor([True, False])).tolist()
        [0.0, -inf]
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a bool mask, got {mask.dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


def to_bool(additive: Float[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """The bool mask with the same meaning as a bias of 0 and -inf; the inverse of `to_additive`.

    Raises: ValueError for any other entry: a finite bias is not a mask, -1e9 included, and would be lost.
    Example:
        >>> to_bool(torch.tensor([0.0, -torch.inf]))
        tensor([ True, False])
    """
    if not additive.is_floating_point():
        raise ValueError(f"expected a floating bias, got {additive.dtype}")
    if not bool(((additive == 0) | (additive == -torch.inf)).all()):
        raise ValueError("only biases of 0 and -inf are masks; this one has other entries")
    return additive == 0


def causal_mask(n_q: int, n_kv: int, align: Align = "top_left") -> Bool[Tensor, "n_q n_kv"]:
    """{(i, j) : j <= i + o}; see `causal`.

    Example:
        >>> causal_mask(2, 2).tolist()
        [[True, False], [True, True]]
    """
    return causal(align).dense(n_q, n_kv)


def sliding_window_mask(n_q: int, n_kv: int, W: int, align: Align = "top_left") -> Bool[Tensor, "n_q n_kv"]:
    """{(i, j) : i + o - W < j <= i + o}; see `sliding_window`.

    Example:
        >>> sliding_window_mask(2, 2, W=1).tolist()
        [[True, False], [False, True]]
    """
    return sliding_window(W, align).dense(n_q, n_kv)


def prefix_mask(n_q: int, n_kv: int, P: int, align: Align = "top_left") -> Bool[Tensor, "n_q n_kv"]:
    """{(i, j) : j < P or j <= i + o}; see `prefix`.

    Example:
        >>> prefix_mask(2, 2, P=2).tolist()
        [[True, True], [True, True]]
    """
    return prefix(P, align).dense(n_q, n_kv)


def padding_mask(n_q: int, n_kv: int, lengths: Integers) -> Bool[Tensor, "B 1 n_q n_kv"]:
    """{(b, i, j) : j < lengths_b}; see `padding`.

    Example:
        >>> padding_mask(1, 2, [1]).tolist()
        [[[[True, False]]]]
    """
    return padding(lengths).dense(n_q, n_kv)


def segments_mask(n_q: int, n_kv: int, ids: Integers, align: Align = "top_left") -> Bool[Tensor, "B 1 n_q n_kv"]:
    """{(b, i, j) : ids_b[i + o] = ids_b[j]}; see `segments`.

    Example:
        >>> segments_mask(2, 2, [[0, 1]]).tolist()
        [[[[True, False], [False, True]]]]
    """
    return segments(ids, align).dense(n_q, n_kv)
