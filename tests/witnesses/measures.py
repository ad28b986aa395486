"""Inputs, correct answers and measures that the witnesses share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses.calls import ratio

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.faults.bases.tiles import Flash

Witness = tuple[Callable[[Any], float], Callable[[], Any]]
"""How far a target is off on its call, over what is allowed, and a correct target."""


BF16, F16 = torch.bfloat16, torch.float16


def normal(*shape: int, dtype: torch.dtype = torch.float32, size: float = 1.0, seed: int = 0) -> Tensor:
    """Normal values of a seed and a shape."""
    made = torch.Generator().manual_seed(seed + sum(n * 31**i for i, n in enumerate(shape)))
    return (size * torch.randn(shape, generator=made, dtype=torch.float64)).to(dtype)


def three(n_q: int = 5, n_kv: int = 7, d: int = 8, d_v: int = 8, H: int = 2, B: int = 2, **how: Any) -> list[Tensor]:
    """Query, key and value."""
    shapes = ((B, H, n_q, d), (B, how.pop("H_kv", H), n_kv, d), (B, how.pop("H_kv_v", H), n_kv, d_v))
    return [normal(*shape, **how, seed=i) for i, shape in enumerate(shapes)]


def excess_with_gradients(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False,
    alignment: str = "top_left", cotangent: Tensor | None = None, out: Tensor | None = None,
) -> float:  # fmt: skip
    """The largest error over the derived budget of the output and, with a cotangent, of the gradients that are asked for."""
    named: dict[str, Any] = {"attn_mask": mask} if mask is not None else {}
    named |= {"is_causal": True} if causal else {}
    named |= {"enable_gqa": True} if k.shape[-3] != q.shape[-3] else {}
    out = target(q, k, v, **named) if out is None else out
    Q, K, V = (x.detach().double().numpy() for x in (q, k, v))
    M = None if mask is None else mask.detach().numpy() if mask.dtype == torch.bool else mask.detach().double().numpy()
    true = oracle.attention(Q, K, V, M, is_causal=causal, alignment=alignment)
    how: dict[str, Any] = {"mask": M, "dtype": str(q.dtype)[6:], "accumulate": "float32"}
    worst = ratio(out, true.out, budget.forward_bound(Q, K, V, true, **how).out)
    if cotangent is None:
        return worst
    C, asks = cotangent.double().numpy(), mask is not None and mask.requires_grad
    want = oracle.gradients(
        Q, K, V, C, M, is_causal=causal, alignment=alignment, scale=None, want_mask=asks, truth=true
    )
    bound = budget.backward_bound(Q, K, V, C, true, want, **how, want_mask=asks)
    leaves = {"query": q, "key": k, "value": v} | ({"mask": mask} if asks else {})
    if k is v:
        (got,) = torch.autograd.grad(out, [k], cotangent)
        return max(worst, ratio(got, want.key + want.value, bound.key + bound.value))
    found = torch.autograd.grad(out, list(leaves.values()), cotangent)
    return max(worst, *(ratio(g, getattr(want, n), getattr(bound, n)) for g, n in zip(found, leaves, strict=True)))


def leaves(*given: Tensor) -> list[Tensor]:
    """The same, asking for gradients."""
    return [x.requires_grad_() for x in given]


def distance(got: Tensor, want: Tensor, bound: float) -> float:
    """max |got - want| / bound; inf for another shape or NaN."""
    if got.shape != want.shape or bool(got.isnan().any()):
        return math.inf
    return float((got.detach().double() - want.double()).abs().max() / bound)


UNITS = 20


def off(got: Tensor, want: Tensor) -> float:
    """max |got - want| over twenty units of got's dtype of the row's largest entry; inf for another shape or NaN."""
    if got.shape != want.shape or bool(got.isnan().any()):
        return math.inf
    if not want.numel():
        return 0.0
    want = want.detach()
    # A row may cancel: its parts are as large as those of other rows.
    rows = want.abs().amax(-1, keepdim=True).clamp(min=float(want.abs().max()) / 8)
    error = (got.detach().double() - want).abs() / rows.clamp(min=1e-300)
    return float(error.max()) / (UNITS * torch.finfo(got.dtype).eps / 2)


def truth(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False, shift: int = 0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Output and log-sum-exp by the formula, in float64; row i sees keys up to i + shift."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask.double()
    if causal:
        s = s.masked_fill(torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None] + shift, -math.inf)
    dead = (s == -math.inf).all(-1, keepdim=True)
    return s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) @ v, torch.logsumexp(s.detach(), -1)


def called(target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None) -> Any:
    """The target's result; what is not given is not named."""
    named: dict[str, Any] = {"attn_mask": mask} if mask is not None else {}
    named |= {"is_causal": True} if causal else {}
    named |= {"scale": scale} if scale is not None else {}
    named |= {"enable_gqa": True} if k.shape[-3] != q.shape[-3] else {}
    return target(q, k, v, **named)


def forward(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False,
    scale: float | None = None,
) -> float:  # fmt: skip
    """The output."""
    return off(called(target, q, k, v, mask, causal, scale), truth(q, k, v, mask, causal, scale=scale)[0])


def backward(target: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool = False, shift: int = 0) -> float:
    """The output and three gradients for a normal cotangent."""
    q, k, v = leaves(q, k, v)
    out, c = called(target, q, k, v, None, causal, None), normal(*q.shape[:-1], v.shape[-1], seed=7)
    want = truth(q, k, v, None, causal, shift)[0]
    pairs = zip(
        torch.autograd.grad(out, (q, k, v), c), torch.autograd.grad(want, (q, k, v), c.double()), strict=True
    )  # fmt: skip
    return max(off(out, want), *(off(got, true.double()) for got, true in pairs))


def friendly(target: Any) -> float:
    """One packed sequence, one head, as many queries as keys, a full block: what every fault gets right."""
    q, k, v = three(16, 16, B=1, H=1)
    return max(forward(target, q, k, v), forward(target, q, k, v, causal=True), backward(target, q, k, v))


def heads_inside(x: Tensor) -> Tensor:
    """The same values, heads inside tokens."""
    return x.transpose(-3, -2).contiguous().transpose(-3, -2)


def bottom_right() -> Flash:
    """The correct tiles with causality at the last key."""

    class Right(Flash):
        def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
            return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    return Right()


open_but_one = torch.ones(5, 7, dtype=torch.bool)
open_but_one[1, 1] = False


CALLS = 2000
"""Of a fault that shows once in fifty: none of them shows it once in 10^17 runs."""


some = (torch.arange(35).reshape(5, 7) % 3 > 0) | (torch.arange(7) == 0)


def same_bits(got: Tensor, want: Tensor) -> float:
    """0 for equal tensors, inf for others."""
    return 0.0 if torch.equal(got, want) and got.dtype == want.dtype else math.inf
