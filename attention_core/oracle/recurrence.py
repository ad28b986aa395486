"""Linear attention in float64, by its recurrence: a state of keys times values that every token adds to and reads.

The state S is (d, d_v) for each head. A token first fades it, then (delta rule) takes out what its key holds, adds its
own key times value, and reads it with its query.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from attention_core.oracle.truth import Array


def linear_attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    log_decay: npt.ArrayLike | None = None,
    beta: npt.ArrayLike | None = None,
    initial_state: npt.ArrayLike | None = None,
    *,
    scale: float | None = None,
) -> tuple[Array, Array]:
    """Outputs and the last state of S_t = (I - beta_t k_t k_t^T) diag(e^g_t) S_{t-1} + beta_t k_t v_t^T.

    Without `beta`, S_t = diag(e^g_t) S_{t-1} + k_t v_t^T. Then o_t = scale * S_t^T q_t.

    Args:
        query, key (B, H, n, d), value (B, H, n, d_v).
        log_decay: g, broadcast to (B, H, n, d); None is 0. beta: (B, H, n), with it the delta rule.
        initial_state: (B, H, d, d_v); None is 0. scale: None is 1/sqrt(d).
    Returns: outputs (B, H, n, d_v) and the state behind the last token (B, H, d, d_v).
    Example:
        >>> linear_attention([[[[2.0]]]], [[[[3.0]]]], [[[[1.0]]]], initial_state=[[[[5.0]]]])[0].item()
        16.0

    Source: derivations/linear_attention.md (state-sum); Katharopoulos et al. 2020; Yang et al. 2023 (GLA), 2024 (gated
    delta rule).
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    g = np.broadcast_to(0.0 if log_decay is None else np.asarray(log_decay, dtype=np.float64), k.shape)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    state = np.zeros((*k.shape[:2], k.shape[-1], v.shape[-1]))
    state = state if initial_state is None else np.array(initial_state, dtype=np.float64)
    out = np.zeros(v.shape)
    for t in range(k.shape[2]):
        state = np.exp(g[:, :, t, :, None]) * state
        new = v[:, :, t]
        if beta is not None:
            held = (k[:, :, t, :, None] * state).sum(axis=-2)
            new = np.asarray(beta, dtype=np.float64)[:, :, t, None] * (new - held)
        state = state + k[:, :, t, :, None] * new[:, :, None]
        out[:, :, t] = scale * (q[:, :, t, :, None] * state).sum(axis=-2)
    return out, state
