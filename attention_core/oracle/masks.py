"""Which key may be attended by which query: the masks as sets of pairs (i, j).

Every function writes its set definition as one comparison of index arrays, so that it can be read
against the formula. `alignment` says which query faces which key when n_q differs from n_kv.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]


def _offset(n_q: int, n_kv: int, alignment: str) -> int:
    """Position of query 0 among the keys: 0 (top_left) or n_kv - n_q (bottom_right)."""
    if alignment == "top_left":
        return 0
    if alignment == "bottom_right":
        return n_kv - n_q
    raise ValueError(f"alignment must be 'top_left' or 'bottom_right', got {alignment!r}")


def _positions(n_q: int, n_kv: int, alignment: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of the queries as a column and of the keys as a row."""
    return (np.arange(n_q) + _offset(n_q, n_kv, alignment))[:, None], np.arange(n_kv)[None, :]


def causal_mask(n_q: int, n_kv: int, alignment: str = "top_left") -> BoolArray:
    """Keys not later than the query: {(i, j) : j <= i + o}, o = 0 or n_kv - n_q.

    Returns: bool (n_q, n_kv), True where query i may attend key j.
    Example:
        >>> causal_mask(1, 3, "bottom_right").tolist()
        [[True, True, True]]
    """
    i, j = _positions(n_q, n_kv, alignment)
    return np.asarray(j <= i, dtype=np.bool_)


def sliding_window(n_q: int, n_kv: int, W: int, alignment: str = "top_left") -> BoolArray:
    """The last W keys up to the query's own: {(i, j) : i + o - W < j <= i + o}; W of them in the interior.

    Returns: bool (n_q, n_kv).
    Example:
        >>> sliding_window(2, 2, 1).tolist()
        [[True, False], [False, True]]
    """
    i, j = _positions(n_q, n_kv, alignment)
    return np.asarray((i - W < j) & (j <= i), dtype=np.bool_)


def window(n_q: int, n_kv: int, left: int, right: int, alignment: str = "bottom_right") -> BoolArray:
    """Up to `left` keys before the query's own and `right` after it: {(i, j) : i + o - left <= j <= i + o + right}.

    Args: left, right: numbers of keys; -1 for any number.
    Returns: bool (n_q, n_kv).
    Example:
        >>> window(2, 2, 0, -1).tolist()
        [[True, True], [False, True]]
    """
    i, j = _positions(n_q, n_kv, alignment)
    low = np.ones((n_q, n_kv), dtype=np.bool_) if left < 0 else j >= i - left
    return np.asarray(low & (np.True_ if right < 0 else j <= i + right), dtype=np.bool_)


def prefix(n_q: int, n_kv: int, P: int, alignment: str = "top_left") -> BoolArray:
    """Every query sees the first P keys and is causal after: {(i, j) : j < P or j <= i + o}.

    Returns: bool (n_q, n_kv).
    Example:
        >>> bool((prefix(5, 5, 0) == causal_mask(5, 5)).all())
        True
    """
    i, j = _positions(n_q, n_kv, alignment)
    return np.asarray((j < P) | (j <= i), dtype=np.bool_)


def padding(n_q: int, n_kv: int, lengths: npt.ArrayLike) -> BoolArray:
    """Only the real keys of each sequence: {(b, i, j) : j < lengths_b}.

    Args: lengths (B,), numbers of real keys. Returns: bool (B, 1, n_q, n_kv).
    Example:
        >>> padding(1, 2, [1]).tolist()
        [[[[True, False]]]]
    """
    real = np.arange(n_kv) < np.asarray(lengths, dtype=np.int64)[:, None]
    return np.ascontiguousarray(np.broadcast_to(real[:, None, None, :], (len(real), 1, n_q, n_kv)))


def segments(n_q: int, n_kv: int, ids: npt.ArrayLike, alignment: str = "top_left") -> BoolArray:
    """Query and key of one segment: {(b, i, j) : ids_b[i + o] = ids_b[j]}.

    Args: ids (B, n), n at least both lengths; a query takes the id at its position.
    Returns: bool (B, 1, n_q, n_kv).
    Example:
        >>> segments(2, 2, [[0, 1]]).tolist()
        [[[[True, False], [False, True]]]]
    """
    ids = np.asarray(ids)
    start = _offset(n_q, n_kv, alignment)
    return np.asarray(ids[:, None, start : start + n_q, None] == ids[:, None, None, :n_kv], dtype=np.bool_)


def block_pairs(blocks: npt.ArrayLike, n_q: int, n_kv: int, block: tuple[int, int]) -> BoolArray:
    """The pairs of the blocks that a map allows: {(i, j) : blocks[i // b_q, j // b_kv]}; the last blocks may be short.

    Args: blocks: bool (..., ceil(n_q / b_q), ceil(n_kv / b_kv)); block: (b_q, b_kv).
    Returns: bool (..., n_q, n_kv).
    Example:
        >>> block_pairs([[True, False]], 1, 3, (2, 2)).tolist()
        [[True, True, False]]
    """
    blocks = np.asarray(blocks, dtype=np.bool_)
    rows, columns = np.arange(n_q) // block[0], np.arange(n_kv) // block[1]
    return np.asarray(blocks[..., rows[:, None], columns], dtype=np.bool_)


def allowed_or_none(
    n_q: int, n_kv: int, mask: npt.NDArray[np.generic] | None, is_causal: bool, alignment: str
) -> BoolArray | None:
    """`allowed`, or None where every pair is allowed (which spares the caller a pass over the scores)."""
    allow: BoolArray | None = None
    if mask is not None:
        allow = np.asarray(mask if mask.dtype == np.bool_ else mask != -np.inf, dtype=np.bool_)
        allow = None if allow.all() else allow
    if is_causal:
        causal = causal_mask(n_q, n_kv, alignment)
        allow = causal if allow is None else allow & causal
    return allow


def allowed(
    n_q: int,
    n_kv: int,
    mask: npt.ArrayLike | None = None,
    is_causal: bool = False,
    alignment: str = "top_left",
) -> BoolArray:
    """The pairs left by mask and causal together: {(i, j) : mask allows} and {(i, j) : j <= i + o}.

    Args: mask broadcastable to (..., n_q, n_kv): bool, True = attend, or float, where -inf alone
        forbids (a bias of -1e9 does not); is_causal, alignment as in `causal_mask`.
    Returns: bool, broadcastable to (..., n_q, n_kv).
    Example:
        >>> allowed(2, 2, [[0.0, float("-inf")]], is_causal=True).tolist()
        [[True, False], [True, False]]
    """
    given = None if mask is None else np.asarray(mask)
    allow = allowed_or_none(n_q, n_kv, given, is_causal, alignment)
    return np.ones((n_q, n_kv), dtype=np.bool_) if allow is None else allow
