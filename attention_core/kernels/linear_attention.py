"""Linear attention with a state: token by token, and block by block with a state between the blocks.

Both serve plain sums (linear attention), a decay for each head (retention), for each feature (gated linear attention)
and the gated delta rule. Two-byte inputs are computed in float32, and so is the state.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

Gates = Float[Tensor, " H"] | Float[Tensor, "B H n"] | Float[Tensor, "B H n d"]


def recurrent_linear_attention(
    query: Float[Tensor, "B H n d"],
    key: Float[Tensor, "B H n d"],
    value: Float[Tensor, "B H n d_v"],
    *,
    log_decay: Gates | None = None,
    beta: Float[Tensor, "B H n"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "B H d d_v"] | None = None,
    output_final_state: bool = False,
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d d_v"]]:
    """Fade the state, add the token, read: one token after the other.

    Args: log_decay, of each head, token or feature, None = 0; beta: with it, the delta rule takes out beta of what the
        key holds before beta of the value goes in; scale, None = 1/sqrt(d); initial_state, None = 0.
    Returns: (B, H, n, d_v) in the query's dtype, with `output_final_state` also the last state, float32 or wider.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> x = torch.ones(1, 1, 3, 1)
        >>> recurrent_linear_attention(x, x, x, scale=1.0).flatten()
        tensor([1., 2., 3.])

    Source: derivations/linear_attention.md (state-sum); Katharopoulos et al. 2020; Yang et al. 2024, gated delta rule.
    """
    q, k, v, fade, state = _prepare(query, key, value, log_decay, initial_state)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    outs = []
    for t in range(q.shape[2]):
        state = fade[:, :, t].exp()[..., None] * state
        new = v[:, :, t]
        if beta is not None:
            new = beta[:, :, t, None] * (new - (k[:, :, t, None] @ state)[:, :, 0])
        state = state + k[:, :, t, :, None] * new[:, :, None]
        outs.append(scale * (q[:, :, t, None] @ state))
    out = torch.cat(outs, 2) if outs else v
    return (out.to(query.dtype), state) if output_final_state else out.to(query.dtype)


def chunked_linear_attention(
    query: Float[Tensor, "B H n d"],
    key: Float[Tensor, "B H n d"],
    value: Float[Tensor, "B H n d_v"],
    *,
    log_decay: Gates | None = None,
    beta: Float[Tensor, "B H n"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "B H d d_v"] | None = None,
    output_final_state: bool = False,
    block: int = 16,
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d d_v"]]:
    """Attend within blocks of tokens, and to everything before a block by its state.

    Decays between two tokens are exponentials of differences, which are at most 0: none overflows.

    Args: as `recurrent_linear_attention`; block: tokens of a block.
    Returns, Raises: as `recurrent_linear_attention`.
    Example:
        >>> x = torch.ones(1, 1, 3, 1)
        >>> chunked_linear_attention(x, x, x, scale=1.0, block=2).flatten()
        tensor([1., 2., 3.])

    Source: derivations/linear_attention.md (two-parts); Yang et al. 2023 and 2024, the chunkwise forms.
    """
    q, k, v, fade, state = _prepare(query, key, value, log_decay, initial_state)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    outs = []
    for start in range(0, q.shape[2], block):
        rows = slice(start, start + block)
        weight = None if beta is None else beta[:, :, rows].to(q.dtype)
        out, state = _attend_block(q[:, :, rows], k[:, :, rows], v[:, :, rows], fade[:, :, rows], weight, state)
        outs.append(scale * out)
    joined = torch.cat(outs, 2) if outs else v
    return (joined.to(query.dtype), state) if output_final_state else joined.to(query.dtype)


def _attend_block(
    q: Tensor, k: Tensor, v: Tensor, fade: Tensor, beta: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The outputs of one block, unscaled, and the state behind it."""
    total = fade.cumsum(2)
    later = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu(1)
    between = (total[:, :, :, None] - total[:, :, None]).masked_fill(later[:, :, None], -torch.inf).exp()
    new = v
    if beta is not None:
        met = torch.einsum("bhic,bhjc,bhijc->bhij", k, k, between).tril(-1)
        held = (k * total.exp()) @ state
        system = beta[..., None] * met + torch.eye(q.shape[2], dtype=q.dtype, device=q.device)
        new = torch.linalg.solve_triangular(system, beta[..., None] * (v - held), upper=False)
    scores = torch.einsum("bhic,bhjc,bhijc->bhij", q, k, between)
    out = scores @ new + (q * total.exp()) @ state
    last = total[:, :, -1:]
    state = last.exp().transpose(-1, -2) * state + (k * (last - total).exp()).transpose(-1, -2) @ new
    return out, state


def _prepare(
    query: Tensor, key: Tensor, value: Tensor, log_decay: Tensor | None, initial_state: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value, the log decays (B, H, n, d) and the first state, all in float32 or float64."""
    if query.shape != key.shape or value.shape[:-1] != key.shape[:-1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        raise ValueError(f"query and key are (B, H, n, d), value is (B, H, n, d_v); got {shapes}")
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (query, key, value))
    first = (*k.shape[:2], k.shape[3], v.shape[3])
    if initial_state is not None and initial_state.shape != first:
        raise ValueError(f"initial_state is {first}, got {tuple(initial_state.shape)}")
    state = q.new_zeros(first) if initial_state is None else initial_state.to(wide)
    fade = q.new_zeros(()) if log_decay is None else log_decay.to(wide)
    fade = fade[:, None, None] if fade.dim() == 1 else fade[..., None] if fade.dim() == 3 else fade
    return q, k, v, fade.expand(k.shape), state
