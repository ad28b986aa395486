"""What a latent adds to the budget of attention: keys and values are projected up from it, or queries down to it.

Tags in comments name steps of derivations/latent.md.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.error_rows import Stored, float_format, gamma
from attention_core.conformance.budgets.rounding import Array

STORES = 3
"""Roundings of a term of a score, beside those of the dot product: a projection, a scale, a part of the score."""


def latent_errors(
    query: Array, latent: Array, key_rope: Array, up_key: Array, up_value: Array, *, scale: float, dtype: str,
    accumulate: str,
) -> Stored:  # fmt: skip
    """The errors that `forward_bound` adds where keys and values come from a latent.

    Args:
        query (B, H, n_q, d), the part without positions. latent (B, n_kv, r); key_rope (B, n_kv, d'), shared by heads.
        up_key (H, d, r), up_value (H, d_v, r): the projections. scale: of the scores.
        dtype, accumulate: as of `forward_bound`.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/latent.md (absorbed-key, absorbed-value, score-parts, latent-underflow).
    """
    fmt = float_format(dtype, accumulate)
    r, heads = latent.shape[-1], len(up_key)
    size = np.abs(latent)
    shared = np.broadcast_to(np.abs(key_rope)[:, None], (len(latent), heads, *key_rope.shape[1:]))
    key_size = np.concatenate([np.einsum("har,bnr->bhna", np.abs(up_key), size), shared], axis=-1)
    value_size = np.einsum("har,bnr->bhna", np.abs(up_value), size)
    h = (1 + gamma(STORES, fmt.native)) * (1 + gamma(r + 4, fmt.a)) - 1  # (score-parts)
    of_key = np.abs(query).sum(axis=-1).max(axis=-1)[..., None, None]  # of keys that are stored, in any row
    score_lost = abs(scale) * fmt.flush_between * (size.sum(axis=-1)[:, None, None] + of_key)  # (latent-underflow)
    lost = 2 * fmt.flush_between * (1 + np.abs(up_value).sum(axis=-1))[None, :, None]
    return Stored(key_size, value_size, h, h, lost, score_lost)
