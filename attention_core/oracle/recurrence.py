"""Linear attention in float64, by its recurrence: a state of keys times values that every token adds to and reads.

The state S is (d, d_v) for each head. A token first fades it, then (delta rule) takes out what its key holds, adds its
own key times value, and reads it with its query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    Returns: outputs (B, H, n, d_v) and the state after the last token (B, H, d, d_v).
    Example:
        >>> linear_attention([[[[2.0]]]], [[[[3.0]]]], [[[[1.0]]]], initial_state=[[[[5.0]]]])[0].item()
        16.0

    Source: derivations/linear_attention.md (state-sum); Katharopoulos et al. 2020; Yang et al. 2023 (GLA), 2024 (gated
    delta rule).
    """
    q, k, v, g, scale = _in_float64(query, key, value, log_decay, scale)
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


@dataclass(frozen=True)
class LinearGradients:
    """Gradients of linear attention, float64, with the shapes of what they are of.

    `log_decay` (B, H, n, d) is always there, `beta` None without it. `state` is that of the first state. `new`, of the
    value's shape, is the gradient of what a token adds under its key.
    """

    query: Array
    key: Array
    value: Array
    log_decay: Array
    beta: Array | None
    state: Array
    new: Array


def linear_attention_gradients(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    log_decay: npt.ArrayLike | None = None,
    beta: npt.ArrayLike | None = None,
    initial_state: npt.ArrayLike | None = None,
    *,
    scale: float | None = None,
    out: npt.ArrayLike | None = None,
    state: npt.ArrayLike | None = None,
) -> LinearGradients:
    """Gradients of <outputs, out> + <last state, state>, token by token from the last.

    With F_t = diag(e^g_t) S_(t-1), u_t = beta_t (v_t - F_t^T k_t) and R_n the cotangent of the last state:
    R_t += scale q_t out_t^T, dq_t = scale S_t out_t, w_t = R_t^T k_t, dv_t = beta_t w_t,
    dbeta_t = <w_t, v_t - F_t^T k_t>, dk_t = R_t u_t - beta_t F_t w_t, R = R_t - beta_t k_t w_t^T,
    dg_t = rowsum(R F_t), R_(t-1) = diag(e^g_t) R.

    Args:
        query, key, value, log_decay, beta, initial_state, scale: as in `linear_attention`.
        out: cotangent of the outputs (B, H, n, d_v), state: of the last state (B, H, d, d_v); None is 0.
    Returns: LinearGradients.
    Example:
        >>> one = np.ones((1, 1, 1, 1))
        >>> linear_attention_gradients(2 * one, one, 3 * one, out=one, scale=1.0).query.item()
        3.0

    Source: derivations/linear_attention.md (d-token, d-fade).
    """
    q, k, v, g, scale = _in_float64(query, key, value, log_decay, scale)
    empty = np.zeros((*k.shape[:2], k.shape[-1], v.shape[-1]))
    c = np.zeros(v.shape) if out is None else np.asarray(out, dtype=np.float64)
    back = empty.copy() if state is None else np.array(state, dtype=np.float64)
    weight = np.ones(k.shape[:3]) if beta is None else np.asarray(beta, dtype=np.float64)
    faded, rest, states = _forward(k, v, g, None if beta is None else weight, empty, initial_state)
    found = {
        name: np.zeros(x.shape) for name, x in {"query": q, "key": k, "value": v, "log_decay": k, "new": v}.items()
    }
    by_beta = np.zeros(weight.shape)
    for t in reversed(range(k.shape[2])):
        key_t, b = k[:, :, t, :, None], weight[:, :, t, None]
        found["query"][:, :, t] = scale * (states[t] * c[:, :, t, None]).sum(axis=-1)
        back = back + scale * q[:, :, t, :, None] * c[:, :, t, None]
        new = (back * key_t).sum(axis=-2)
        found["new"][:, :, t], found["value"][:, :, t] = new, b * new
        found["key"][:, :, t] = (back * (b * rest[t])[:, :, None]).sum(axis=-1)
        if beta is not None:
            by_beta[:, :, t] = (new * rest[t]).sum(axis=-1)
            found["key"][:, :, t] -= (faded[t] * (b * new)[:, :, None]).sum(axis=-1)
            back = back - key_t * (b * new)[:, :, None]
        found["log_decay"][:, :, t] = (back * faded[t]).sum(axis=-1)
        back = np.exp(g[:, :, t, :, None]) * back
    return LinearGradients(**found, beta=None if beta is None else by_beta, state=back)


def _in_float64(
    query: npt.ArrayLike, key: npt.ArrayLike, value: npt.ArrayLike, log_decay: npt.ArrayLike | None, scale: float | None
) -> tuple[Array, Array, Array, Array, float]:
    """Query, key, value and the log decay of every feature in float64, and the scale; with their defaults filled in."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    g = np.broadcast_to(0.0 if log_decay is None else np.asarray(log_decay, dtype=np.float64), k.shape)
    return q, k, v, g, 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale


def _forward(
    k: Array, v: Array, g: Array, beta: Array | None, empty: Array, initial_state: npt.ArrayLike | None
) -> tuple[list[Array], list[Array], list[Array]]:
    """Of every token: the faded state, the value less what the key holds (delta rule), and the state after it."""
    state = empty if initial_state is None else np.array(initial_state, dtype=np.float64)
    faded, rest, states = [], [], []
    for t in range(k.shape[2]):
        faded.append(np.exp(g[:, :, t, :, None]) * state)
        rest.append(v[:, :, t] if beta is None else v[:, :, t] - (k[:, :, t, :, None] * faded[-1]).sum(axis=-2))
        new = rest[-1] if beta is None else beta[:, :, t, None] * rest[-1]
        state = faded[-1] + k[:, :, t, :, None] * new[:, :, None]
        states.append(state)
    return faded, rest, states
