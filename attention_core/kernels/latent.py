"""Latent attention (DeepSeek's MLA), materialised and absorbed: the same function with other costs.

Materialised, every head has its keys and values in full, which pays for many queries. Absorbed, queries are projected
down to the latent and the mean of the latents up, so that decoding reads r + d_rope numbers a token.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def materialised_latent_attention(
    q_nope: Float[Tensor, "B H n_q d"],
    q_rope: Float[Tensor, "B H n_q d_rope"],
    c_kv: Float[Tensor, "B n_kv r"],
    k_rope: Float[Tensor, "B n_kv d_rope"],
    w_uk: Float[Tensor, "H d r"],
    w_uv: Float[Tensor, "H d_v r"],
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Attention with the keys and values of every head.

    Args: q_rope, k_rope: the parts with positions, already rotated; c_kv: the latents; w_uk, w_uv: the up-projections
        of keys and values; is_causal: the queries are the last tokens; scale: None = 1/sqrt(d + d_rope).
    Returns: (B, H, n_q, d_v) in the query's dtype. Two-byte inputs are computed in float32.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> x, w = torch.ones(1, 1, 1, 1), torch.full((1, 1, 1), 3.0)
        >>> materialised_latent_attention(x, x, x[0], x[0], w, w).item()
        3.0

    Source: derivations/latent.md (absorbed-key, absorbed-value); DeepSeek-V2 (2024), section 2.1.
    """
    query, rotated, latent, key_rope, up_key, up_value = _prepare(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv)
    keys, values = (torch.einsum("har,bnr->bhna", up, latent) for up in (up_key, up_value))
    scores = query @ keys.mT + rotated @ key_rope[:, None].mT
    return (_weigh(scores, q_nope, q_rope, is_causal, scale) @ values).to(q_nope.dtype)


def absorbed_latent_attention(
    q_nope: Float[Tensor, "B H n_q d"],
    q_rope: Float[Tensor, "B H n_q d_rope"],
    c_kv: Float[Tensor, "B n_kv r"],
    k_rope: Float[Tensor, "B n_kv d_rope"],
    w_uk: Float[Tensor, "H d r"],
    w_uv: Float[Tensor, "H d_v r"],
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Attention to the latents themselves, with one key head for all queries.

    Args, Returns, Raises: as `materialised_latent_attention`.
    Example:
        >>> x, w = torch.ones(1, 1, 1, 1), torch.full((1, 1, 1), 3.0)
        >>> absorbed_latent_attention(x, x, x[0], x[0], w, w).item()
        3.0

    Source: derivations/latent.md (absorbed-key, absorbed-value, one-scale); DeepSeek-V2 (2024), section 2.1.
    """
    query, rotated, latent, key_rope, up_key, up_value = _prepare(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv)
    scores = (query @ up_key) @ latent[:, None].mT + rotated @ key_rope[:, None].mT
    means = _weigh(scores, q_nope, q_rope, is_causal, scale) @ latent[:, None]
    return (means @ up_value.mT).to(q_nope.dtype)


def _weigh(scores: Tensor, q_nope: Tensor, q_rope: Tensor, is_causal: bool, scale: float | None) -> Tensor:
    """The weights of unscaled scores."""
    scores = scores * ((q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5 if scale is None else scale)
    if is_causal:
        n_q, n_kv = scores.shape[-2:]
        later = torch.ones(n_q, n_kv, dtype=torch.bool, device=scores.device).triu(n_kv - n_q + 1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1)


def _prepare(*inputs: Tensor) -> tuple[Tensor, ...]:
    """All inputs in float32 or float64.

    Raises: ValueError where shapes contradict each other.
    """
    query, rotated, latent, *_, up_value = inputs
    B, H, n_q, d = query.shape
    n_kv, r = latent.shape[1:]
    expected = [
        (B, H, n_q, d), (B, H, n_q, rotated.shape[-1]), (B, n_kv, r), (B, n_kv, rotated.shape[-1]), (H, d, r),
        (H, up_value.shape[1], r),
    ]  # fmt: skip
    if [tuple(x.shape) for x in inputs] != expected:
        shapes = ", ".join(str(tuple(x.shape)) for x in inputs)
        raise ValueError(
            "inputs are (B, H, n_q, d), (B, H, n_q, d_rope), (B, n_kv, r), (B, n_kv, d_rope), (H, d, r) and "
            f"(H, d_v, r); got {shapes}"
        )
    wide = torch.promote_types(query.dtype, torch.float32)
    return tuple(x.to(wide) for x in inputs)
