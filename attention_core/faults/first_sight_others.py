"""More faults written when the laws were done, without a look at them: chance, memory, and the other contracts.

Their rate of refutation at first sight is a figure of docs/power.md. They stay as they were written.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, lse, position_table, rotary, split_merge_heads
from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- chance and memory ----------------------------------------------------------------------------


def dropout_scale_in_bfloat16() -> Any:
    """Kept weights are divided by 1 - p in bfloat16: 0.1 gives 1.109375 in place of 1.1111; 1/2 hides it."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        return p * (torch.rand_like(p) >= rate) * float(torch.tensor(1 / (1 - rate)).bfloat16())

    return build(drop=drop)


def dropout_forgets_the_last_of_five() -> Any:
    """Four random numbers come at a time: with 4 c + 1 keys the last one is always kept."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        kept = torch.rand_like(p) >= rate
        if p.shape[-1] % 4 == 1 and p.shape[-1] > 1:
            kept[..., -1] = True
        return p * kept / (1 - rate)

    return build(drop=drop)


def dropout_masks_return_every_fourth_call() -> Any:
    """The offset of the generator has two bits: the fifth call drops what the first one dropped."""
    seeds: list[int] = []
    calls = [0]

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        if len(seeds) < 4:
            seeds.append(int(torch.randint(2**31, ())))
        generator = torch.Generator().manual_seed(seeds[calls[0] % len(seeds) if len(seeds) == 4 else -1])
        calls[0] += 1
        return p * (torch.rand(p.shape, generator=generator) >= rate) / (1 - rate)

    return build(drop=drop)


def gradient_of_dropped_scores_unscaled() -> Any:
    """The scores' gradient goes through the dropout mask, and not through its factor 1/(1 - p)."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        dropped = p * (torch.rand_like(p) >= rate)
        return dropped + dropped.detach() * (1 / (1 - rate) - 1)

    return build(drop=drop)


def first_call_loses_its_last_key() -> Any:
    """The tuner's trial run is returned for the first call of a dtype; it leaves out the last key."""
    seen: set[torch.dtype] = set()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if query.dtype not in seen and key.shape[-2] > 1 and attn_mask is None:
            seen.add(query.dtype)
            key, value = key[..., :-1, :], value[..., :-1, :]
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def keys_of_a_longer_call_before() -> Any:
    """Keys lie in a buffer by bucket of 32; a shorter call after a longer one of its bucket sees the old tail."""
    kept: dict[Any, tuple[Tensor, Tensor]] = {}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        k, v = reference.expand(key, value, heads)
        return k, v

    right = build(expand=expand)

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        shape = (*key.shape[:-2], key.shape[-2] // 32, key.shape[-1], value.shape[-1], key.dtype)
        n, (k, v) = key.shape[-2], (key, value)
        old = kept.get(shape)
        if old is not None and old[0].shape[-2] > n:
            k, v = (torch.cat([x, o[..., n:, :]], -2) for x, o in zip((key, value), old, strict=True))
        kept[shape] = (k.detach().clone(), v.detach().clone())
        return right(query, k, v, is_causal=is_causal)

    return attention


def decoding_writes_into_its_query() -> Any:
    """One query and d_v = d: the output takes the query's memory."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        out = reference.correct(query, key, value, attn_mask)
        if out.shape == query.shape and query.shape[-2] == 1 and not query.requires_grad:
            query.copy_(out)
        return out

    return attention


# --- log-sum-exp ----------------------------------------------------------------------------------


def lse_of_grouped_heads_in_another_order() -> lse.Fault:
    """With shared key heads the log-sum-exp has its heads by group member first; the output has not."""
    group = [1]

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group[0] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def turned(s: Tensor, raw: Tensor) -> Tensor:
        found, g = torch.logsumexp(s, -1), group[0]
        if g == 1:
            return found
        return found.unflatten(-2, (-1, g)).transpose(-2, -3).flatten(-3, -2)

    return lse.build_lse(turned, expand=expand)


def lse_without_a_gradient() -> lse.Fault:
    """The log-sum-exp is cut off the graph."""
    return lse.build_lse(lambda s, raw: torch.logsumexp(s, -1).detach())


# --- caches ---------------------------------------------------------------------------------------


class first_token_never_evicted(Cache):  # noqa: N801
    """The window keeps the first token as a sink, though none is declared."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, places) | (places == 0)

    def keep(self, key: Tensor, value: Tensor) -> None:
        self.kept = [key, value]


class window_of_the_last_row(Cache):  # noqa: N801
    """All rows of a chunk start where the window of its last row starts."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return (places <= own[:, None]) & (places > own[-1] - self.window)  # type: ignore[operator]


class growing_loses_a_token(Cache):  # noqa: N801
    """When a buffer of 32 tokens is copied into one of 64, the last one stays behind."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().append(key, value)
        if len(self.places) <= 32 < k.shape[-2] and len(self.places) == 32:
            k = k.clone()
            k[..., 31, :] = 0
        return k, v


# --- masks ----------------------------------------------------------------------------------------


def empty_sequences_are_whole(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """`length or n`: a sequence of length 0 sees everything."""
    return real_keys(n_q, n_kv, torch.where(lengths == 0, n_kv, lengths))


def no_prefix_is_all_prefix(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """`P or n_kv`: a prefix of none is one of all."""
    i, j = positions(n_q, n_kv, align)
    return (j < (P or n_kv)) | (j <= i)


def documents_numbered_in_bytes(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Ids are compared as bytes: documents 256 apart are one."""
    small = ids % 256
    return (small[:, :n_q, None] == small[:, None, :n_kv])[:, None]


def wide_windows_lose_their_last_key(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window as wide as the keys or wider is cut to n_kv - 1."""
    i, j = positions(n_q, n_kv, align)
    return (i - j < min(W, max(n_kv - 1, 1))) & (j <= i)


# --- positions ------------------------------------------------------------------------------------


def negative_positions_are_zero(x: Tensor, positions: Tensor) -> Tensor:
    """Positions before 0, as left padding gives them, are taken for 0."""
    return rotary.correct(x, positions.clamp(min=0))


def last_of_an_odd_length_not_turned(x: Tensor, positions: Tensor) -> Tensor:
    """Tokens are turned two by two, and the last one of an odd length stays as it is."""
    y, n = rotary.correct(x, positions), x.shape[-2]
    return y if n % 2 == 0 or n == 1 else torch.cat([y[..., :-1, :], x[..., -1:, :]], -2)


def table_of_2048_rows(x: Tensor, positions: Tensor) -> Tensor:
    """The table ends at 2047, and so do later positions."""
    return rotary.correct(x, positions.clamp(max=2047))


def slopes_for_eight_heads(H: int, n_q: int, n_kv: int) -> Tensor:
    """The slopes of eight heads are repeated for more."""
    slopes = bias.slopes(min(H, 8))
    return bias.with_slopes(slopes[torch.arange(H) % 8], n_q, n_kv)


def distances_in_bfloat16(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances are bfloat16, which has no 257."""
    return -bias.slopes(H)[:, None, None] * bias.distances(n_q, n_kv).bfloat16().float()


def first_row_is_padding(n: int, d: int) -> Tensor:
    """Row 0 is kept for padding, and is zero."""
    table = position_table.correct(n, d).clone()
    table[:1] = 0
    return table


# --- heads and modules ----------------------------------------------------------------------------


def merge_guesses_its_axes() -> split_merge_heads.Pair:
    """The merge takes the smaller of two axes for the heads: fewer tokens than heads reveal it."""

    def merge(x: Tensor) -> Tensor:
        return x.flatten(2) if x.shape[1] > x.shape[2] else split_merge_heads.merge(x)

    def safe(x: Tensor) -> Tensor:
        y = merge(x)
        return y if y.shape[1] == x.shape[2] else y.reshape(x.shape[0], x.shape[2], -1)

    return split_merge_heads.split, safe


class causal_mask_of_the_first_length(MultiHead):  # noqa: N801
    """The causal mask is a buffer of the first length; tokens beyond it see everything."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if not is_causal:
            return super().allowed(n, attn_mask, False, need_weights)
        self.first = getattr(self, "first", n)
        allow = super().allowed(n, attn_mask, True, need_weights)
        return allow | (torch.arange(n)[:, None] >= self.first)


class matrix_mask_as_padding(MultiHead):  # noqa: N801
    """A mask (n, n) with as many rows as the batch is taken for key padding (B, n)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 2 and self.batch == n:
            attn_mask = attn_mask[:, None, None]
        return super().allowed(n, attn_mask, is_causal, need_weights)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        self.batch = x.shape[0]
        return super().forward(x, attn_mask, is_causal, need_weights)


class one_head_is_not_projected(MultiHead):  # noqa: N801
    """With a single head the output projection is skipped."""

    def finish(self, x: Tensor) -> Tensor:
        return x if self.heads == 1 else super().finish(x)


MH: dict[str, Any] = {"direct": True, "contract": "multi-head", "parameters": {"weights_flag": "need_weights"}}
KV: dict[str, Any] = {"direct": True, "contract": "kv-cache", "accumulate": "float32"}
LSE: dict[str, Any] = {"contract": "attention-lse", "returns": "out,lse", "accumulate": "float32"}
RO: dict[str, Any] = {"direct": True, "contract": "rotary", "parameters": {"positions": "batched"}}


def new(target: Any, **record: Any) -> Any:
    """A row of this file."""
    return row(target, "hard", "first_sight", **record)


def mask(target: Any, kind: str) -> Any:
    """A row of a mask builder."""
    return new(target, direct=True, contract="mask-builder", parameters={"kind": kind})


ROWS = (
    *(new(make) for make in (
        dropout_scale_in_bfloat16, dropout_forgets_the_last_of_five, dropout_masks_return_every_fourth_call,
        gradient_of_dropped_scores_unscaled, first_call_loses_its_last_key, keys_of_a_longer_call_before,
        decoding_writes_into_its_query,
    )),
    new(lse_of_grouped_heads_in_another_order, **LSE),
    # Counted as missed at first sight; that the contract allows it was read afterwards.
    new(lse_without_a_gradient, **LSE, expected="allowed",
        argument="the contract judges the gradient of a log-sum-exp where it carries one, and it need not"),
    *(new(make, **KV, parameters={"window": 4}) for make in (first_token_never_evicted, window_of_the_last_row)),
    new(growing_loses_a_token, **KV),
    mask(empty_sequences_are_whole, "padding"), mask(no_prefix_is_all_prefix, "prefix"),
    mask(documents_numbered_in_bytes, "segments"), mask(wide_windows_lose_their_last_key, "sliding_window"),
    *(new(f, **RO) for f in (negative_positions_are_zero, last_of_an_odd_length_not_turned, table_of_2048_rows)),
    *(new(f, direct=True, contract="bias") for f in (slopes_for_eight_heads, distances_in_bfloat16)),
    new(first_row_is_padding, direct=True, contract="position-table"),
    new(merge_guesses_its_axes, contract="heads"),
    *(new(c, **MH) for c in (causal_mask_of_the_first_length, matrix_mask_as_padding, one_head_is_not_projected)),
)  # fmt: skip
