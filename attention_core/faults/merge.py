"""Faults of merging (out, lse) of parts, one each, and correct merges in other arithmetic and other forms.

A right merge is cut into steps; a fault replaces one. `pair` builds f(out_a, lse_a, out_b, lse_b), `stacked`
f(outs, lses).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row
from attention_core.kernels.split_merge import merge as correct

Merge = Callable[..., Any]


# --- steps ---------------------------------------------------------------------------


def maximum(lses: Tensor) -> Tensor:
    """The largest log-sum-exp of each row, finite also where no part has a key."""
    top = lses.detach().amax(0)
    return torch.where(top == -math.inf, 0.0, top)


def masses(lses: Tensor, top: Tensor) -> Tensor:
    """What each part weighs."""
    return torch.exp(lses - top)


def shares(mass: Tensor) -> Tensor:
    """Weights that sum to one, or to zero where there is no key."""
    total = mass.sum(0)
    return mass / torch.where(total == 0, 1.0, total)


def total(mass: Tensor, top: Tensor) -> Tensor:
    """The log-sum-exp of all keys."""
    return top + mass.sum(0).log()


def weigh(share: Tensor, outs: Tensor) -> Tensor:
    """The weighted sum of the outputs."""
    return (share[..., None] * outs).sum(0)


STEPS: dict[str, Callable[..., Any]] = {
    "maximum": maximum, "masses": masses, "shares": shares, "total": total, "weigh": weigh,
}  # fmt: skip


def stacked(**changed: Callable[..., Any]) -> Merge:
    """f(outs, lses) with some steps replaced."""
    step = STEPS | changed

    def merge(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
        top = step["maximum"](lses)
        mass = step["masses"](lses, top)
        out = step["weigh"](step["shares"](mass).to(lses.dtype), outs.to(lses.dtype))
        return out.to(outs.dtype), step["total"](mass, top)

    return merge


def pair(**changed: Callable[..., Any]) -> Merge:
    """f(out_a, lse_a, out_b, lse_b) with some steps replaced."""
    inner = stacked(**changed)

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = inner(torch.stack([out_a, out_b]), torch.stack([lse_a, lse_b]))
        return out, lse

    return merge


# --- correct -------------------------------------------------------------------------


def stacked_by_softmax(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    """The shares are a softmax over the parts, and NaN of an empty part is left out."""
    dead = (lses == -math.inf).all(0)
    known = lses.masked_fill(dead, 0.0)
    share = known.softmax(0).masked_fill(dead, 0.0)[..., None]
    out = (share * outs.masked_fill(share == 0, 0.0).to(lses.dtype)).sum(0)
    return out.to(outs.dtype), known.logsumexp(0).masked_fill(dead, -math.inf)


def by_the_difference(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """out_a - sigmoid(lse_b - lse_a) (out_a - out_b), as ring attention has it, guarded where a part is empty."""
    empty_a, empty_b = lse_a == -math.inf, lse_b == -math.inf
    both = empty_a & empty_b
    gap = torch.where(empty_a | empty_b, 0.0, lse_b - lse_a)
    share = torch.sigmoid(gap)
    share = torch.where(empty_b, 0.0, torch.where(empty_a, 1.0, share))[..., None]
    out = torch.where(both[..., None], 0.0, (1 - share) * out_a + share * out_b)
    return out, torch.where(both, -math.inf, torch.logaddexp(lse_a, lse_b))


def merge_state(v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor) -> tuple[Tensor, Tensor]:
    """The call of FlashInfer: (n, H, d) and (n, H), log-sum-exps in base 2."""
    out, lse = pair()(v_a, s_a * math.log(2), v_b, s_b * math.log(2))
    return out, lse / math.log(2)


def merge_state_in_place(v: Tensor, s: Tensor, v_other: Tensor, s_other: Tensor, mask: Tensor | None = None) -> None:
    """The call of FlashInfer that writes into its first two arguments; a mask selects rows to merge."""
    out, lse = merge_state(v, s, v_other, s_other)
    rows = torch.ones(len(v), dtype=torch.bool) if mask is None else mask
    v[rows], s[rows] = out[rows], lse[rows]


def merge_attn_states(
    output: Tensor, prefix_output: Tensor, prefix_lse: Tensor, suffix_output: Tensor, suffix_lse: Tensor,
    output_lse: Tensor | None = None,
) -> None:  # fmt: skip
    """The call of vLLM: outputs (n, H, d), log-sum-exps (H, n), the results written into the first and the last."""
    out, lse = pair()(prefix_output, prefix_lse.T, suffix_output, suffix_lse.T)
    output.copy_(out)
    if output_lse is not None:
        output_lse.copy_(lse.T)


def in_its_first_arguments(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> None:
    """Writes the result over the first part."""
    out, lse = pair()(out_a, lse_a, out_b, lse_b)
    out_a.copy_(out)
    lse_a.copy_(lse)


def _with_lses(change: Callable[[Tensor], Tensor], outs: Callable[[Tensor], Tensor] = lambda out: out) -> Merge:
    """The right merge of changed log-sum-exps and outputs."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = pair()(outs(out_a), change(lse_a), outs(out_b), change(lse_b))
        return out, lse

    return merge


# --- faulty --------------------------------------------------------------------------


def powers_of_two_of_natural_logs() -> Merge:
    """Natural log-sum-exps weighed by powers of two (vllm-project/vllm PR52796, sgl-project/sglang#40903)."""
    return pair(masses=lambda lses, top: torch.exp2(lses - top), total=_total_of_natural)


def _total_of_natural(mass: Tensor, top: Tensor) -> Tensor:
    return top + mass.sum(0).log2() * math.log(2)


def natural_logs_of_powers_of_two() -> Merge:
    """Log-sum-exps in base 2 weighed by powers of e (sgl-project/sglang PR35045, meta-pytorch/attention-gym PR205)."""
    return pair()


def nan_where_all_are_empty() -> Merge:
    """-inf - -inf where both parts are empty (flashinfer-ai/flashinfer#4051, vllm-project/vllm PR39148)."""
    return pair(maximum=lambda lses: lses.amax(0), shares=lambda mass: mass / mass.sum(0))


def first_part_where_any_is_infinite() -> Merge:
    """An early exit meant for two empty parts copies the first where one is (after vllm-project/vllm PR28181)."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = correct(out_a, lse_a, out_b, lse_b)
        early = torch.isinf(lse_a)
        return torch.where(early[..., None], out_a, out), torch.where(early, lse_a, lse)

    return merge


def empty_lse_clamped() -> Merge:
    """An empty part gets the log-sum-exp -10,000 against NaN (vllm-project/vllm#27491)."""
    return _with_lses(lambda lse: torch.where(lse == -math.inf, -1e4, lse))


def plus_infinity_is_a_mark() -> Merge:
    """Rows without keys come out with +inf, the older kernel's mark (vllm-project/vllm PR15492)."""

    def lse(mass: Tensor, top: Tensor) -> Tensor:
        found = total(mass, top)
        return torch.where(found == -math.inf, math.inf, found)

    return pair(total=lse)


def empty_part_of_lse_zero() -> Merge:
    """An empty part's -inf is cleaned to 0, the weight of a key of score 0 (vllm-project/vllm PR49294)."""
    return _with_lses(lambda lse: lse.nan_to_num(neginf=0.0))


def empty_output_times_zero() -> Merge:
    """0 * NaN: the undefined output of an empty part is weighed by 0, not left out (vllm-project/vllm PR49294)."""
    return pair()


def memory_read_in_order() -> Merge:
    """Slices are read as if they were whole (vllm-project/vllm PR18807)."""

    def flat(x: Tensor) -> Tensor:
        if x.is_contiguous():
            return x
        stride = [math.prod(x.shape[i + 1 :]) for i in range(x.dim())]
        return x.as_strided(x.shape, stride, 0)

    return _with_lses(flat, flat)


def averaged() -> Merge:
    """The parts are averaged, whatever their log-sum-exps."""
    return pair(shares=lambda mass: torch.full_like(mass, 1 / len(mass)))


def exponentials_without_a_maximum() -> Merge:
    """exp(lse) as it is: right until it overflows, or vanishes (compare flashinfer-ai/flashinfer PR5262)."""
    return pair(maximum=lambda lses: torch.zeros_like(lses[0]))


def lse_of_the_larger_part() -> Merge:
    """The maximum is returned for the log-sum-exp: a later merge weighs the union as its larger half."""
    return pair(total=lambda mass, top: torch.where(mass.sum(0) == 0, -math.inf, top))


def shares_not_normalised() -> Merge:
    """Outputs are added times exp(lse - maximum), and nothing divides by the sum."""
    return pair(shares=lambda mass: mass)


def parts_exchanged() -> Merge:
    """Each output gets the other part's weight."""
    return pair(weigh=lambda share, outs: weigh(share.flip(0), outs))


def first_part_leads() -> Merge:
    """The first part's log-sum-exp is the shift: a later part far above it overflows."""
    return pair(maximum=lambda lses: torch.where(lses[0] == -math.inf, maximum(lses), lses[0]).detach())


def features_beyond_128_are_the_first_parts() -> Merge:
    """A thread for each of the first 128 features; the others keep what the first part has."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = correct(out_a, lse_a, out_b, lse_b)
        return torch.cat([out[..., :128], out_a[..., 128:].to(out.dtype)], -1), lse

    return merge


def lse_of_the_first_head() -> Merge:
    """All heads are weighed by the first head's log-sum-exps."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        out, _ = pair()(out_a, *(x[..., :1, :].expand(x.shape) if x is lse_a else x for x in (lse_a, out_b)),
                        lse_b[..., :1, :].expand(lse_b.shape))  # fmt: skip
        return out, correct(out_a, lse_a, out_b, lse_b)[1]

    return merge


def gradient_of_the_lse_lost() -> Merge:
    """The shares count as constants in the backward."""
    return pair(masses=lambda lses, top: torch.exp(lses.detach() - top), total=_total_with_gradient)


def _total_with_gradient(mass: Tensor, top: Tensor) -> Tensor:
    return total(mass, top)


def gradient_nan_where_a_part_is_empty() -> Merge:
    """log(exp(lse)) of an empty part: its gradient is 0 times infinity."""

    def masses(lses: Tensor, top: Tensor) -> Tensor:
        return torch.exp(lses.exp().log() - top)

    return pair(masses=masses)


def first_of_three_parts_forgotten() -> Merge:
    """A sum over the parts of a stack that starts at the second where there are more than two."""
    return stacked(
        shares=lambda mass: shares(mass if len(mass) < 3 else torch.cat([0 * mass[:1], mass[1:]])),
    )


def sixteen_parts_at_most() -> Merge:
    """A loop over at most 16 parts of a stack."""

    def merge(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = stacked()(outs[:16], lses[:16])
        return out, lse

    return merge


def lse_in_half_precision() -> Merge:
    """The log-sum-exps are rounded to the outputs' bfloat16 before they are compared."""
    return _with_lses(lambda lse: lse.bfloat16().to(lse.dtype))


def far_parts_are_not_mixed() -> Merge:
    """A part whose log-sum-exp lies 16 or more below the largest is taken for negligible, in float64 too."""
    return pair(masses=lambda lses, top: torch.where(top - lses < 16.0, torch.exp(lses - top), 0.0))


def gradient_nan_in_rows_without_keys() -> Merge:
    """Rows without a key are chosen behind the division: the gradient of 0 / 0 comes back as NaN."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        top = torch.maximum(lse_a, lse_b).detach()
        dead = top == -torch.inf
        a, b = (torch.exp(x - torch.where(dead, 0.0, top)) for x in (lse_a, lse_b))
        total = a + b
        out = (a[..., None] * out_a + b[..., None] * out_b) / total[..., None]
        out = torch.where(dead[..., None], 0.0, out).to(out_a.dtype)
        return out, torch.where(dead, -torch.inf, torch.where(dead, 0.0, top) + torch.where(dead, 1.0, total).log())

    return merge


def empty_second_part_gives_the_first() -> Merge:
    """Where the second part has no key at all, the first one is handed back, with what its empty rows hold."""

    def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
        if (lse_b == -torch.inf).all():
            return out_a.clone(), lse_a.clone()
        return correct(out_a, lse_a, out_b, lse_b)

    return merge


def heads_beyond_64_by_the_last() -> Merge:
    """Heads from the 65th on are weighed as the 64th."""

    def weighed(share: Tensor, outs: Tensor) -> Tensor:
        return weigh(share[:, :, torch.arange(share.shape[2]).clamp(max=63)], outs)

    return pair(weigh=weighed)


FAULTY = (
    gradient_nan_in_rows_without_keys, empty_second_part_gives_the_first,
    powers_of_two_of_natural_logs, nan_where_all_are_empty, first_part_where_any_is_infinite, empty_lse_clamped,
    plus_infinity_is_a_mark, empty_part_of_lse_zero, memory_read_in_order, averaged, exponentials_without_a_maximum,
    lse_of_the_larger_part, shares_not_normalised, parts_exchanged, first_part_leads,
    features_beyond_128_are_the_first_parts, lse_of_the_first_head, gradient_of_the_lse_lost,
    gradient_nan_where_a_part_is_empty, first_of_three_parts_forgotten, sixteen_parts_at_most, lse_in_half_precision,
    far_parts_are_not_mixed,
    heads_beyond_64_by_the_last,
)  # fmt: skip
DECLARED: dict[Callable[[], Merge], dict[str, Any]] = {
    natural_logs_of_powers_of_two: {"parameters": {"base": 2}},
    empty_output_times_zero: {"masked_nan": "ignored"},
}
"""Faults that are faults under a declaration alone."""
ROWS = (
    *(row(fault, "law", contract="merge") for fault in FAULTY),
    *(row(fault, "law", contract="merge", **record) for fault, record in DECLARED.items()),
)
