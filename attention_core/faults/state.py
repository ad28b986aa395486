"""Faults of state: answers that depend on earlier calls, on chance, or on a module's mode.

Each function builds one faulty attention with a state of its own; its docstring tells the fault and the
thread where people made it. `sums_in_random_order` and `dropout_module` are correct.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build

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
