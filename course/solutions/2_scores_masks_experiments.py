"""Answers to the exercises of notebook 2."""

from __future__ import annotations

import torch

# %% variance
variance = r"h \sigma^4 + 2 \sigma^2 \|\mu\|^2"

# %% divisor
divisor = r"\sqrt{h}"

# %% slope
slope = "-p_i p_j"

# %% distance
distance = r"\tfrac{1}{2} \|q\|^2 + \tfrac{1}{2} \|k\|^2"


# %% window_mask
def window_mask(n_q, n_kv, W):
    """Return (n_q, n_kv) of bools, True where the query sees the key."""
    behind = torch.arange(n_q)[:, None] - torch.arange(n_kv)
    return (behind >= 0) & (behind < W)


# %% attention
def attention(query, key, value, attn_mask=None, is_causal=False):
    """Return scaled dot-product attention, (B, H, n_q, d_v)."""
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    if attn_mask is not None:
        seen = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if seen else scores + attn_mask
    blind = (scores == -torch.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0.0), -1)
    return weights.masked_fill(blind, 0.0) @ value


# %% left
left = r"\frac{Z}{Z + T}"


# %% causal_weights
def causal_weights(scores):
    """Return the weights of causal attention."""
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), -1)


# %% share
share = r"\frac{1}{1 + e^{(1 - \epsilon) S}}"


# %% position_table
def position_table(n, d):
    """Return (n, d): the vectors of places 0 to n - 1."""
    angle = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


# %% distance_bias
def distance_bias(H, n_q, n_kv):
    """Return (H, n_q, n_kv), to be added to the scores."""
    power = 1 << (H.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    slopes += [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)][: H - power]
    behind = torch.arange(n_kv - n_q, n_kv)[:, None] - torch.arange(n_kv)
    return -torch.tensor(slopes)[:, None, None] * behind
