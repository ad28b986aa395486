"""Linear attention with a state: token by token, and block by block with a state between the blocks.

Both serve plain sums (linear attention), a decay for each head (retention) or feature (gated linear attention), the
delta rule with a decay for each token or feature (Kimi delta attention), and state spaces with a step (Mamba-2). Texts
may be packed. Two-byte inputs are computed in float32, and so is the state.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Gates = Float[Tensor, " H"] | Float[Tensor, "B H n"] | Float[Tensor, "B H n d"]
State = Float[Tensor, "N H d d_v"]
"""A state of each row of the batch, or of each text of a pack."""
Result = Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], State]


def recurrent_linear_attention(
    query: Float[Tensor, "B H n d"],
    key: Float[Tensor, "B H n d"],
    value: Float[Tensor, "B H n d_v"],
    *,
    log_decay: Gates | None = None,
    beta: Float[Tensor, "B H n"] | None = None,
    scale: float | None = None,
    initial_state: State | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, " ends"] | None = None,
) -> Result:
    """Fade the state, add the token, read: one token after the other.

    Args: log_decay, of each head, token or feature, None = 0; beta: with it, the delta rule takes out beta of what the
        key holds before beta of the value goes in; scale, None = 1/sqrt(d); initial_state, None = 0, of each row or
        text; cu_seqlens: where the texts of the one row end, each of which begins with a state of its own.
    Returns: (B, H, n, d_v) in the query's dtype, with `output_final_state` also the last state, float32 or wider.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> x = torch.ones(1, 1, 3, 1)
        >>> recurrent_linear_attention(x, x, x, scale=1.0).flatten()
        tensor([1., 2., 3.])

    Source: derivations/linear_attention.md (state-sum); Katharopoulos et al. 2020; Yang et al. 2024, gated delta rule.
    """
    q, k, v, fade, state = _prepare(query, key, value, log_decay, initial_state, cu_seqlens)
    weight = None if beta is None else beta.to(q.dtype)
    out, state = _for_each_text(_recur, q, k, v, fade, weight, state, cu_seqlens)
    out = (out * (q.shape[-1] ** -0.5 if scale is None else scale)).to(query.dtype)
    return (out, state) if output_final_state else out


def chunked_linear_attention(
    query: Float[Tensor, "B H n d"],
    key: Float[Tensor, "B H n d"],
    value: Float[Tensor, "B H n d_v"],
    *,
    log_decay: Gates | None = None,
    beta: Float[Tensor, "B H n"] | None = None,
    scale: float | None = None,
    initial_state: State | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, " ends"] | None = None,
    block: int = 16,
) -> Result:
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
    q, k, v, fade, state = _prepare(query, key, value, log_decay, initial_state, cu_seqlens)
    weight = None if beta is None else beta.to(q.dtype)

    def attend(q: Tensor, k: Tensor, v: Tensor, fade: Tensor, beta: Tensor | None, state: Tensor) -> Part:
        outs = [v[:, :, :0]]
        for start in range(0, q.shape[2], block):
            rows = slice(start, start + block)
            gate = None if beta is None else beta[:, :, rows]
            out, state = _attend_block(q[:, :, rows], k[:, :, rows], v[:, :, rows], fade[:, :, rows], gate, state)
            outs.append(out)
        return torch.cat(outs, 2), state

    out, state = _for_each_text(attend, q, k, v, fade, weight, state, cu_seqlens)
    out = (out * (q.shape[-1] ** -0.5 if scale is None else scale)).to(query.dtype)
    return (out, state) if output_final_state else out


def state_space_dual(
    x: Float[Tensor, "B n H d_v"],
    dt: Float[Tensor, "B n H"],
    A: Float[Tensor, " H"],
    B: Float[Tensor, "B n groups d"],
    C: Float[Tensor, "B n groups d"],
    chunk_size: int = 16,
    *,
    initial_states: Float[Tensor, "B H d_v d"] | None = None,
    seq_idx: Int[Tensor, "B n"] | None = None,
    return_final_states: bool = False,
) -> Float[Tensor, "B n H d_v"] | tuple[Float[Tensor, "B n H d_v"], Float[Tensor, "B H d_v d"]]:
    """Mamba-2 in chunks: S_t = e^(dt A) S_(t-1) + dt x_t B_t^T, y_t = S_t C_t, called as mamba_ssm's kernel is.

    Args: x, dt, and the rates A, below 0; B, C: one for the heads of a group; chunk_size: tokens of a block;
        initial_states, None = 0; seq_idx: the text of each token, in rising order: a text begins with a state of 0.
    Returns: (B, n, H, d_v) in x's dtype, with `return_final_states` also the state of each row's last text.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> one = torch.ones(1, 3, 1, 1)
        >>> state_space_dual(one, one[..., 0], torch.zeros(1), one, one).flatten()
        tensor([1., 2., 3.])

    Source: Dao and Gu 2024, equation 1; derivations/linear_attention.md (state-sum).
    """
    wide, H = torch.promote_types(x.dtype, torch.float32), x.shape[2]
    query, key = (one.to(wide).repeat_interleave(H // one.shape[2], 2).transpose(1, 2) for one in (C, B))
    step = dt.to(wide).transpose(1, 2)
    value, decay = step[..., None] * x.to(wide).transpose(1, 2), step * A.to(wide)[:, None]
    rows, states = [], []
    for row in range(len(x)):
        one = slice(row, row + 1)
        start = None if initial_states is None else initial_states[one].to(wide).mT
        ends = None if seq_idx is None else _ends_of(seq_idx[row])
        if ends is not None and start is not None:
            start = torch.cat([start, start.new_zeros(len(ends) - 2, *start.shape[1:])])
        out, state = chunked_linear_attention(
            query[one], key[one], value[one], log_decay=decay[one], scale=1.0, initial_state=start,
            output_final_state=True, cu_seqlens=ends, block=chunk_size,
        )  # fmt: skip
        rows.append(out)
        states.append(state[-1:])
    y = torch.cat(rows).transpose(1, 2).to(x.dtype)
    return (y, torch.cat(states).mT) if return_final_states else y


def _ends_of(texts: Tensor) -> Tensor:
    """Where the runs of equal numbers end, from 0."""
    borders = torch.nonzero(texts[1:] != texts[:-1])[:, 0] + 1
    return torch.cat([borders.new_zeros(1), borders, borders.new_full((1,), len(texts))])


Part = tuple[Tensor, Tensor]
"""Outputs and the state after them."""


def _for_each_text(
    attend: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor], Part], q: Tensor, k: Tensor, v: Tensor,
    fade: Tensor, beta: Tensor | None, state: Tensor, cu_seqlens: Tensor | None,
) -> Part:  # fmt: skip
    """Outputs and last states; those of packed texts one after the other."""
    if cu_seqlens is None:
        return attend(q, k, v, fade, beta, state)
    outs, states, ends = [v[:, :, :0]], [], cu_seqlens.tolist()
    for i in range(len(ends) - 1):
        rows = slice(ends[i], ends[i + 1])
        gate = None if beta is None else beta[:, :, rows]
        out, last = attend(q[:, :, rows], k[:, :, rows], v[:, :, rows], fade[:, :, rows], gate, state[i : i + 1])
        outs.append(out)
        states.append(last)
    return torch.cat(outs, 2), torch.cat(states) if states else state


def _recur(q: Tensor, k: Tensor, v: Tensor, fade: Tensor, beta: Tensor | None, state: Tensor) -> Part:
    """One token after the other."""
    outs = [v[:, :, :0]]
    for t in range(q.shape[2]):
        state = fade[:, :, t].exp()[..., None] * state
        new = v[:, :, t]
        if beta is not None:
            new = beta[:, :, t, None] * (new - (k[:, :, t, None] @ state)[:, :, 0])
        state = state + k[:, :, t, :, None] * new[:, :, None]
        outs.append(q[:, :, t, None] @ state)
    return torch.cat(outs, 2), state


def _attend_block(
    q: Tensor, k: Tensor, v: Tensor, fade: Tensor, beta: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The outputs of one block, unscaled, and the state after it."""
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
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_decay: Tensor | None,
    initial_state: Tensor | None,
    cu_seqlens: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value, the log decays (B, H, n, d) and the first states, all in float32 or float64."""
    if query.shape != key.shape or value.shape[:-1] != key.shape[:-1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        raise ValueError(f"query and key are (B, H, n, d), value is (B, H, n, d_v); got {shapes}")
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (query, key, value))
    if cu_seqlens is not None and (len(q) != 1 or cu_seqlens[-1] != q.shape[2]):
        raise ValueError(f"packed texts lie in one row and end at {int(cu_seqlens[-1])}, got {tuple(q.shape)}")
    first = (len(q) if cu_seqlens is None else len(cu_seqlens) - 1, k.shape[1], k.shape[3], v.shape[3])
    if initial_state is not None and initial_state.shape != first:
        raise ValueError(f"initial_state is {first}, got {tuple(initial_state.shape)}")
    state = q.new_zeros(first) if initial_state is None else initial_state.to(wide)
    fade = q.new_zeros(()) if log_decay is None else log_decay.to(wide)
    fade = fade[:, None, None] if fade.dim() == 1 else fade[..., None] if fade.dim() == 3 else fade
    return q, k, v, fade.expand(k.shape), state
