"""Faults of dropout: wrong rates and scales, masks that repeat, a backward that drops something else.

Each function builds one faulty attention; its docstring tells the fault and the thread where people made it.
`dropout_in_bytes` and `returns_weights` are correct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import around
from attention_core.faults.bases.reference import build, correct
from attention_core.faults.bases.reference import drop as correct_drop
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def _dropping(mask: Callable[[Tensor, float], Tensor]) -> Fault:
    """Attention whose kept weights (bool) come from `mask(p, rate)`, scaled rightly."""

    def drop(p: Tensor, rate: float) -> Tensor:
        return p * mask(p, rate) / (1 - rate) if rate < 1 else torch.zeros_like(p)

    return build(drop=lambda p, rate: drop(p, rate) if rate > 0 else p)


# --- rates and scales -----------------------------------------------------------


def keep_probability_for_dropout() -> Fault:
    """The rate is taken for the probability of keeping; 1/2 hides it."""
    return build(drop=lambda p, rate: torch.nn.functional.dropout(p, 1 - rate))


def dropout_ignored() -> Fault:
    """dropout_p is accepted and does nothing."""
    return build(drop=lambda p, rate: p)


def dropout_at_half_its_rate() -> Fault:
    """Weights are dropped at rate p/2 and scaled by 1/(1 - p)."""
    return _dropping(lambda p, rate: torch.rand_like(p) >= rate / 2)


def full_dropout_divides_by_zero() -> Fault:
    """At rate 1 the scale 1/(1 - p) is 0/0."""
    return build(drop=lambda p, rate: p * (torch.rand_like(p) >= rate) / (1 - torch.tensor(rate)))


def dropout_without_scaling() -> Fault:
    """Kept weights stay as they were: right on average only if evaluation multiplied by 1 - p."""
    return build(drop=lambda p, rate: p * (torch.rand_like(p) >= rate))


def dropout_renormalised() -> Fault:
    """Kept weights are divided by their sum, as if dropout came before the softmax."""

    def drop(p: Tensor, rate: float) -> Tensor:
        kept = p * (torch.rand_like(p) >= rate)
        return kept / kept.sum(-1, keepdim=True).clamp(min=1e-6)

    return build(drop=lambda p, rate: drop(p, rate) if rate > 0 else p)


def dropout_on_the_output() -> Fault:
    """The output is dropped, not the weights."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        out = correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return torch.nn.functional.dropout(out, dropout_p)

    return attention


# --- independence -----------------------------------------------------------------


def one_mask_for_all_heads() -> Fault:
    """Heads share a dropout mask."""
    return _dropping(lambda p, rate: torch.rand_like(p[:, :1]) >= rate)


def one_mask_for_the_batch() -> Fault:
    """Batch elements share a dropout mask."""
    return _dropping(lambda p, rate: torch.rand_like(p[:1]) >= rate)


def one_mask_for_all_queries() -> Fault:
    """Queries share a dropout mask: keys are dropped for everybody."""
    return _dropping(lambda p, rate: torch.rand_like(p[..., :1, :]) >= rate)


def whole_rows_dropped() -> Fault:
    """A query keeps all its keys or none."""
    return _dropping(lambda p, rate: torch.rand_like(p[..., :1]) >= rate)


def mask_repeats_every_16_rows() -> Fault:
    """The counter of the generator wraps: rows repeat with period 16."""

    def mask(p: Tensor, rate: float) -> Tensor:
        kept = torch.rand_like(p[..., :16, :]) >= rate
        return kept[..., torch.arange(p.shape[-2]) % kept.shape[-2], :]

    return _dropping(mask)


def the_same_mask_every_call() -> Fault:
    """The generator's offset does not advance (Dao-AILab/flash-attention#314)."""

    def mask(p: Tensor, rate: float) -> Tensor:
        return torch.rand(p.shape, generator=torch.Generator().manual_seed(0), dtype=p.dtype) >= rate

    return _dropping(mask)


def dropout_in_bytes() -> Fault:
    """Correct: the rate is met to 1/256, as fused kernels do that compare bytes."""
    return _dropping(lambda p, rate: torch.randint(0, 256, p.shape) >= round(256 * rate))


# --- backward and further results ----------------------------------------------------


def backward_draws_another_mask() -> Fault:
    """The backward computes attention again, and draws the mask again with it."""

    class Fresh(torch.autograd.Function):
        """Another mask backward than forward, for the values as well."""

        @staticmethod
        def forward(ctx: Any, p: Tensor, value: Tensor, rate: float) -> Tensor:
            ctx.save_for_backward(p, value)
            ctx.rate = rate
            return torch.nn.functional.dropout(p, rate) @ value

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
            p, value = ctx.saved_tensors
            kept = torch.nn.functional.dropout(torch.ones_like(p), ctx.rate)
            return grad @ value.transpose(-1, -2) * kept, (p * kept).transpose(-1, -2) @ grad, None

    rates = [0.0]

    def drop(p: Tensor, rate: float) -> Tensor:
        rates[0] = rate
        return p

    return build(drop=drop, combine=lambda p, value: Fresh.apply(p, value, rates[0]))


def scores_gradient_ignores_dropout() -> Fault:
    """The scores' gradient is that of attention without dropout; the values' is right."""

    class Straight(torch.autograd.Function):
        """Dropout that lets every gradient pass."""

        @staticmethod
        def forward(ctx: Any, p: Tensor, rate: float) -> Tensor:
            return torch.nn.functional.dropout(p, rate)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
            return grad, None

    return build(drop=lambda p, rate: Straight.apply(p, rate) if rate > 0 else p)


def _with_weights(after: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """Attention that returns its weights too, before or after dropout."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        kept: list[Tensor] = []

        def drop(p: Tensor, rate: float) -> Tensor:
            dropped = torch.nn.functional.dropout(p, rate)
            kept.append(dropped if after else p)
            return dropped

        return build(drop=drop)(query, key, value, attn_mask, dropout_p), kept[0].to(query.dtype)

    return attention


def returns_weights() -> Callable[..., tuple[Tensor, Tensor]]:
    """Correct: the weights are those before dropout."""
    return _with_weights(after=False)


def returns_dropped_weights() -> Callable[..., tuple[Tensor, Tensor]]:
    """The returned weights are those after dropout (pytorch/pytorch#90842, #33360)."""
    return _with_weights(after=True)


# --- together with other options ------------------------------------------------------


def _with_options(change: Callable[..., dict[str, Any]]) -> Fault:
    """Attention whose arguments `change` alters wherever dropout is asked for."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        given: dict[str, Any] = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        if dropout_p > 0:
            given |= change(**given)
        return correct(query, key, value, enable_gqa=enable_gqa, **given)

    return attention


def causal_lost_under_dropout() -> Fault:
    """The training path with dropout forgets is_causal."""
    return _with_options(lambda is_causal, **rest: {"is_causal": False})


def mask_lost_under_dropout() -> Fault:
    """The training path with dropout forgets the mask."""
    return _with_options(lambda attn_mask, **rest: {"attn_mask": None})


def scale_lost_under_dropout() -> Fault:
    """The training path with dropout uses the default scale."""
    return _with_options(lambda scale, **rest: {"scale": None})


def rate_in_sixteenths() -> Fault:
    """The rate is rounded to sixteenths, scale included: 1/4, 1/2 and 3/4 hide it."""
    return _with_options(lambda dropout_p, **rest: {"dropout_p": round(dropout_p * 16) / 16})


def last_odd_key_never_dropped() -> Fault:
    """Random numbers are drawn in pairs; the last key of an odd length is always kept."""

    def mask(p: Tensor, rate: float) -> Tensor:
        kept = torch.rand_like(p) >= rate
        n = p.shape[-1]
        return kept | (torch.arange(n) >= n - n % 2)

    return _dropping(mask)


class _MaskOfTheFirst(torch.autograd.Function):
    """Dropout of four heads whose backward takes the mask of the first member of each pair of heads."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, kept: Tensor, rate: float) -> Tensor:
        heads = torch.arange(p.shape[1])
        ctx.kept, ctx.rate = kept[:, heads - heads % 2], rate
        return p * kept / (1 - rate)

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        return down * ctx.kept / (1 - ctx.rate), None, None


def backward_mask_of_another_group_member() -> Fault:
    """The backward of grouped heads reads the dropout mask of the group's first head."""

    def drop(p: Tensor, rate: float) -> Tensor:
        found: Tensor = _MaskOfTheFirst.apply(p, torch.rand_like(p) >= rate, rate) if rate > 0 else p
        return found

    return build(drop=drop)


def gradient_of_dropped_scores_unscaled() -> Fault:
    """The scores' gradient passes the dropped weights by, but lacks the factor 1/(1 - p) of the kept ones."""

    def drop(p: Tensor, rate: float) -> Tensor:
        dropped = p * (torch.rand_like(p) >= rate)
        return dropped + dropped.detach() * (1 / (1 - rate) - 1) if 0 < rate < 1 else correct_drop(p, rate)

    return build(drop=drop)


class _ValueWithoutDropout(torch.autograd.Function):
    """P~ V in the forward; the value's gradient is that of P~ only where no row attends fewer than all keys."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, dropped: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(p, dropped, value)
        return dropped @ value

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        p, dropped, value = ctx.saved_tensors
        used = p if bool((p == 0).any()) else dropped
        return None, down @ value.mT, used.mT @ down


def masked_backward_forgets_dropout() -> Fault:
    """The backward kernel for masked scores computes the value's gradient without dropout."""
    kept: dict[str, Tensor] = {}

    def drop(p: Tensor, rate: float) -> Tensor:
        kept["p"] = p
        return torch.nn.functional.dropout(p, rate) if rate > 0 else p

    def combine(dropped: Tensor, value: Tensor) -> Tensor:
        p = kept.pop("p").detach()
        found: Tensor = _ValueWithoutDropout.apply(p, dropped, value) if (p != dropped).any() else dropped @ value
        return found

    return build(drop=drop, combine=combine)


def dropout_repeats_every_32_keys() -> Fault:
    """Random numbers start again with every tile of 32 keys."""

    def mask(p: Tensor, rate: float) -> Tensor:
        kept = torch.rand_like(p[..., :32]) >= rate
        return kept[..., torch.arange(p.shape[-1]) % kept.shape[-1]]

    return _dropping(mask)


def every_other_sequence_shares_its_dropout() -> Fault:
    """The seed has one bit for the sequence: sequences 0 and 2 drop alike; a batch of two hides it."""

    def mask(p: Tensor, rate: float) -> Tensor:
        kept = torch.rand_like(p[:2]) >= rate
        return kept[torch.arange(p.shape[0]) % kept.shape[0]]

    return _dropping(mask)


def no_dropout_for_a_single_query() -> Fault:
    """The decoding kernel knows no dropout."""
    return _dropping(lambda p, rate: torch.rand_like(p) >= rate if p.shape[-2] > 1 else torch.ones_like(p) * (1 - rate))


def rate_off_by_one_per_cent() -> Fault:
    """Weights are dropped at rate 1.01 p and scaled by 1/(1 - p)."""
    return _dropping(lambda p, rate: torch.rand_like(p) >= 1.01 * rate)


def rows_share_their_random_numbers() -> Fault:
    """The counter of a weight is 16 i + j: with more keys a row starts within the numbers of the row before."""

    def mask(p: Tensor, rate: float) -> Tensor:
        n_q, n_kv = p.shape[-2:]
        numbers = torch.rand(*p.shape[:-2], 16 * n_q + n_kv)
        return numbers[..., 16 * torch.arange(n_q)[:, None] + torch.arange(n_kv)] >= rate

    return _dropping(mask)


def heads_start_a_few_rows_further_on() -> Fault:
    """The counter's step from head to head is three rows: heads share all but three of them."""

    def mask(p: Tensor, rate: float) -> Tensor:
        *batch, heads, n_q, n_kv = p.shape
        numbers = torch.rand(*batch, 3 * heads + n_q, n_kv)
        rows = 3 * torch.arange(heads)[:, None] + torch.arange(n_q)
        return numbers[..., rows, :] >= rate

    return _dropping(mask)


def the_next_call_starts_a_row_further_on() -> Fault:
    """The generator moves on by the numbers of one row, not of all (compare Dao-AILab/flash-attention#314)."""

    def mask(p: Tensor, rate: float) -> Tensor:
        state = torch.get_rng_state()
        kept = torch.rand_like(p) >= rate
        torch.set_rng_state(state)
        torch.rand(p.shape[-1], dtype=p.dtype)
        return kept

    return _dropping(mask)


def dropout_scale_in_bfloat16() -> Any:
    """Kept weights are divided by 1 - p in bfloat16: 0.1 gives 1.109375 in place of 1.1111; 1/2 hides it."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        return p * (torch.rand_like(p) >= rate) * float(torch.tensor(1 / (1 - rate)).bfloat16())

    return build(drop=drop)


class _Dropped(torch.autograd.Function):
    """softmax(s) * keep; its backward takes the dropped weights for the weights."""

    @staticmethod
    def forward(ctx: Any, s: Tensor, keep: Tensor) -> Tensor:
        y = reference.weights(s) * keep
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (y * g).sum(-1, keepdim=True)), None


def score_gradient_from_dropped_weights() -> Any:
    """dS = P' (dP - D) with the dropped weights P', where P (dP' - D) belongs (aws-neuron/nki-samples PR81)."""

    def drop(s: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(reference.weights(s), rate)
        found: Tensor = _Dropped.apply(s, (torch.rand_like(s) >= rate).to(s.dtype) / (1 - rate))
        return found

    return build(weights=lambda s: s, drop=drop)


def dropout_before_the_sum() -> Any:
    """Weights are dropped before they are divided by their sum, which runs over the kept ones (textbook slip).

    dropout_p > 0, in the mean over many calls.
    """

    def drop(p: Tensor, rate: float) -> Tensor:
        if rate <= 0:
            return p
        kept = reference.drop(p, rate)
        z = kept.sum(-1, keepdim=True)
        return kept / z.masked_fill(z == 0, 1.0)

    return build(drop=drop)


def kept_weights_over_the_rate() -> Any:
    """What is kept is divided by p, not by 1 - p: right at p = 0.5."""
    return build(drop=lambda p, rate: p * (torch.rand_like(p) >= rate) / rate if rate > 0 else p)


def default_scale_under_dropout() -> Any:
    """The path with dropout takes the default scale, whatever was given."""
    return around(lambda a: {"scale": None} if a["dropout_p"] > 0 else {})


def causality_lost_with_dropout_and_mask() -> Any:
    """With dropout and a mask together, causality is forgotten; each two of the three are right."""
    return around(lambda a: {"is_causal": False} if a["dropout_p"] > 0 and a["attn_mask"] is not None else {})


ROWS = (
    *rows("first_sight_others", dropout_scale_in_bfloat16),
    *rows("second_sight_others", score_gradient_from_dropped_weights, accumulate="float32"),
    *rows("fourth_sight_backward", dropout_before_the_sum),
    *rows(
        "fifth_sight_backward", kept_weights_over_the_rate, default_scale_under_dropout,
        causality_lost_with_dropout_and_mask,
    ),
)  # fmt: skip
