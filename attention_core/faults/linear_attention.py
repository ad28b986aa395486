"""Faults of linear attention, one each: token by token with one step replaced, or block by block.

`build(kind)` gives f(q, k, v, gates of the kind, scale, initial_state, output_final_state), `in_blocks(kind)` the same
in blocks of 16 tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row

Attend = Callable[..., Any]
BLOCK = 16


# --- steps of a token ----------------------------------------------------------------


def begin(k: Tensor, v: Tensor, initial_state: Tensor | None) -> Tensor:
    """The state before the first token."""
    empty = k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
    return empty if initial_state is None else initial_state.to(k.dtype)


def fade(state: Tensor, g: Tensor) -> Tensor:
    """The state, its rows faded by e^g."""
    return g.exp()[..., None] * state


def new_value(state: Tensor, k: Tensor, v: Tensor, beta: Tensor | None) -> Tensor:
    """What a token adds under its key."""
    return v if beta is None else beta[..., None] * (v - held(state, k))


def held(state: Tensor, k: Tensor) -> Tensor:
    """What the state holds under a key."""
    return (k[..., None] * state).sum(-2)


def token(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor | None, step: dict[str, Any]) -> Any:
    """(state, output) of one token: fade, add, read."""
    state = step["fade"](state, g)
    state = state + k[..., None] * step["new_value"](state, k, v, beta)[..., None, :]
    return state, held(state, q)


def gate(k: Tensor, g: Tensor | None) -> Tensor:
    """Log decays (B, H, n, d), of heads (H,), tokens (B, H, n) or features."""
    if g is None:
        return torch.zeros_like(k)
    g = g.to(k.dtype)
    return (g[:, None, None] if g.dim() == 1 else g[..., None] if g.dim() == 3 else g).expand(k.shape)


def scaled(out: Tensor, d: int, scale: float | None) -> Tensor:
    """The outputs times the scale."""
    return out * (d**-0.5 if scale is None else scale)


STEPS: dict[str, Callable[..., Any]] = {
    "begin": begin, "fade": fade, "new_value": new_value, "token": token, "gate": gate, "scaled": scaled,
}  # fmt: skip


def by_tokens(step: dict[str, Any], q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor | None, s: Tensor) -> Any:
    """Outputs and last state, token by token."""
    outs = []
    for t in range(k.shape[2]):
        weight = None if beta is None else beta[:, :, t]
        s, out = step["token"](s, q[:, :, t], k[:, :, t], v[:, :, t], g[:, :, t], weight, step)
        outs.append(out)
    return torch.stack(outs, 2), s


def visible(n: int) -> Tensor:
    """Which tokens of its block a token sees."""
    return torch.ones(n, n, dtype=torch.bool).tril()


def carry(state: Tensor, k: Tensor, v: Tensor, total: Tensor) -> Tensor:
    """The state behind a block."""
    last = total[:, :, -1:]
    return last.exp().mT * state + (k * (last - total).exp()).mT @ v


def by_blocks(step: dict[str, Any], q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor | None, s: Tensor) -> Any:
    """Outputs and last state, block by block."""
    outs = []
    for start in range(0, k.shape[2], BLOCK):
        rows = slice(start, start + BLOCK)
        total = g[:, :, rows].cumsum(2)
        seen = step["visible"](total.shape[2])
        gap = (total[:, :, :, None] - total[:, :, None]).masked_fill(~seen[:, :, None], -torch.inf)
        scores = torch.einsum("bhic,bhjc,bhijc->bhij", q[:, :, rows], k[:, :, rows], gap.exp())
        outs.append(scores @ v[:, :, rows] + (q[:, :, rows] * total.exp()) @ s)
        s = step["carry"](s, k[:, :, rows], v[:, :, rows], total)
    return torch.cat(outs, 2), s


def build(kind: str, form: Callable[..., Any] = by_tokens, **changed: Callable[..., Any]) -> Attend:
    """Linear attention of a kind, with some steps replaced, under the signature of the kind."""
    step: dict[str, Callable[..., Any]] = {**STEPS, "visible": visible, "carry": carry, **changed}

    def run(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None, scale: float | None,
        initial_state: Tensor | None, output_final_state: bool,
    ) -> Any:  # fmt: skip
        wide = torch.promote_types(q.dtype, torch.float32)
        Q, K, V = (x.to(wide) for x in (q, k, v))
        weight = None if beta is None else beta.to(wide)
        out, state = form(step, Q, K, V, step["gate"](K, g), weight, step["begin"](K, V, initial_state))
        out = step["scaled"](out, q.shape[-1], scale).to(q.dtype)
        return (out, state) if output_final_state else out

    return SIGNATURES[kind](run)


in_blocks = partial(build, form=by_blocks)


def _of_linear(run: Attend) -> Attend:
    def attend(
        q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        return run(q, k, v, None, None, scale, initial_state, output_final_state)

    return attend


def _of_retention(run: Attend) -> Attend:
    def attend(
        q: Tensor, k: Tensor, v: Tensor, decay: Tensor, scale: float | None = None,
        initial_state: Tensor | None = None, output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        wide = torch.promote_types(decay.dtype, torch.float32)
        return run(q, k, v, decay.to(wide).log(), None, scale, initial_state, output_final_state)

    return attend


def _of_gla(run: Attend) -> Attend:
    def attend(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        return run(q, k, v, g, None, scale, initial_state, output_final_state)

    return attend


def _of_gated_delta(run: Attend) -> Attend:
    def attend(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
        initial_state: Tensor | None = None, output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        return run(q, k, v, g, beta, scale, initial_state, output_final_state)

    return attend


SIGNATURES: dict[str, Callable[[Attend], Attend]] = {
    "linear": _of_linear, "retention": _of_retention, "gla": _of_gla, "gated-delta": _of_gated_delta,
}  # fmt: skip


def gated() -> Attend:
    """Right: gated linear attention, token by token."""
    return build("gla")


# --- faults --------------------------------------------------------------------------


def decay_after_adding() -> Attend:
    """The token is added first, and fades with what was there."""

    def late(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, step: Any) -> Any:
        state = fade(state + k[..., None] * v[..., None, :], g)
        return state, held(state, q)

    return build("gla", token=late)


def decay_ignored() -> Attend:
    """A retention without its decay is plain linear attention."""
    return build("retention", fade=lambda state, g: state)


def decay_of_the_token_before() -> Attend:
    """The decays are shifted by one token."""
    return build("gla", gate=lambda k, g: torch.cat([torch.zeros_like(g[:, :, :1]), g[:, :, :-1]], 2).to(k.dtype))


def decay_of_the_first_feature() -> Attend:
    """All features fade as the first one."""
    return build("gla", gate=lambda k, g: g[..., :1].to(k.dtype).expand(k.shape))


def decay_as_a_power_of_two() -> Attend:
    """2^g for e^g: the kernel's exp2 without the factor log2(e)."""
    return build("gla", fade=lambda state, g: torch.exp2(g)[..., None] * state)


def own_token_left_out() -> Attend:
    """A token reads the state before it adds to it."""

    def early(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, step: Any) -> Any:
        return fade(state, g) + k[..., None] * v[..., None, :], held(fade(state, g), q)

    return build("linear", token=early)


def scaled_twice() -> Attend:
    """Queries are scaled before, and outputs after."""
    return build("linear", scaled=lambda out, d, scale: scaled(scaled(out, d, scale), d, scale))


def given_scale_times_the_usual_one() -> Attend:
    """A scale that is given comes on top of 1/sqrt(d)."""
    return build("linear", scaled=lambda out, d, scale: scaled(out, d, None) * (1.0 if scale is None else scale))


def state_before_the_last_token() -> Attend:
    """The state that is returned lacks the last token."""

    def short(step: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, s: Tensor) -> Any:
        out, _ = by_tokens(step, q, k, v, g, beta, s)
        if k.shape[2] < 2:
            return out, s
        q, k, v, g = (x[:, :, :-1] for x in (q, k, v, g))
        return out, by_tokens(step, q, k, v, g, beta, s)[1]

    return build("linear", short)


def initial_state_ignored() -> Attend:
    """The recurrence always begins at 0 (compare fla-org/flash-linear-attention#351)."""
    return build("gla", begin=lambda k, v, initial_state: begin(k, v, None))


def initial_state_does_not_fade() -> Attend:
    """What the initial state gives is added at the end, as if no token had faded it."""

    def beside(step: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, s: Tensor) -> Any:
        out, state = by_tokens(step, q, k, v, g, beta, 0 * s)
        return out + q @ s, state + s

    return build("retention", beside)


def initial_state_updated_in_place() -> Attend:
    """The caller's state is the kernel's own memory."""

    def begin_there(k: Tensor, v: Tensor, initial_state: Tensor | None) -> Tensor:
        return begin(k, v, initial_state) if initial_state is None else initial_state

    def there(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, step: Any) -> Any:
        state.mul_(g.exp()[..., None]).add_(k[..., None] * v[..., None, :])
        return state, held(state, q)

    return build("gla", begin=begin_there, token=there)


def tail_missing_from_the_state() -> Attend:
    """The state that is returned is that behind the last whole block."""
    return in_blocks("linear", carry=lambda s, k, v, total: s if k.shape[2] < BLOCK else carry(s, k, v, total))


def tail_fades_as_a_whole_block() -> Attend:
    """The state fades by 16 tokens behind a block, however many the last one has."""

    def full(s: Tensor, k: Tensor, v: Tensor, total: Tensor) -> Tensor:
        last = total[:, :, -1:]
        return (BLOCK * total[:, :, :1]).exp().mT * s + (k * (last - total).exp()).mT @ v

    return in_blocks("retention", carry=full)


def beta_ignored() -> Attend:
    """The delta rule replaces the whole of what a key holds."""
    return build("gated-delta", new_value=lambda state, k, v, beta: v - held(state, k))


def beta_of_the_value_alone() -> Attend:
    """All that a key holds is taken out, and beta of the value is put in."""
    return build("gated-delta", new_value=lambda state, k, v, beta: beta[..., None] * v - held(state, k))


def delta_of_the_state_before_its_decay() -> Attend:
    """What a key holds is read before the state fades."""

    def early(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, step: Any) -> Any:
        new = new_value(state, k, v, beta)
        state = fade(state, g) + k[..., None] * new[..., None, :]
        return state, held(state, q)

    return build("gated-delta", token=early)


def state_kept_between_calls() -> Attend:
    """A call without a state goes on from the last call of the same shape (vllm-project/tpu-inference PR3412)."""
    kept: dict[Any, Tensor] = {}

    def keep(step: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, s: Tensor) -> Any:
        before = kept.get(s.shape)
        out, state = by_tokens(step, q, k, v, g, beta, s if before is None else s + before)
        kept[s.shape] = state.clone()
        return out, state

    return build("linear", keep)


def one_state_for_all_heads() -> Attend:
    """Every head adds to its own state, and all read the first head's."""

    def first(state: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, step: Any) -> Any:
        state = fade(state, g) + k[..., None] * v[..., None, :]
        return state, held(state[:, :1], q)

    return build("gla", token=first)


def whole_block_is_seen() -> Attend:
    """Within its block a token sees the later ones, too."""
    return in_blocks("linear", visible=lambda n: torch.ones(n, n, dtype=torch.bool))


def last_token_of_a_block_lost() -> Attend:
    """The state behind a block lacks its last token: an end that is one too small."""

    def short(s: Tensor, k: Tensor, v: Tensor, total: Tensor) -> Tensor:
        full = k.shape[2] == BLOCK
        return carry(s, torch.cat([k[:, :, :-1], 0 * k[:, :, -1:]], 2) if full else k, v, total)

    return in_blocks("gla", carry=short)


def features_beyond_64_dropped() -> Attend:
    """A state of at most 64 features."""

    def narrow(step: Any, q: Tensor, k: Tensor, *rest: Any) -> Any:
        return by_tokens(step, q, torch.cat([k[..., :64], 0 * k[..., 64:]], -1), *rest)

    return build("gla", narrow)


def decays_divided_by_their_product() -> Attend:
    """q e^G and k e^(-G) apart: right until e^(-G) overflows."""

    def apart(step: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, s: Tensor) -> Any:
        total = g.cumsum(2)
        scores = ((q * total.exp()) @ (k * (-total).exp()).mT).tril()
        return scores @ v + (q * total.exp()) @ s, carry(s, k, v, total)

    return build("gla", apart)


def state_path_unscaled() -> Attend:
    """The kernel that also writes the state forgets the scale."""
    right, wrong = build("linear"), build("linear", scaled=lambda out, d, scale: out)

    def attend(
        q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        return (wrong if output_final_state else right)(q, k, v, scale, initial_state, output_final_state)

    return attend


def tokens_read_in_order() -> Attend:
    """Slices are read as if they were whole."""
    inner = build("linear")

    def flat(x: Tensor) -> Tensor:
        return x if x.is_contiguous() else x.as_strided(x.shape, torch.empty(x.shape).stride(), 0)

    def attend(
        q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        return inner(*map(flat, (q, k, v)), scale, initial_state, output_final_state)

    return attend


def state_in_bfloat16() -> Attend:
    """The state is rounded to bfloat16 after every token, whatever the inputs are."""

    def rounded(state: Tensor, *rest: Any) -> Any:
        state, out = token(state, *rest)
        return state.bfloat16().to(state.dtype), out

    return build("linear", token=rounded)


def state_in_a_kept_buffer() -> Attend:
    """The last state lies in a buffer of its size, which the next call writes over."""
    buffers: dict[Any, Tensor] = {}

    def buffered(*args: Any) -> Any:
        out, state = by_tokens(*args)
        return out, buffers.setdefault((tuple(state.shape), state.dtype), torch.empty_like(state)).copy_(state)

    return build("linear", buffered)


FAULTY = (
    state_in_a_kept_buffer,
    decay_after_adding, decay_ignored, decay_of_the_token_before, decay_of_the_first_feature, decay_as_a_power_of_two,
    own_token_left_out, scaled_twice, given_scale_times_the_usual_one, state_before_the_last_token,
    initial_state_ignored, initial_state_does_not_fade, initial_state_updated_in_place, tail_missing_from_the_state,
    tail_fades_as_a_whole_block, beta_ignored, beta_of_the_value_alone, delta_of_the_state_before_its_decay,
    state_kept_between_calls, one_state_for_all_heads, whole_block_is_seen, last_token_of_a_block_lost,
    features_beyond_64_dropped, decays_divided_by_their_product, state_path_unscaled, tokens_read_in_order,
    state_in_bfloat16,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="linear-attention", accumulate="float32") for fault in FAULTY)
