"""Attention over several texts that lie one behind the other, in float64: each text by itself.

A text has n_q queries and n_kv keys, and sees no other text. Where texts have fewer queries than keys, the queries are
the last tokens (bottom right), as in decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attention_core.oracle.masks import BoolArray, causal_mask, window
from attention_core.oracle.truth import Array, Truth, attention


def packed_attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    lengths: Sequence[tuple[int, int]],
    *,
    is_causal: bool = False,
    sides: tuple[int, int] | None = None,
    alignment: str = "bottom_right",
    scale: float | None = None,
    dead_rows: str = "zeros",
) -> tuple[Truth, ...]:
    """Scaled dot-product attention of every text of a pack.

    Args:
        query (T_q, H, d), key (T_k, H_kv, d), value (T_k, H_kv, d_v): the texts one behind the other; rows beyond the
            last text are not read.
        lengths: (n_q, n_kv) of each text. is_causal, sides, alignment: as in `text_mask`.
        scale, dead_rows: as in `attention`.
    Returns: one Truth for each text, of shapes (1, H, n_q, ...).
    Example:
        >>> packed_attention([[[0.0]]], [[[0.0]], [[0.0]]], [[[1.0]], [[3.0]]], [(1, 2)])[0].out.tolist()
        [[[[2.0]]]]

    Source: derivations/attention.md (matrix), a text at a time; Dao, flash-attention, flash_attn_varlen_func.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    found = []
    for one, (n_q, n_kv) in zip(split_texts(q, k, v, lengths), lengths, strict=True):
        mask = text_mask(n_q, n_kv, is_causal=is_causal, sides=sides, alignment=alignment)
        found.append(attention(*one, mask, scale=scale, dead_rows=dead_rows))
    return tuple(found)


def split_texts(
    query: Array, key: Array, value: Array, lengths: Sequence[tuple[int, int]]
) -> list[tuple[Array, Array, Array]]:
    """(1, H, n_q, d), (1, H_kv, n_kv, d) and (1, H_kv, n_kv, d_v) of every text."""
    ends_q, ends_k = (np.cumsum([0, *(pair[i] for pair in lengths)]) for i in (0, 1))

    def part(x: Array, ends: npt.NDArray[np.int64], i: int) -> Array:
        return x[ends[i] : ends[i + 1]].swapaxes(0, 1)[None]

    return [
        (part(query, ends_q, i), part(key, ends_k, i), part(value, ends_k, i)) for i in range(len(lengths))
    ]  # fmt: skip


def text_mask(
    n_q: int, n_kv: int, *, is_causal: bool = False, sides: tuple[int, int] | None = None,
    alignment: str = "bottom_right",
) -> BoolArray | None:  # fmt: skip
    """Which key each query of a text may attend; None for all of them.

    Args: is_causal: no later key; sides: (left, right), at most so many keys to either side, -1 for any number.
    Returns: bool (n_q, n_kv) or None.
    Example:
        >>> text_mask(1, 3, sides=(1, 0)).tolist()
        [[False, True, True]]
    """
    masks = [causal_mask(n_q, n_kv, alignment)] if is_causal else []
    masks += [window(n_q, n_kv, *sides, alignment)] if sides is not None else []
    return np.logical_and.reduce(masks) if masks else None
