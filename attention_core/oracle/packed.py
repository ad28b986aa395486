"""Texts that lie one after the other: their parts, and which keys a query attends; each text is by itself.

A text has n_q queries and n_kv keys, and sees no other text. Where texts have fewer queries than keys, the queries are
the last tokens (bottom right), as in decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attention_core.oracle.masks import BoolArray, causal_mask, window
from attention_core.oracle.truth import Array


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
