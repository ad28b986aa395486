"""Steps of faults that take one maximum for several rows of scores: a row far below it is left without a weight."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def weigh_below(s: Tensor, axes: tuple[int, ...], group: int = 0) -> Tensor:
    """exp(s - top) over its sum, with one top for all rows along some axes beside that of keys; dead rows are 0.

    Args:
        s: scores (.., n_q, n_kv), -inf where a pair is not allowed.
        axes: those along which a maximum is shared.
        group: neighbours along the axis of heads, -3, which share one too.
    """
    dead = (s == -math.inf).all(-1, keepdim=True)
    if not s.shape[-1]:
        return s
    top = s.amax((*axes, -1), keepdim=True)
    if group:
        top = top.unflatten(-3, (-1, group)).amax(-3, keepdim=True).expand(*top.shape[:-3], -1, group, -1, -1)
        top = top.flatten(-4, -3)
    p = (s - top.masked_fill(top == -math.inf, 0.0)).exp()
    return p / p.sum(-1, keepdim=True).masked_fill(dead, 1.0)


def clamp_exponents(s: Tensor, least: float = -80.0) -> Tensor:
    """The softmax of scores, with exponents of at least `least` where a pair is allowed."""
    p = (s - s.amax(-1, keepdim=True)).clamp(min=least).exp().masked_fill(s == -math.inf, 0.0)
    return p / p.sum(-1, keepdim=True)


def clamp_scores(s: Tensor, most: float = 80.0) -> Tensor:
    """The softmax of scores that are cut to at most `most` on both sides."""
    return s.clamp(-most, most).masked_fill(s == -math.inf, -math.inf).softmax(-1)


def causal(n_q: int, n_kv: int) -> Tensor:
    """The pairs that a causal call leaves out, the queries being the last tokens."""
    return torch.ones(n_q, n_kv, dtype=torch.bool).triu(n_kv - n_q + 1)
