"""Faults of the gradients of linear attention, one each: outputs and states are right.

`Other` gives a number the gradient of another one; `x.detach()` in the place of `x` loses a path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.linear_attention import Attend, build, by_tokens, carry, held, in_blocks, token
from attention_core.faults.linear_texts import by_texts, packed, state_space
from attention_core.faults.row import row


class Other(torch.autograd.Function):
    """A number whose gradient is changed on its way back."""

    @staticmethod
    def forward(context: Any, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        """The number itself."""
        context.change = change
        return x.clone()

    @staticmethod
    def backward(context: Any, *down: Tensor) -> tuple[Tensor, None]:
        """The gradient, changed."""
        return context.change(down[0]), None


def change_back(x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """x, whose gradient is changed."""
    out: Tensor = Other.apply(x, change)
    return out


class Substitute(torch.autograd.Function):
    """A number whose gradient goes to another one."""

    @staticmethod
    def forward(context: Any, x: Tensor, other: Tensor) -> Tensor:
        """The number itself."""
        return x.clone()

    @staticmethod
    def backward(context: Any, *down: Tensor) -> tuple[None, Tensor]:
        """The gradient, for the other one."""
        return None, down[0]


def gate_of(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The log decays, with another gradient."""
    return lambda k, g: change_back(g.to(k.dtype), change)


def decays_gradient_of_the_next_token() -> Attend:
    """The gradient of a token's decay is that of the next one: the sum from the end leaves the token itself out."""
    return build("gla", gate=gate_of(lambda d: torch.cat([d[:, :, 1:], 0 * d[:, :, :1]], 2)))


def decays_gradient_lost() -> Attend:
    """Decays are taken for constants."""
    return build("gla", gate=lambda k, g: g.detach().to(k.dtype))


def decays_gradient_not_summed() -> Attend:
    """The gradient of the summed log decay of a block comes back as that of the decay (state-spaces/mamba PR537)."""

    def step(gate: Tensor) -> Tensor:
        return change_back(gate, lambda d: torch.cat([d[:, :, :-1] - d[:, :, 1:], d[:, :, -1:]], 2))

    return build("gla", gate=lambda k, g: step(g.to(k.dtype)))


def initial_states_gradient_lost() -> Attend:
    """No gradient reaches the state that is handed over (QwenLM/FlashQLA PR28)."""

    def begin(k: Tensor, v: Tensor, initial_state: Tensor | None) -> Tensor:
        empty = k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
        return empty if initial_state is None else initial_state.detach().to(k.dtype)

    return build("gla", begin=begin)


def initial_states_gradient_does_not_fade() -> Attend:
    """The gradient of the first state is that of the state behind the first decay."""

    def first(step: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Any, s: Tensor) -> Any:
        back = (-g[:, :, 0]).exp()[..., None].detach() if g.shape[2] else 1.0
        return by_tokens(step, q, k, v, g, beta, change_back(s, lambda d: d * back))

    return build("gla", first)


def gradients_stop_at_blocks() -> Attend:
    """The state between two blocks is taken for a constant."""
    return in_blocks("gla", carry=lambda s, k, v, total: carry(s, k, v, total).detach())


def last_states_decays_get_no_gradient() -> Attend:
    """A loss of the last state passes no gradient to the decays."""
    right, fixed = build("gla"), build("gla", gate=lambda k, g: g.detach().to(k.dtype))

    def attend(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
        output_final_state: bool = False,
    ) -> Any:  # fmt: skip
        out = right(q, k, v, g, scale, initial_state)
        return (out, fixed(q, k, v, g, scale, initial_state, True)[1]) if output_final_state else out

    return attend


def betas_gradient_of_the_value_alone() -> Attend:
    """Beta's gradient leaves out what the key holds."""
    return build(
        "gated-delta", new_value=lambda s, k, v, beta: beta[..., None] * v - beta.detach()[..., None] * held(s, k)
    )


def keys_gradient_without_the_delta() -> Attend:
    """The key's gradient is that of what is added, not of what is taken out."""
    return build("gated-delta", new_value=lambda s, k, v, beta: beta[..., None] * (v - held(s, k.detach())))


def querys_gradient_unscaled() -> Attend:
    """The backward kernel forgets the scale for queries."""

    def louder(state: Tensor, q: Tensor, *rest: Any) -> Any:
        return token(state, change_back(q, lambda d: d * q.shape[-1] ** 0.5), *rest)

    return build("linear", token=louder)


def gradients_run_over_borders() -> Attend:
    """Backward, the texts of a pack are one text (compare fla-org/flash-linear-attention PR842)."""

    def over(q: Tensor, k: Tensor, v: Tensor, g: Tensor, states: Tensor, ends: list[int]) -> tuple[Tensor, Tensor]:
        out, last = by_texts(q, k, v, g, states, ends)
        through, _ = by_texts(q, k, v, g, states[:1], [0, ends[-1]])
        moved: Tensor = Substitute.apply(out, through)
        return moved, last

    return packed(over)


def groups_gradient_of_their_first_head() -> Attend:
    """A group's projection gets the gradient of its first head, not of all that share it."""

    def share(x: Tensor, heads: int) -> Tensor:
        group = heads // x.shape[2]
        spread = x.repeat_interleave(group, 2)
        first = (torch.arange(heads) % group == 0)[None, None, :, None]
        return torch.where(first, spread, spread.detach())

    return state_space(share=share)


def steps_gradient_of_the_values_alone() -> Attend:
    """The step's gradient leaves out the decay that it makes."""
    return state_space(discretise=lambda x, dt, A: (dt[..., None] * x, dt.detach() * A))


def rates_gradient_of_the_first_text() -> Attend:
    """The gradient of a rate, which all rows share, is that of the first row."""

    def discretise(x: Tensor, dt: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
        first = (torch.arange(len(dt)) == 0)[:, None, None]
        return dt[..., None] * x, dt * torch.where(first, A, A.detach())

    return state_space(discretise=discretise)


FAULTY = (
    decays_gradient_of_the_next_token, decays_gradient_lost, decays_gradient_not_summed, initial_states_gradient_lost,
    initial_states_gradient_does_not_fade, gradients_stop_at_blocks, last_states_decays_get_no_gradient,
    betas_gradient_of_the_value_alone, keys_gradient_without_the_delta, querys_gradient_unscaled,
    gradients_run_over_borders, groups_gradient_of_their_first_head, steps_gradient_of_the_values_alone,
    rates_gradient_of_the_first_text,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="linear-attention", accumulate="float32") for fault in FAULTY)
