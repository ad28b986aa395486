"""Measure the gradients of attention against the head size h, with and without 1/sqrt(h), and draw them.

Run from the root of the repository: python experiments/gradient_size/run.py [--samples N] [--picture FILE]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.dot_product import attention_weights, dot_product_attention

SIZES = (4, 16, 64, 256, 1024)
CHUNK = 500  # draws at a time: 16 keys of 1024 coordinates are 64 MiB
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "gradient_size.png"


class Gradients(NamedTuple):
    """Sizes of gradients, one for each draw."""

    score: Float[Tensor, " samples"]  # dc / ds_1 = p (1 - p), two keys with values 1 and 0
    query: Float[Tensor, " samples"]  # |dc / dq| of the same
    spread: Float[Tensor, " samples"]  # 1 - sum p_j^2 = trace of the softmax Jacobian, 16 keys


def measure(h: int, scale: float | None, samples: int) -> Gradients:
    """Return the gradients for q, k_j ~ N(0, I_h), all independent, by autograd."""
    generator = torch.Generator().manual_seed(h)
    value = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    score, query_norm, spread = [], [], []
    for start in range(0, samples, CHUNK):
        count = min(CHUNK, samples - start)
        query = torch.randn((count, 1, 1, h), generator=generator, dtype=torch.float64, requires_grad=True)
        key = torch.randn((count, 1, 16, h), generator=generator, dtype=torch.float64)
        bias = torch.zeros((count, 1, 1, 2), dtype=torch.float64, requires_grad=True)
        pair = key[:, :, :2]
        out = dot_product_attention(query, pair, value.expand(count, 1, 2, 1), attn_mask=bias, scale=scale)
        d_bias, d_query = torch.autograd.grad(out.sum(), (bias, query))
        weights = attention_weights(query.detach(), key, scale=scale)
        score.append(d_bias[..., 0].flatten())
        query_norm.append(d_query.norm(dim=-1).flatten())
        spread.append((1 - (weights**2).sum(dim=-1)).flatten())
    return Gradients(torch.cat(score), torch.cat(query_norm), torch.cat(spread))


def upper_bound(h: int) -> float:
    """Return E[1 / |q|] / (2 sqrt(pi)), which the unscaled mean of p (1 - p) cannot pass."""
    return math.exp(math.lgamma((h - 1) / 2) - math.lgamma(h / 2)) / math.sqrt(2) / (2 * math.sqrt(math.pi))


def root_mean_square(sizes: Float[Tensor, " samples"]) -> float:
    """Return the square root of the mean square."""
    return float((sizes**2).mean().sqrt())


def print_tables(measured: dict[tuple[int, bool], Gradients]) -> None:
    """Print both tables of the document as Markdown."""
    print(
        "| h | unscaled: mean of p (1 - p) | at most | median | 16 keys: 1 - sum p^2 "
        "| scaled: mean | at least | median | 16 keys |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for h in SIZES:
        plain, scaled = measured[h, False], measured[h, True]
        median = float(plain.score.median())
        print(
            f"| {h} | {float(plain.score.mean()):.4f} | {upper_bound(h):.4f} | {median:.1e} "
            f"| {float(plain.spread.mean()):.3f} | {float(scaled.score.mean()):.3f} | 0.125 "
            f"| {float(scaled.score.median()):.3f} | {float(scaled.spread.mean()):.3f} |"
        )
    print()
    print("| h | unscaled: mean | root mean square | median | largest | scaled: mean | rms | median | largest |")
    print("|---|---|---|---|---|---|---|---|---|")
    for h in SIZES:
        cells = []
        for is_scaled in (False, True):
            sizes = measured[h, is_scaled].query
            largest = float(sizes.max())
            cells += [f"{float(sizes.mean()):.3f}", f"{root_mean_square(sizes):.3f}"]
            cells += [f"{float(sizes.median()):.1e}", f"{largest:.2f}"]
        print(f"| {h} | " + " | ".join(cells) + " |")


def draw_picture(measured: dict[tuple[int, bool], Gradients], path: Path) -> None:
    """Draw the gradients by the scores (left) and by the query (right) against h."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, field in zip(axes, ("score", "query"), strict=True):
        for is_scaled, colour, name in ((False, "tab:red", "unscaled"), (True, "tab:blue", "scaled")):
            sizes = [getattr(measured[h, is_scaled], field) for h in SIZES]
            axis.loglog(SIZES, [float(s.mean()) for s in sizes], "o-", color=colour, label=f"{name}, mean")
            axis.loglog(SIZES, [float(s.median()) for s in sizes], "s:", color=colour, label=f"{name}, median")
            if field == "query":
                rms = [root_mean_square(s) for s in sizes]
                axis.loglog(SIZES, rms, "^-.", color=colour, label=f"{name}, root mean square")
    axes[0].loglog(SIZES, [upper_bound(h) for h in SIZES], "--", color="black", lw=1, label="bound, unscaled mean")
    axes[0].axhline(1 / 8, color="grey", lw=1, ls="--", label="1/8, bound of the scaled mean")
    axes[0].set(ylabel="p (1 - p)", title="gradient by the score")
    axes[1].set(ylabel="|dc/dq|", title="gradient by the query")
    for axis in axes:
        axis.set(xlabel="h", ylim=(1e-8, 10), xticks=SIZES, xticklabels=[str(h) for h in SIZES])
        axis.minorticks_off()
        axis.legend(fontsize=8, loc="lower left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Parse the options, measure, print the tables and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5000, help="draws of query and keys at each h")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to write the picture")
    options = parser.parse_args()
    torch.set_num_threads(1)
    measured = {
        (h, is_scaled): measure(h, None if is_scaled else 1.0, options.samples)
        for h in SIZES
        for is_scaled in (False, True)
    }
    print_tables(measured)
    draw_picture(measured, options.picture)


if __name__ == "__main__":
    main()
