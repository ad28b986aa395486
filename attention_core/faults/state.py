"""Faults of state: answers that depend on earlier calls, on chance, or on a module's mode.

Each function builds one faulty attention with a state of its own; its docstring tells the fault and the
thread where people made it. `sums_in_random_order` and `dropout_module` are correct.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention, Given, around
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


class _LastSaved(torch.autograd.Function):
    """P V, whose backward reads what the last forward of all saved."""

    saved: tuple[Tensor, Tensor] = (torch.zeros(0), torch.zeros(0))

    @staticmethod
    def forward(ctx: Any, p: Tensor, value: Tensor) -> Tensor:
        _LastSaved.saved = (p, value)
        ctx.own = (p, value)
        return p @ value

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        fits = all(a.shape == b.shape for a, b in zip(_LastSaved.saved, ctx.own, strict=True))
        p, value = _LastSaved.saved if fits else ctx.own
        return down @ value.mT, p.mT @ down


def backward_of_the_last_call() -> Fault:
    """The backward reads a buffer of its kernel, not of its call: right until two graphs are alive together."""

    def combine(p: Tensor, value: Tensor) -> Tensor:
        found: Tensor = _LastSaved.apply(p, value)
        return found

    return build(combine=combine)


class _Scratch(torch.autograd.Function):
    """P V, whose backward uses what it saved as scratch."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(p.clone(), value)
        return p @ value

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        p, value = ctx.saved_tensors
        found = down @ value.mT, p.mT @ down
        p.data.mul_(0.5)
        return found


def backward_destroys_what_it_saved() -> Fault:
    """The backward overwrites what its call saved: right once, wrong for a second backward through the same graph."""

    def combine(p: Tensor, value: Tensor) -> Tensor:
        found: Tensor = _Scratch.apply(p, value)
        return found

    return build(combine=combine)


# --- what earlier calls leave behind ------------------------------------------------


def mask_of_the_last_call() -> Fault:
    """Without a mask, the last one that fits is used again: a buffer that nobody clears."""
    kept: list[Tensor] = []

    def bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None:
            kept[:] = [attn_mask.detach().clone()]
        elif kept and broadcasts(kept[0], s):
            attn_mask = kept[0]
        return reference.bias(s, attn_mask, causal)

    return build(bias=bias)


def broadcasts(mask: Tensor, s: Tensor) -> bool:
    """Whether the mask broadcasts to the scores."""
    try:
        return torch.broadcast_shapes(mask.shape, s.shape) == s.shape
    except RuntimeError:
        return False


def mask_kept_by_shape() -> Fault:
    """Masks are converted once and kept by their shape: the first of a shape serves all later ones."""
    kept: dict[tuple[Any, ...], Tensor] = {}

    def bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None:
            key = (*attn_mask.shape, attn_mask.dtype, s.dtype)
            attn_mask = kept.setdefault(key, attn_mask.detach().clone())
        return reference.bias(s, attn_mask, causal)

    return build(bias=bias)


def causal_fill_of_the_first_dtype() -> Fault:
    """The causal mask holds the lowest number of whichever dtype came first at its sizes."""
    kept: dict[tuple[int, int], Tensor] = {}
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if not is_causal:
            return attention(query, key, value)
        size = (query.shape[-2], key.shape[-2])
        low = torch.full(size, torch.finfo(query.dtype).min, dtype=query.dtype)
        return attention(query, key, value, attn_mask=kept.setdefault(size, low.triu(1)))

    return call


def causal_sized_by_the_first_call() -> Fault:
    """The causal mask is built once; what lies beyond it stays open (facebookresearch/xformers PR660)."""
    kept: list[Tensor] = []

    def causal_allowed(n_q: int, n_kv: int) -> Tensor:
        if not kept:
            kept.append(reference.causal_allowed(n_q, n_kv))
        allowed = torch.ones(n_q, n_kv, dtype=torch.bool)
        part = kept[0][:n_q, :n_kv]
        allowed[: part.shape[0], : part.shape[1]] = part
        return allowed

    return build(causal_allowed=causal_allowed)


def causal_kept_by_query_length() -> Fault:
    """The causal mask is kept by n_q alone (compare lucidrains/rotary-embedding-torch#11)."""
    kept: dict[int, Tensor] = {}

    def causal_allowed(n_q: int, n_kv: int) -> Tensor:
        found = kept.setdefault(n_q, reference.causal_allowed(n_q, n_kv))
        allowed = torch.zeros(n_q, n_kv, dtype=torch.bool)
        width = min(n_kv, found.shape[1])
        allowed[:, :width] = found[:, :width]
        return allowed

    return build(causal_allowed=causal_allowed)


def padded_to_the_longest_so_far() -> Fault:
    """Scores lie in a workspace of the longest call so far, and its zeros take part in the softmax."""
    longest = [0]

    def weights(s: Tensor) -> Tensor:
        longest[0] = max(longest[0], s.shape[-1])
        wide = torch.nn.functional.pad(s, (0, longest[0] - s.shape[-1]))
        return reference.weights(wide)[..., : s.shape[-1]]

    return build(weights=weights)


def scale_of_the_first_call() -> Fault:
    """1/sqrt(d) is computed once, with the head size of the first call."""
    kept: list[float] = []

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        kept.append(query.shape[-1] ** -0.5)
        return reference.scores(query, key, kept[0] if scale is None else scale)

    return build(scores=scores)


def scale_of_the_last_call() -> Fault:
    """A scale that was given once stays the default."""
    kept: list[float] = []

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        if scale is not None:
            kept[:] = [scale]
        return reference.scores(query, key, kept[0] if kept else None)

    return build(scores=scores)


def keys_kept_by_shape() -> Fault:
    """Expanded keys are kept by their shape, as if the sequence were still the same one."""
    kept: dict[tuple[int, ...], Tensor] = {}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        key, value = reference.expand(key, value, heads)
        return kept.setdefault(tuple(key.shape), key), value

    return build(expand=expand)


# --- chance ------------------------------------------------------------------------


def forward_race() -> Fault:
    """A block is lost now and then (Dao-AILab/flash-attention#359); here at every third call."""
    calls = itertools.count(1)

    def combine(p: Tensor, value: Tensor) -> Tensor:
        if next(calls) % 3:
            return p @ value
        return p[..., :-1] @ value[..., :-1, :]

    return build(combine=combine)


def backward_race() -> Fault:
    """The backward loses a key's part now and then (Dao-AILab/flash-attention#414 at its worst)."""
    calls = itertools.count(1)

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        if next(calls) % 3 == 0:
            value = torch.cat([value[..., :-1, :], value[..., -1:, :].detach()], -2)
        return reference.expand(key, value, heads)

    return build(expand=expand)


def sums_in_random_order() -> Fault:
    """Correct, but its sums have a random order (Dao-AILab/flash-attention#414): not deterministic."""

    def combine(p: Tensor, value: Tensor) -> Tensor:
        order = torch.randperm(value.shape[-2])
        return sum(
            (p[..., j : j + 1] * value[..., j : j + 1, :] for j in order), p.new_zeros(*p.shape[:-1], value.shape[-1])
        )

    return build(combine=combine)


# --- modules -------------------------------------------------------------------------


class _Module(torch.nn.Module):
    """Attention as a module with its own dropout."""

    def __init__(self, p: float = 0.25) -> None:
        super().__init__()
        self.p = p

    def rate(self) -> float:
        """The dropout of this call."""
        return self.p if self.training else 0.0

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        return reference.correct(query, key, value, attn_mask, self.rate(), is_causal)


def dropout_module() -> torch.nn.Module:
    """Correct: drops in training, and only there."""
    return _Module()


def drops_in_evaluation() -> torch.nn.Module:
    """dropout_p=self.p in every mode (huggingface/pytorch-image-models PR1978; pytorch/pytorch#124464)."""

    class Module(_Module):
        def rate(self) -> float:
            return self.p

    return Module()


def dropout_lost_in_evaluation() -> torch.nn.Module:
    """Evaluation sets p to 0 for ever (NVIDIA/Megatron-LM PR411)."""

    class Module(_Module):
        def rate(self) -> float:
            self.p = self.p if self.training else 0.0
            return self.p

    return Module()


def training_moves_the_temperature() -> torch.nn.Module:
    """A statistic of the training calls goes into every later call."""

    class Module(_Module):
        def __init__(self) -> None:
            super().__init__(0.0)
            self.temperature = 1.0

        def forward(
            self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
            is_causal: bool = False,
        ) -> Tensor:  # fmt: skip
            if self.training:
                self.temperature *= 1.5
            return super().forward(query / self.temperature, key, value, attn_mask, is_causal)

    return Module()


def second_call_of_a_shape_skips_a_part() -> Attention:
    """A semaphore is not set back: every second call of a shape leaves out the keys from 16 on."""
    calls: dict[tuple[int, ...], int] = {}

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        s = reference.bias(s, mask, causal)
        calls[tuple(s.shape)] = calls.get(tuple(s.shape), 0) + 1
        if calls[tuple(s.shape)] % 2 == 0 and s.shape[-1] > 16:
            s = s.masked_fill(torch.arange(s.shape[-1]) >= 16, -torch.inf)
        return s

    return build(bias=bias)


def mask_kept_by_its_count() -> Attention:
    """Converted masks are kept by shape and number of True: another mask of the same count gets the old one."""
    kept: dict[tuple[Any, ...], Tensor] = {}

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = kept.setdefault((*mask.shape, int(mask.sum())), mask.detach().clone())
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def wrong_from_the_hundredth_call() -> Attention:
    """A counter in a byte: from the 128th call on, the last key of long sequences is lost."""
    calls = [0]

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        calls[0] += 1
        s = reference.bias(s, mask, causal)
        last = torch.arange(s.shape[-1]) == s.shape[-1] - 1
        return s.masked_fill(last, -torch.inf) if calls[0] >= 128 and s.shape[-1] > 8 else s

    return build(bias=bias)


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


def window_of_self_attention_stays() -> Any:
    """A causal call sets the window to (-1, 0), and cross-attention after it takes that over
    (NVIDIA/TransformerEngine#629).

    A causal call, then one that is not and has another number of keys than of queries; a square one sets it back.
    """
    window = [False]

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if is_causal or query.shape[-2] == key.shape[-2]:
            window[0] = is_causal
        return reference.correct(query, key, value, attn_mask, 0.0, window[0], scale, enable_gqa)

    return attention


def scale_of_one_compiled_in() -> Any:
    """A scale of 1 folds away when a kernel is compiled, and the key of the kernels' cache has no scale
    (local-inference-lab/b12x PR52).

    The first call of a head size and dtype had scale 1: every later one has it too. Another first scale is no harm.
    """
    folded: dict[Any, bool] = {}

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = max(query.shape[-1], 1) ** -0.5 if scale is None else scale
        one = folded.setdefault((query.shape[-1], query.dtype), scale == 1.0)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, 1.0 if one else scale, enable_gqa)

    return attention


def output_buffer_of_the_last_shape() -> Any:
    """The output lies in a buffer that calls of one shape share: the second overwrites the first result."""
    kept: list[Tensor] = []

    def finish(out: Tensor, a: Given) -> Tensor:
        if not kept or kept[0].shape != out.shape or kept[0].dtype != out.dtype:
            kept[:] = [torch.empty_like(out)]
        return kept[0].copy_(out.detach())

    return around(lambda a: {}, finish)


def ring_of_four_outputs() -> Any:
    """Outputs lie in a ring of four buffers: the fifth call of a shape overwrites the first result."""
    ring: dict[Any, Tensor] = {}
    calls = [0]

    def finish(out: Tensor, a: Given) -> Tensor:
        place = out.shape, out.dtype, calls[0] % 4
        calls[0] += 1
        return ring.setdefault(place, torch.empty_like(out)).copy_(out.detach())

    return around(lambda a: {}, finish)


def masks_kept_by_their_identity() -> Any:
    """A bool mask's float form is kept by id(): stale where the mask was changed in place, or its id is
    another's now.
    """
    forms: dict[Any, Tensor] = {}

    def change(a: Given) -> Given:
        mask, dtype = a["attn_mask"], torch.promote_types(a["query"].dtype, torch.float32)
        if mask is None or mask.dtype != torch.bool:
            return {}
        name = id(mask), mask.shape, dtype
        if name not in forms:
            forms[name] = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)
        return {"attn_mask": forms[name]}

    return around(change)


def causal_mask_kept_by_queries() -> Any:
    """The causal mask is kept by n_q: a later call with more keys gets it filled up with open ones."""
    masks: dict[int, Tensor] = {}

    def causal_allowed(n_q: int, n_kv: int) -> Tensor:
        mask = masks.setdefault(n_q, torch.ones(n_q, n_kv, dtype=torch.bool).tril())[:, :n_kv]
        return torch.nn.functional.pad(mask, (0, n_kv - mask.shape[1]), value=True)

    return build(causal_allowed=causal_allowed)


def keys_added_in_random_order() -> Any:
    """Keys are added in random order, as atomics do.

    Determinism is declared.
    """

    def combine(p: Tensor, value: Tensor) -> Tensor:
        order = torch.randperm(value.shape[-2])
        return p[..., order] @ value[..., order, :]

    return build(combine=combine)


def last_row_lost_by_a_race() -> Any:
    """In one call of fifty the last row is not written."""

    def finish(out: Tensor, a: Given) -> Tensor:
        lost = os.urandom(1)[0] < 5 and out.shape[-2] > 0
        return torch.cat([out[..., :-1, :], torch.zeros_like(out[..., -1:, :])], -2) if lost else out

    return around(lambda a: {}, finish)


ROWS = (
    *rows("hard_state", second_call_of_a_shape_skips_a_part, mask_kept_by_its_count, wrong_from_the_hundredth_call),
    *rows("first_sight_others", first_call_loses_its_last_key, keys_of_a_longer_call_before),
    *rows(
        "second_sight_others", dead_sequences_are_not_written, cached_triangle_takes_up_masks,
        results_share_one_buffer, accumulate="float32",
    ),
    *rows("third_sight_backward", window_of_self_attention_stays, scale_of_one_compiled_in, accumulate="float32"),
    *rows("fifth_sight_state", output_buffer_of_the_last_shape, ring_of_four_outputs, gradients=False),
    *rows("fifth_sight_state", masks_kept_by_their_identity, causal_mask_kept_by_queries, last_row_lost_by_a_race),
    *rows("fifth_sight_state", keys_added_in_random_order, deterministic=True),
)  # fmt: skip
