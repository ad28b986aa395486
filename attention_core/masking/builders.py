"""Masks as plain functions f(n_q, n_kv, **params) -> bool, for code that wants the tensor at once.

Each is the dense form of the structured mask of the same name.
"""

from __future__ import annotations

from jaxtyping import Bool
from torch import Tensor

from attention_core.masking.checks import Align, Integers
from attention_core.masking.structured import causal, padding, prefix, segments, sliding_window


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
