"""How far a computed score of an indexer may be from the true one, so that a choice of keys can be judged by it.

Tags in comments name steps of derivations/chosen_keys.md.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.rounding import Array

STORES = 5
"""Roundings of a term beside those of its sums: the product of a head, a scale and its own, the weight's product, the
score that is stored."""


def score_errors(query: Array, key: Array, weights: Array, *, dtype: str, accumulate: str) -> Array:
    """The largest distance of a computed score from sum_h w_h max(q_h . k_j, 0).

    Args: query (B, n_q, H, d), key (B, n_kv, d), weights (B, n_q, H). Returns: (B, n_q, n_kv).
    Raises: ValueError for an unknown accumulate.
    Source: derivations/chosen_keys.md (score-error).

    Example:
        >>> one = np.ones((1, 1, 1, 1))
        >>> float(score_errors(one, one[0], one[0], dtype="float32", accumulate="float32").squeeze()) < 1e-6
        True
    """
    fmt = float_format(dtype, accumulate)
    H, d = query.shape[-2:]
    factor = (1 + gamma(d, fmt.a)) * (1 + gamma(H + STORES, fmt.w)) - 1
    size = np.einsum("bqh,bqhd,bkd->bqk", np.abs(weights), np.abs(query), np.abs(key))
    lost = (d + 2) * fmt.flush_between * np.abs(weights).sum(-1) + (H + 1) * fmt.flush_between
    return np.asarray(factor * size + lost[..., None])
