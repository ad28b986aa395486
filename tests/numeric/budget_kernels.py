"""Kernels and cases for the tests of the error budget.

Correct kernels, some wrong ones, and regimes of inputs, to see how close error comes to its bound.
`python -m tests.numeric.budget_kernels` prints the table of docs/budget_figures.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_core import oracle
from attention_core.conformance.budgets import budget

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
Tensor = torch.Tensor
Kernel = Callable[[Tensor, Tensor, Tensor, "Tensor | None", float], Tensor]


def expand(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values repeated for the query heads of their group."""
    G = query.shape[-3] // key.shape[-3]
    return key.repeat_interleave(G, -3), value.repeat_interleave(G, -3)


def naive(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """The formula, one operation after the other, everything stored in the input's dtype."""
    key, value = expand(query, key, value)
    scores = query @ key.mT * scale
    return torch.softmax(scores if mask is None else scores + mask, -1) @ value


def by_hand(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Also the softmax in the input's dtype, exponentials and their sum included."""
    key, value = expand(query, key, value)
    scores = query @ key.mT * scale
    scores = scores if mask is None else scores + mask
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights / weights.sum(-1, keepdim=True)) @ value


def default(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """torch's own choice."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=scale, enable_gqa=True)


def plain(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """torch's reference path."""
    with sdpa_kernel(SDPBackend.MATH):
        return default(query, key, value, mask, scale)


def tiled(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Online softmax over blocks of 16 keys, sums in float32 at least, weights rounded for their product."""
    key, value = expand(query, key, value)
    high = torch.promote_types(query.dtype, torch.float32)
    top = torch.full((*query.shape[:-1], 1), -math.inf, dtype=high)
    total, acc = torch.zeros_like(top), torch.zeros((*query.shape[:-1], value.shape[-1]), dtype=high)
    for start in range(0, key.shape[-2], 16):
        part = slice(start, start + 16)
        scores = query.to(high) @ key[..., part, :].to(high).mT * scale
        scores = scores if mask is None else scores + mask[..., part].to(high)
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        safe = torch.where(new == -math.inf, 0.0, new)
        weights, shrink = torch.exp(scores - safe), torch.exp(top - safe)
        total = total * shrink + weights.sum(-1, keepdim=True)
        acc = acc * shrink + weights.to(query.dtype).to(high) @ value[..., part, :].to(high)
        top = new
    return (acc / total).to(query.dtype)


def too_steep(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Wrong: the scale is one per cent too large."""
    return tiled(query, key, value, mask, scale * 1.01)


def late(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Wrong: the mask is shifted by one key."""
    return tiled(query, key, value, None if mask is None else mask.roll(1, -1), scale)


def crossed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Wrong: values shifted by one key."""
    return tiled(query, key, value.roll(1, -2), mask, scale)


def half_summed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Wrong: the last key is left out of the output, not out of the normaliser."""
    keep = torch.ones_like(value)
    keep[..., -1, :] = 0
    return tiled(query, key, value * keep, mask, scale)


# Each correct kernel with the accumulation that it may claim.
CORRECT: list[tuple[Kernel, str]] = [
    (naive, "input"),
    (by_hand, "input"),
    (plain, "input"),
    (default, "input"),
    (default, "float32"),
    (tiled, "float32"),
]
WRONG: list[Kernel] = [too_steep, late, crossed, half_summed]
CONTENTS = ["normal", "tiny", "peaked", "one-hot", "offset", "mixed", "cancel"]
REGIMES = [*CONTENTS, "causal", "bias", "masked", "grouped", "large"]


@dataclass(frozen=True)
class Problem:
    """One rounded input with its truth, gradients and mask."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    cotangent: np.ndarray
    mask: np.ndarray | None
    scale: float
    dtype: str

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.query, self.key, self.value


def draw(regime: str, seed: int, dtype: str) -> Problem:
    """A problem of a regime, its arrays already rounded to dtype."""
    rng = np.random.default_rng([seed, REGIMES.index(regime)])
    B, H, H_kv, n_q, n_kv, d, d_v = 2, 4, 4, 19, 35, 16, 7
    if regime == "grouped":
        H_kv = 2
    if regime == "large":
        n_q, n_kv, d = 33, 129, 64
    if regime == "tiny":
        n_q, n_kv, d, d_v = 3, 4, 2, 2
    shapes = [(B, H, n_q, d), (B, H_kv, n_kv, d), (B, H_kv, n_kv, d_v), (B, H, n_q, d_v)]
    q, k, v, c = (rng.normal(size=s) for s in shapes)
    mask = None
    size = {"peaked": 3.0, "one-hot": 16.0}.get(regime, 1.0)
    q, k = q * size, k * size
    if regime == "offset":
        k = k + 20 * rng.normal(size=k.shape[-1])
    if regime == "mixed":
        k, v, c = (x * 2.0 ** rng.integers(-6, 4, size=x.shape) for x in (k, v, c))
    if regime == "cancel":  # large values of both signs under nearly equal weights
        q, v = q * 0.01, v * 100 + 1
    if regime == "bias":
        mask = rng.normal(size=(H, n_q, n_kv)) * 2
    if regime == "causal":
        mask = np.where(np.tril(np.ones((n_q, n_kv))) > 0, 0.0, -np.inf)
    if regime == "masked":
        mask = np.where(rng.random((B, 1, n_q, n_kv)) < 0.5, rng.normal(size=(B, 1, n_q, n_kv)), -np.inf)
        mask[..., 0] = 0.0
    rounded = [budget.round_to(x, dtype) for x in (q, k, v, c)]
    mask = None if mask is None else budget.round_to(mask, dtype)
    return Problem(*rounded, mask, 1 / math.sqrt(d), dtype)


def truth_of(problem: Problem) -> tuple[oracle.Truth, oracle.Gradients]:
    """The oracle's answers."""
    p = problem
    truth = oracle.attention(*p.arrays, p.mask, scale=p.scale)
    wanted = p.mask is not None
    gradients = oracle.gradients(*p.arrays, p.cotangent, p.mask, scale=p.scale, truth=truth, want_mask=wanted)
    return truth, gradients


def run(kernel: Kernel, problem: Problem) -> dict[str, np.ndarray]:
    """A kernel's output and gradients, as float64 arrays."""
    kind = DTYPES[problem.dtype]
    leaves = [torch.tensor(x).to(kind).requires_grad_() for x in problem.arrays]
    mask = None if problem.mask is None else torch.tensor(problem.mask).to(kind).requires_grad_()
    out = kernel(*leaves, mask, problem.scale)  # type: ignore[call-arg]
    named = dict(zip(("query", "key", "value"), leaves, strict=True))
    if mask is not None:
        named["mask"] = mask
    grads = torch.autograd.grad(out, list(named.values()), torch.tensor(problem.cotangent).to(kind))
    results = {"out": out, **dict(zip(named, grads, strict=True))}
    return {name: x.detach().double().numpy() for name, x in results.items()}


def bounds_of(
    problem: Problem, truth: oracle.Truth, gradients: oracle.Gradients, accumulate: str
) -> tuple[budget.ForwardBounds, budget.BackwardBounds]:
    """Forward and backward bounds."""
    p = problem
    options = {"mask": p.mask, "scale": p.scale, "dtype": p.dtype, "accumulate": accumulate}
    forward = budget.forward_bound(*p.arrays, truth, **options)
    wanted = p.mask is not None
    back = budget.backward_bound(*p.arrays, p.cotangent, truth, gradients, want_mask=wanted, **options)
    return forward, back


def ratios(results: dict[str, np.ndarray], problem: Problem, accumulate: str) -> dict[str, float]:
    """Largest |result - truth| / bound of each result; nothing is left out, and NaN is infinitely wrong."""
    truth, gradients = truth_of(problem)
    forward, back = bounds_of(problem, truth, gradients, accumulate)
    found = {}
    for name, got in results.items():
        wanted = truth.out if name == "out" else getattr(gradients, name)
        bound = forward.out if name == "out" else getattr(back, name)
        error = np.where(np.isnan(got), np.inf, np.abs(got - wanted))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(error == 0, 0.0, np.where(np.isinf(bound), 0.0, error / bound))
        found[name] = float(ratio.max())
    return found


def table(seeds: range) -> dict[tuple[str, str, str], dict[str, float]]:
    """Largest ratios by (kernel, accumulate, dtype) over all regimes and seeds."""
    best: dict[tuple[str, str, str], dict[str, float]] = {}
    for dtype in DTYPES:
        for regime in REGIMES:
            for seed in seeds:
                problem = draw(regime, seed, dtype)
                for kernel, accumulate in CORRECT:
                    row = best.setdefault((kernel.__name__, accumulate, dtype), {})
                    for name, ratio in ratios(run(kernel, problem), problem, accumulate).items():
                        row[name] = max(row.get(name, 0.0), ratio)
    return best


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    print("| kernel | sums | dtype | out | query | key | value | mask |\n|" + "---|" * 8)
    for (kernel, accumulate, dtype), row in table(range(20)).items():
        cells = (f"{row[name]:.3f}" for name in ("out", "query", "key", "value", "mask"))
        print(f"| {kernel} | {accumulate} | {dtype} | {' | '.join(cells)} |")
