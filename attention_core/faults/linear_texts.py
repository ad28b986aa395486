"""Faults of linear attention to packed texts, of Kimi delta attention and of state spaces, one each.

`packed(...)` is gated linear attention to texts that end at `cu_seqlens`, `state_space(...)` Mamba-2; a fault replaces
a step of theirs. Both have tokens before heads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.linear_attention import (
    BLOCK,
    STEPS,
    Attend,
    build,
    by_blocks,
    by_tokens,
    fade,
    held,
    new_value,
    visible,
)
from attention_core.faults.row import row

Ends = list[int]


# --- packed texts --------------------------------------------------------------------


def by_texts(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
    """Outputs, and the state of every text, token by token."""
    outs, last = [v[:, :, :0]], []
    for i in range(len(ends) - 1):
        rows, state = slice(ends[i], ends[i + 1]), states[i : i + 1]
        if ends[i] < ends[i + 1]:
            out, state = by_tokens(STEPS, q[:, :, rows], k[:, :, rows], v[:, :, rows], g[:, :, rows], None, state)
            outs.append(out)
        last.append(state)
    return torch.cat(outs, 2), torch.cat(last)


def packed(run: Callable[..., tuple[Tensor, Tensor]] = by_texts) -> Attend:
    """Gated linear attention, (B, n, H, d), of rows or of packed texts."""

    def attend(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False, cu_seqlens: Tensor | None = None,
    ) -> Any:  # fmt: skip
        wide = torch.promote_types(q.dtype, torch.float32)
        Q, K, V, G = (x.to(wide).transpose(1, 2) for x in (q, k, v, g))
        rows = len(q) if cu_seqlens is None else len(cu_seqlens) - 1
        state = K.new_zeros(rows, K.shape[1], K.shape[3], V.shape[3]) if initial_state is None else initial_state
        if cu_seqlens is None:
            out, state = by_tokens(STEPS, Q, K, V, G, None, state.to(wide))
        else:
            out, state = run(Q, K, V, G, state.to(wide), cu_seqlens.tolist())
        out = (out * (q.shape[-1] ** -0.5 if scale is None else scale)).transpose(1, 2).to(q.dtype)
        return (out, state) if output_final_state else out

    return attend


def state_runs_over_borders() -> Attend:
    """The texts of a pack are one text to the recurrence (THUDM/slime PR1686)."""

    def through(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        outs, last = [v[:, :, :0]], [states[:1]]
        for begin, end in pairwise(ends):
            rows, state = slice(begin, end), last[-1]
            if begin < end:
                out, state = by_tokens(STEPS, q[:, :, rows], k[:, :, rows], v[:, :, rows], g[:, :, rows], None, state)
                outs.append(out)
            last.append(state)
        last = last[1:]
        return torch.cat(outs, 2), torch.cat(last)

    return packed(through)


def border_one_token_late() -> Attend:
    """The first token of a text still belongs to the one before."""

    def late(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        return by_texts(q, k, v, g, states, [0, *(min(end + 1, ends[-1]) for end in ends[1:-1]), ends[-1]])

    return packed(late)


def first_initial_state_for_all_texts() -> Attend:
    """The pointer to the states does not move with the text."""
    return packed(lambda q, k, v, g, states, ends: by_texts(q, k, v, g, states[:1].expand(states.shape), ends))


def states_of_full_texts_alone() -> Attend:
    """A text without tokens ends with a state of zeros, whatever it began with."""

    def full(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        out, last = by_texts(q, k, v, g, states, ends)
        empty = torch.tensor([ends[i] == ends[i + 1] for i in range(len(ends) - 1)])
        return out, last.masked_fill(empty[:, None, None, None], 0.0)

    return packed(full)


def states_written_one_text_late() -> Attend:
    """The last state of a text lies at the place of the next one, that of the last text at the first."""

    def shifted(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        out, last = by_texts(q, k, v, g, states, ends)
        return out, last.roll(1, 0)

    return packed(shifted)


def initial_state_fades_from_the_chunk() -> Attend:
    """An initial state fades by the decays from the start of the chunk, not of its text (vllm-project/vllm PR23279)."""

    def early(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        begins = torch.stack([
            g[:, :, start // BLOCK * BLOCK : start].sum(2)[0] for start in ends[:-1]
        ])  # fmt: skip
        return by_texts(q, k, v, g, begins.exp()[..., None] * states, ends)

    return packed(early)


def block_over_a_border() -> Attend:
    """Within a block of 16 tokens of the row, a token sees those of the text before."""

    def over(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: Ends) -> tuple[Tensor, Tensor]:
        out, last = by_texts(q, k, v, g, states, ends)
        whole = {**STEPS, "visible": visible, "carry": lambda state, *_: state}
        for start in ends[1:-1]:
            begin, stop = start // BLOCK * BLOCK, min(start // BLOCK * BLOCK + BLOCK, q.shape[2])
            if begin < start < stop:
                b = slice(begin, stop)
                given = q[:, :, b], k[:, :, b], v[:, :, b], g[:, :, b]
                more, _ = by_blocks(whole, *given, None, states[:1] * 0)
                out = torch.cat([out[:, :, :start], more[:, :, start - begin :], out[:, :, stop:]], 2)
        return out, last

    return packed(over)


# --- Kimi delta attention ------------------------------------------------------------


def channels(**changed: Callable[..., Any]) -> Attend:
    """The delta rule with a decay for each feature, under the signature of its library."""
    inner = build("gated-delta", **changed)

    def chunk_kda(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
        initial_state: Tensor | None = None, output_final_state: bool = False, use_gate_in_kernel: bool = False,
        cu_seqlens: Tensor | None = None,
    ) -> Any:  # fmt: skip
        if cu_seqlens is not None or use_gate_in_kernel:
            raise NotImplementedError("one text a row, and decays that are ready")
        given = (x.transpose(1, 2) for x in (q, k, v, g, beta))
        done = inner(*given, scale, initial_state, output_final_state)
        return (done[0].transpose(1, 2), done[1]) if output_final_state else done.transpose(1, 2)

    return chunk_kda


def kimi_decay_of_the_first_feature() -> Attend:
    """Every feature fades as the first one does: the gated delta rule's scalar decay."""
    return channels(gate=lambda k, g: g[..., :1].to(k.dtype).expand(k.shape))


def kimi_delta_before_the_decay() -> Attend:
    """What a key holds is read before the features fade."""

    def early(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, step: Any) -> Any:
        new = new_value(state, k, v, beta)
        state = fade(state, g) + k[..., None] * new[..., None, :]
        return state, held(state, q)

    return channels(token=early)


# --- state spaces --------------------------------------------------------------------


def share(x: Tensor, heads: int) -> Tensor:
    """One projection for the heads of a group, neighbours the same one."""
    return x.repeat_interleave(heads // x.shape[2], 2)


def discretise(x: Tensor, dt: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """What a token adds, and its log decay."""
    return dt[..., None] * x, dt * A


SPACE: dict[str, Callable[..., Any]] = {"share": share, "discretise": discretise, "texts": lambda texts: texts}


def state_space(**changed: Callable[..., Any]) -> Attend:
    """Mamba-2, token by token, called as mamba_ssm's kernel is."""
    step = {**SPACE, **changed}

    def scan(
        x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int, D: Tensor | None = None,
        initial_states: Tensor | None = None, seq_idx: Tensor | None = None, return_final_states: bool = False,
    ) -> Any:  # fmt: skip
        if D is not None:
            raise NotImplementedError("no skip connection")
        wide, (n, H) = torch.promote_types(x.dtype, torch.float32), x.shape[1:3]
        key, query = (step["share"](p.to(wide), H) for p in (B, C))
        value, decay = step["discretise"](x.to(wide), dt.to(wide), A.to(wide))
        state = x.new_zeros(len(x), H, x.shape[3], key.shape[3], dtype=wide)
        state = state if initial_states is None else initial_states.to(wide)
        texts, outs = step["texts"](seq_idx), [x[:, :0].to(wide)]
        for t in range(n):
            if texts is not None and t and texts[0, t] != texts[0, t - 1]:
                state = torch.zeros_like(state)
            state = decay[:, t].exp()[..., None, None] * state + value[:, t, :, :, None] * key[:, t, :, None]
            outs.append((state @ query[:, t, :, :, None])[None, ..., 0].transpose(0, 1))
        y = torch.cat(outs, 1).to(x.dtype)
        return (y, state) if return_final_states else y

    return scan


def step_left_out_of_the_values() -> Attend:
    """The step multiplies the rate alone."""
    return state_space(discretise=lambda x, dt, A: (x, dt * A))


def step_left_out_of_the_decay() -> Attend:
    """Every token fades by e^A."""
    return state_space(discretise=lambda x, dt, A: (dt[..., None] * x, (A + 0 * dt)))


def rate_taken_for_its_logarithm() -> Attend:
    """The kernel computes -e^A, which its caller has done already."""
    return state_space(discretise=lambda x, dt, A: (dt[..., None] * x, -A.exp() * dt))


def groups_in_turn() -> Attend:
    """Head h has the projections of group h mod G."""
    return state_space(share=lambda x, heads: x.repeat(1, 1, heads // x.shape[2], 1))


def numbers_of_texts_ignored() -> Attend:
    """The state of a state space runs over the borders that seq_idx tells (PrimeIntellect-ai/prime-rl PR3001)."""
    return state_space(texts=lambda texts: None)


FAULTY = (
    state_runs_over_borders, border_one_token_late, first_initial_state_for_all_texts, states_of_full_texts_alone,
    states_written_one_text_late, initial_state_fades_from_the_chunk, block_over_a_border,
    kimi_decay_of_the_first_feature, kimi_delta_before_the_decay, step_left_out_of_the_values,
    step_left_out_of_the_decay, rate_taken_for_its_logarithm, groups_in_turn, numbers_of_texts_ignored,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="linear-attention", accumulate="float32") for fault in FAULTY)
