"""More faults of the second set, written without a look at the laws: memory, chance, and the other contracts.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, lse, rotary, split_merge_heads
from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- memory ---------------------------------------------------------------------------------------


def dead_sequences_are_not_written() -> Any:
    """A sequence without any key leaves the kernel early, and its output is what the last call of that shape left."""
    kept: dict[Any, Tensor] = {}

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            shape = (*query.shape[:-1], key.shape[-2])
            early = ~attn_mask.expand(shape).any(-1, keepdim=True).any(-2, keepdim=True)
            out = torch.where(early, kept.get((out.shape, out.dtype), out.detach()), out)
        kept[out.shape, out.dtype] = out.detach().clone()
        return out

    return attention


def cached_triangle_takes_up_masks() -> Any:
    """The causal mask of a length is kept, and `&=` with a matrix mask writes into it: later calls are
    masked as well.
    """
    kept: dict[tuple[int, int], Tensor] = {}

    def triangle(n_q: int, n_kv: int) -> Tensor:
        return kept.setdefault((n_q, n_kv), reference.causal_allowed(n_q, n_kv))

    def masked(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        matrix = mask is not None and mask.dtype == torch.bool and causal is not None
        if matrix and mask is not None and causal is not None and mask.numel() == causal.numel():
            causal &= mask.reshape(causal.shape)
        return reference.bias(s, mask, causal)

    return build(causal_allowed=triangle, bias=masked)


def results_share_one_buffer() -> Any:
    """Without gradients the output of a shape lies in one buffer, as in a captured graph: the next call
    overwrites it.
    """
    kept: dict[Any, Tensor] = {}

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return out if out.requires_grad else kept.setdefault((out.shape, out.dtype), out).copy_(out)

    return attention


# --- dropout --------------------------------------------------------------------------------------


def random_numbers_overlap_between_rows() -> Any:
    """The counter is 16 i + j: from 17 keys on row i + 1 starts with the numbers of row i behind its first 16."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        n_q, n_kv = p.shape[-2:]
        numbers = torch.rand(*p.shape[:-2], 16 * n_q + n_kv)
        kept = numbers[..., 16 * torch.arange(n_q)[:, None] + torch.arange(n_kv)] >= rate
        return p * kept / (1 - rate)

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


# --- log-sum-exp ----------------------------------------------------------------------------------


class _Gate(torch.autograd.Function):
    """Nothing at all, and no gradient where that of the output is zero."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        return out.clone(), found.clone()

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, d_lse: Tensor) -> Any:
        return d_out, d_lse if bool(d_out.any()) else torch.zeros_like(d_lse)


def lse_gradient_needs_that_of_the_output() -> lse.Fault:
    """A backward whose dO is zero returns at once: a loss on the log-sum-exp alone moves nothing
    (Dao-AILab/flash-attention#1817).
    """
    right = lse.build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        found: tuple[Tensor, Tensor] = _Gate.apply(*right(query, key, value, attn_mask, is_causal, scale, enable_gqa))
        return found

    return attention


def lse_read_without_its_padding() -> lse.Fault:
    """The log-sum-exp is stored with rows padded to 16 and read as if they were not: one head and 16 c rows hide it."""

    def packed(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        stored = torch.nn.functional.pad(found, (0, -found.shape[-1] % 16), value=-math.inf)
        return stored.flatten()[: found.numel()].reshape(found.shape)

    return lse.build_lse(packed)


# --- caches ---------------------------------------------------------------------------------------


class prefill_longer_than_the_window(Cache):  # noqa: N801
    """A chunk wraps round the ring before it is read, and is masked by slots: early rows see later tokens
    (Lightning-AI/litgpt#2182).
    """

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        W = self.window or len(own)
        if len(own) <= W:
            return super().allowed(own, places)
        return (places > own[-1] - W) & (places % W <= own[:, None])


class keys_smoothed_by_each_chunk(Cache):  # noqa: N801
    """Chunks of eight tokens and more take out their mean key, which one softmax does not see; beside other
    chunks it does.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if key.shape[-2] >= 8:
            key = key.to(torch.promote_types(key.dtype, torch.float32))
            key = key - key.mean(-2, keepdim=True)
        return super().append(key, value)


# --- positions ------------------------------------------------------------------------------------


class table_cast_down_for_good:  # noqa: N801
    """The first two-byte input casts the table of cosines in place; float32 reads what is left of it
    (sgl-project/sglang PR33117).
    """

    def __init__(self) -> None:
        self.dtype = torch.float32

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        self.dtype = x.dtype if x.element_size() == 2 else self.dtype
        wide = torch.promote_types(x.dtype, torch.float32)
        cos, sin = (table.to(self.dtype).to(wide) for table in rotary.tables(positions, x.shape[-1]))
        return rotary.turn(x.to(wide), cos, sin).to(x.dtype)


class _Turned(torch.autograd.Function):
    """A rotation whose backward is the rotation itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.places = places
        return rotary.correct(x, places)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return rotary.correct(g, ctx.places), None


def backward_turns_forward_again(x: Tensor, positions: Tensor) -> Tensor:
    """The backward turns by the angle, not by its negative: gradients alone are wrong."""
    found: Tensor = _Turned.apply(x, positions)
    return found


class slopes_of_the_largest_model_so_far:  # noqa: N801
    """Slopes are kept for the most heads so far, and the first H of them are taken (compare ml-explore/mlx PR3071)."""

    def __init__(self) -> None:
        self.most = 1

    def __call__(self, H: int, n_q: int, n_kv: int) -> Tensor:
        self.most = max(self.most, H)
        return bias.with_slopes(bias.slopes(self.most)[:H], n_q, n_kv)


def sines_by_interpolation(n: int, d: int) -> Tensor:
    """Sines come from 1024 entries with linear interpolation: 5e-6 off between them, right at position 0."""
    entries = torch.sin(torch.arange(1025, dtype=torch.float64) * (2 * math.pi / 1024))
    exponent = -torch.arange(0, d, 2, dtype=torch.float64) / d
    turns = torch.arange(n)[:, None] * 10000.0**exponent / (2 * math.pi)
    at = torch.stack([turns, turns + 0.25], -1).flatten(1)[:, :d] % 1 * 1024
    low = at.floor().long().clamp(max=1023)
    return torch.lerp(entries[low], entries[low + 1], at - low).float()


# --- masks, heads, modules ------------------------------------------------------------------------


def lower_edge_stays_top_left(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window's upper edge follows the alignment, its lower edge does not: n_q = n_kv hides it."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > torch.arange(n_q)[:, None] - W)


def merge_transposes_in_place() -> split_merge_heads.Pair:
    """The merge calls transpose_ where no gradient forbids it: the caller's tensor has other axes afterwards."""

    def merge(x: Tensor) -> Tensor:
        return split_merge_heads.merge(x) if x.requires_grad else x.transpose_(1, 2).flatten(2)

    return split_merge_heads.split, merge


class fused_weights_of_the_first_evaluation(MultiHead):  # noqa: N801
    """The inference path joins the three projections once and keeps them; weights loaded later are not seen."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.training or torch.is_grad_enabled():
            return super().project(x)
        parts = (self.q_proj, self.k_proj, self.v_proj)
        if not hasattr(self, "fused"):
            self.fused = [torch.cat([getattr(p, n) for p in parts]) for n in ("weight", "bias")]
        q, k, v = torch.nn.functional.linear(x, *self.fused).chunk(3, -1)
        return q, k, v


class mask_of_the_first_four_sequences(MultiHead):  # noqa: N801
    """A large batch goes four sequences at a time, each time with the masks of the first four."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4 and len(attn_mask) > 4:
            attn_mask = attn_mask[torch.arange(len(attn_mask)) % 4]
        return super().allowed(n, attn_mask, is_causal, need_weights)


MH: dict[str, Any] = {"direct": True, "contract": "multi-head", "parameters": {"weights_flag": "need_weights"}}
KV: dict[str, Any] = {"direct": True, "contract": "kv-cache", "accumulate": "float32"}
LSE: dict[str, Any] = {"contract": "attention-lse", "returns": "out,lse", "accumulate": "float32"}
RO: dict[str, Any] = {"contract": "rotary", "parameters": {"positions": "batched"}}


def new(target: Any, **record: Any) -> Any:
    """A row of this file."""
    return row(target, "hard", "second_sight", **record)


ROWS = (
    *(new(make, accumulate="float32") for make in (
        dead_sequences_are_not_written, cached_triangle_takes_up_masks, results_share_one_buffer,
        random_numbers_overlap_between_rows, score_gradient_from_dropped_weights,
    )),
    *(new(make, **LSE) for make in (lse_gradient_needs_that_of_the_output, lse_read_without_its_padding)),
    new(prefill_longer_than_the_window, **KV, parameters={"window": 4}), new(keys_smoothed_by_each_chunk, **KV),
    new(table_cast_down_for_good, **RO), new(backward_turns_forward_again, direct=True, **RO),
    new(slopes_of_the_largest_model_so_far, contract="bias"),
    new(sines_by_interpolation, direct=True, contract="position-table"),
    new(lower_edge_stays_top_left, direct=True, contract="mask-builder", causal="bottom_right",
        parameters={"kind": "sliding_window"}),
    new(merge_transposes_in_place, contract="heads"),
    *(new(c, **MH) for c in (fused_weights_of_the_first_evaluation, mask_of_the_first_four_sequences)),
)  # fmt: skip
