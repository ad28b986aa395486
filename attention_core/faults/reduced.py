"""Real faults of the list that need a reduction of their own: sized down, or moved into a contract that can
show them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias as biases
from attention_core.faults.bases import reference
from attention_core.faults.bases.cache import Cache
from attention_core.faults.bases.multi_head import MultiHead
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import row

Attention = Callable[..., Any]


def stale_values_of_the_last_block() -> Attention:
    """The last block of 16 values is read whole, with weight 0 beyond the end (vllm-project/vllm PR936).

    What lies there is NaN now and then, and 0 * NaN is NaN.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        n, full = value.shape[-2], -(-value.shape[-2] // 16) * 16
        if n == full or value.dim() != 4 or not value.numel():
            return out
        tail = _beyond(value, full)
        return out + (0.0 * tail.to(torch.float32).sum(-2).mean()).to(out.dtype)

    return attention


def _beyond(x: Tensor, rows: int) -> Tensor:
    """The rows behind the end of every head, as the storage has them."""
    n, (sb, sh, sn, sd) = x.shape[-2], x.stride()
    count = x.untyped_storage().nbytes() // x.element_size()
    place = (
        int(x.storage_offset()) + torch.arange(x.shape[0])[:, None, None, None] * sb
        + torch.arange(x.shape[1])[:, None, None] * sh + torch.arange(n, rows)[:, None] * sn
        + torch.arange(x.shape[-1]) * sd
    )  # fmt: skip
    flat = x.detach().as_strided((count,), (1,), 0)
    return torch.where(place < count, flat[place.clamp(max=count - 1)], 0.0)


def stale_finite_tail() -> Attention:
    """The last block of 16 values is read whole, and what is behind the end is finite (vllm-project/vllm PR53856)."""
    return reference.build(combine=lambda p, v: reference.combine(
        torch.nn.functional.pad(p, (0, -p.shape[-1] % 16)),
        torch.cat([v, v.new_full((*v.shape[:-2], -v.shape[-2] % 16, v.shape[-1]), 3.0)], -2),
    ))  # fmt: skip


def dead_rows_by_path() -> Attention:
    """Dead rows are zero on the path without gradients and NaN on the other (pytorch/pytorch#160064, #152028)."""
    plain = build(weights=lambda s: torch.softmax(s, -1))

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        chosen = plain if query.requires_grad else reference.correct
        found: Tensor = chosen(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return found

    return attention


class dead_rows_on_the_weights_path(MultiHead):  # noqa: N801
    """With weights asked for a softmax of nothing is NaN, on the other path zero (pytorch/pytorch#160064, #103963)."""

    def forward(self, x: Tensor, attn_mask: Any = None, is_causal: bool = False, need_weights: bool = False) -> Any:
        self.plain = need_weights
        return super().forward(x, attn_mask, is_causal, need_weights)

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        p = super().weights(s, allow)
        return p if self.plain else p.masked_fill(~allow, 0.0)


def causal_needs_four_axes() -> Attention:
    """Inputs without a batch axis take a path that has no causality (keras-team/keras#23038: ndim != 4)."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        return reference.correct(query, key, value, is_causal=is_causal and query.dim() == 4)

    return attention


def scale_missing_on_the_fallback() -> Attention:
    """Head sizes that the fast kernel lacks take a path without scale (mlc-ai/mlc-llm PR3426)."""
    fallback = lambda q, scale: scale is None and q.shape[-1] > 64  # noqa: E731
    return build(scores=lambda q, k, s: reference.scores(q, k, 1.0 if fallback(q, s) else s))


class sink_left_out_of_the_maximum(Tiles):  # noqa: N801
    """The first key, a sink, is not in the running maximum (PaddlePaddle/PaddleFleet PR1439): overflow."""

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        part = s[..., 1:] if start == 0 and s.shape[-1] > 1 else s
        return super().maximum(m, part, start)


def fill_of_float64_in_float32() -> Attention:
    """finfo(float64).min fills float32 scores, where it is -inf: dead rows are NaN (jax-ml/jax PR34114)."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        lowest = torch.tensor(torch.finfo(torch.float64).min).to(torch.float32)
        for allow in (mask, causal):
            if allow is not None:
                allowed = allow if allow.dtype == torch.bool else allow > -math.inf
                s = torch.where(allowed, s if allow.dtype == torch.bool else s + allow, lowest.to(s.dtype))
        return s

    return build(bias=bias, weights=lambda s: torch.softmax(s, -1))


def softmax_in_the_input_dtype() -> Attention:
    """Scores, softmax and sums stay in float16, though float32 inside is declared (huggingface/transformers
    PR17437).
    """
    return build(wide=False)


def bias_in_cross_attention() -> Attention:
    """A relative bias is given to cross-attention as well, where n_q != n_kv (huggingface/transformers PR8518)."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        s, (n_q, n_kv) = reference.scores(query, key, scale), (query.shape[-2], key.shape[-2])
        if n_q == n_kv:
            return s
        return s + biases.correct(s.shape[-3], n_q, n_kv).to(s.dtype)

    return build(scores=scores)


def decode_layout_beside_an_empty_sequence() -> Attention:
    """With one query per sequence, batches are packed by the keys they have: empty ones shift the rest.

    Dao-AILab/flash-attention#1537, where a zero length met max_seqlen 1.
    """

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        out = reference.correct(query, key, value, attn_mask)
        packed = attn_mask is not None and attn_mask.dtype == torch.bool and query.dim() == 4 and query.shape[-2] == 1
        if not packed or attn_mask is None:
            return out
        alive = attn_mask.expand(*query.shape[:-1], key.shape[-2]).any(-1).flatten(1).any(-1)
        order = torch.cat([alive.nonzero().flatten(), (~alive).nonzero().flatten()])
        return out[order]

    return attention


class window_needs_a_chunk(Cache):  # noqa: N801
    """The window is applied where a mask is built, and single tokens build none (jax-ml/jax#32300)."""

    def keep(self, key: Tensor, value: Tensor) -> None:
        self.kept = [key, value]

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, places) if len(own) > 1 else places <= own[:, None]


def prefix_one_short(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """< in place of <= at the open edge (huggingface/transformers PR47010, there of a right window)."""
    start = 0 if align == "top_left" else n_kv - n_q
    i, j = torch.arange(n_q)[:, None] + start, torch.arange(n_kv)
    return (j < P - 1) | (j <= i)


def causal_index_from_the_head_axis() -> Attention:
    """Running sums over keys run over heads (fla-org/flash-linear-attention PR594, #850): head h sees keys j <= h."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None and s.dim() == 4 and s.shape[-3] > 1:
            causal = (torch.arange(s.shape[-1]) <= torch.arange(s.shape[-3])[:, None])[:, None]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


class parts_merged_in_the_wrong_base(Tiles):  # noqa: N801
    """Parts of the keys are merged with exp of their log2-sum-exp (vllm-project/vllm PR28840;
    sgl-project/sglang#40903).
    """

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return super().rescale(m / math.log(2), new / math.log(2), start)


def no_expansion_of_key_heads() -> Attention:
    """Key heads are not repeated: a single one broadcasts, others end in a shape error (state-spaces/mamba PR462)."""
    return build(expand=lambda key, value, heads: (key, value))


WIDE: dict[str, Any] = {"accumulate": "float32"}
ROWS = (
    row(stale_values_of_the_last_block, "real", bug="stale V tail of last block enters P@V"),
    row(stale_finite_tail, "real", bug="stale V tail of last block enters P@V", expected="equivalent",
        argument="a weight of exactly 0 times a finite number is 0: only garbage that is not finite shows"),
    row(dead_rows_by_path, "real", bug="dead row differs between paths"),
    row(dead_rows_on_the_weights_path, "real", bug="dead row differs between paths", direct=True, contract="multi-head",
        parameters={"weights_flag": "need_weights"}),
    row(causal_needs_four_axes, "real", bug="causal mask lost on fallback path"),
    row(scale_missing_on_the_fallback, "real", bug="scale missing on fallback"),
    row(sink_left_out_of_the_maximum, "real", bug="sink left out of running max", **WIDE),
    row(fill_of_float64_in_float32, "real", bug="f64 fill cast to f32"),
    row(softmax_in_the_input_dtype, "real", bug="softmax in fp16", **WIDE),
    row(bias_in_cross_attention, "real", bug="relative bias given to cross-attention"),
    row(decode_layout_beside_an_empty_sequence, "real", bug="varlen zero length + max_seqlen 1"),
    row(window_needs_a_chunk, "real", bug="window ignored unless a mask is also given", direct=True,
        contract="kv-cache", parameters={"window": 4}, **WIDE),
    row(prefix_one_short, "real", bug="right window one short", direct=True, contract="mask-builder",
        parameters={"kind": "prefix"}),
    row(causal_index_from_the_head_axis, "real", bug="linear attn cumsum over heads"),
    row(parts_merged_in_the_wrong_base, "real", bug="LSE base 2 merged as base e", **WIDE),
    row(no_expansion_of_key_heads, "real", bug="no expansion", expected="allowed",
        argument="the shape error is a RuntimeError at the call, and refusing is allowed; "
        "what is not refused is right"),
)  # fmt: skip
