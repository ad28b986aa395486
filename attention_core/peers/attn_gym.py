"""attention-gym's masks and biases for flex_attention, each as what it builds.

Its window looks back over `window_size` keys and the token's own: W keys are those of `window_size=W - 1`, as its
docstring says.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def build_mask(mask_mod: Any, n_q: int, n_kv: int) -> Tensor:
    """The mask of a mask_mod, (n_q, n_kv)."""
    i, j = torch.arange(n_q)[:, None], torch.arange(n_kv)
    zero = torch.zeros((), dtype=torch.long)
    return torch.broadcast_to(mask_mod(zero, zero, i, j), (n_q, n_kv))


def causal_mask(n_q: int, n_kv: int) -> Tensor:
    """causal_mask."""
    from attn_gym.masks import causal_mask as causal

    return build_mask(causal, n_q, n_kv)


def window_mask(n_q: int, n_kv: int, W: int) -> Tensor:
    """generate_sliding_window."""
    from attn_gym.masks import generate_sliding_window

    return build_mask(generate_sliding_window(W - 1), n_q, n_kv)


def prefix_mask(n_q: int, n_kv: int, P: int) -> Tensor:
    """generate_prefix_lm_mask."""
    from attn_gym.masks import generate_prefix_lm_mask

    return build_mask(generate_prefix_lm_mask(P), n_q, n_kv)


def alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    """generate_alibi_bias, as (H, n_q, n_kv); fewer queries than keys are the last ones."""
    from attn_gym.mods import generate_alibi_bias

    h, i, j = torch.arange(H)[:, None, None], torch.arange(n_kv - n_q, n_kv)[:, None], torch.arange(n_kv)
    bias: Tensor = generate_alibi_bias(H)(torch.zeros(H, n_q, n_kv), torch.zeros((), dtype=torch.long), h, i, j)
    return bias


def softcap(query: Tensor, key: Tensor, value: Tensor, softcap: float | None = None) -> Any:
    """flex_attention without torch.compile under generate_tanh_softcap."""
    from attn_gym.mods import generate_tanh_softcap
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, score_mod=generate_tanh_softcap(softcap) if softcap else None)
