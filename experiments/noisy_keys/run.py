"""Measure one head against two when the keys are random; print the table of README.md and draw the picture.

Run from the root of the repository: python experiments/noisy_keys/run.py [--samples N] [--picture FILE]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention

N_KV, A, B = 5, 0, 1  # the keys' number, and the two to be averaged
ALPHA = 2.0**-60  # the isotropic part of the long-axis case, "vanishingly small"
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "noisy_keys.png"


class Heads(NamedTuple):
    """The weight of key a under one head, and the mean of its weights under two."""

    one: Float[Tensor, " samples"]
    two: Float[Tensor, " samples"]
    rivals: Float[Tensor, " samples"]  # a's share alpha_a / (alpha_a + alpha_b) under one head


def draw_keys(
    samples: int, alpha: float, long_axis: bool, seed: int
) -> tuple[Float[Tensor, "samples n_kv d"], Float[Tensor, " samples"]]:
    """Return keys about the axes of R^n, covariance alpha I, and epsilon, the length of k_a along mu_a."""
    generator = torch.Generator().manual_seed(seed)
    means = torch.eye(N_KV, dtype=torch.float64)
    noise = torch.randn((samples, N_KV, N_KV), generator=generator, dtype=torch.float64)
    axis = torch.randn(samples, generator=generator, dtype=torch.float64) * math.sqrt(0.5) * long_axis
    key = means + math.sqrt(alpha) * noise
    key[:, A] += axis[:, None] * means[A]
    return key, 1 + axis


def attend_with_both(key: Float[Tensor, "samples n_kv d"], S: float) -> Heads:
    """Attend with S (mu_a + mu_b), and with S mu_a and S mu_b; values are the axes: outputs are weights."""
    value = torch.eye(N_KV, dtype=torch.float64).expand(len(key), 1, -1, -1)
    means = S * torch.eye(N_KV, dtype=torch.float64)
    query = torch.stack([means[A] + means[B], means[A], means[B]]).expand(len(key), 1, -1, -1)
    out = dot_product_attention(query, key[:, None], value, scale=1.0)[:, 0]
    one = out[:, 0]
    return Heads(one[:, A], out[:, 1:, A].mean(dim=1), one[:, A] / (one[:, A] + one[:, B]))


def mean_square(weight: Float[Tensor, " samples"]) -> float:
    """Return the mean square of weight - 1/2."""
    return float(((weight - 0.5) ** 2).mean())


def bounds(S: float) -> tuple[float, float]:
    """Return the lower bound on one head's variance and the upper bound on two heads' given epsilon > 0."""
    positive = 1 - math.erfc(1.0) / 2
    upper = (math.log(N_KV - 1) + 0.5) / (4 * S * math.sqrt(math.pi) * positive) + (N_KV - 1) * math.exp(-S)
    return max(0.0, 0.25 - 1 / (S * math.sqrt(math.pi))), upper


def print_tables(samples: int) -> None:
    """Print both tables of the document as Markdown."""
    print("| alpha | S | one head: sd of a's weight | two heads | S sqrt(alpha) / 2 |")
    print("|---|---|---|---|---|")
    for alpha in (1e-8, 1e-4, 1e-2):
        for S in (16.0, 64.0):
            heads = attend_with_both(draw_keys(samples, alpha, False, seed=1)[0], S)
            one, two = math.sqrt(mean_square(heads.one)), math.sqrt(mean_square(heads.two))
            print(f"| {alpha:g} | {S:g} | {one:.2g} | {two:.2g} | {S * math.sqrt(alpha) / 2:.2g} |")
    print()
    print(
        "| S | a wins | one head: variance | at least | two heads, epsilon > 0 | at most "
        "| far from the average: one | two | two, epsilon > 0 |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for S in (4.0, 16.0, 64.0, 256.0):
        key, epsilon = draw_keys(samples, ALPHA, True, seed=2)
        heads, positive = attend_with_both(key, S), epsilon > 0
        lower, upper = bounds(S)
        far = [float(((w - 0.5).abs() > 0.25).double().mean()) for w in (heads.one, heads.two, heads.two[positive])]
        wins = float((heads.rivals > 0.5).double().mean())
        print(
            f"| {S:g} | {wins:.3f} | {mean_square(heads.rivals):.4f} | {lower:.4f} "
            f"| {mean_square(heads.two[positive]):.5f} | {upper:.5f} | " + " | ".join(f"{f:.3f}" for f in far) + " |"
        )


def draw_picture(samples: int, path: Path) -> None:
    """Draw k_a along mu_a, a's weight against epsilon, its distribution, and the variances against S."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (first, left, middle, right) = plt.subplots(1, 4, figsize=(17, 4), layout="constrained")
    S = 16.0
    key, epsilon = draw_keys(samples, ALPHA, True, seed=2)
    heads = attend_with_both(key, S)
    some = slice(0, 1500)
    first.plot(key[some, A, A], key[some, A, B], ".", ms=3, alpha=0.3, color="tab:red", label="$k_a$, drawn")
    first.annotate("", xy=(1, 0), xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2})
    first.annotate("$\\mu_a$", xy=(1, 0), xytext=(0.9, 0.12))
    first.set(xlabel="along $\\mu_a$", ylabel="along $\\mu_b$", ylim=(-1.5, 1.5), title="the range of $k_a$")
    first.legend()
    left.plot(epsilon[some], heads.one[some], ".", ms=3, color="tab:red", label="one head")
    left.plot(epsilon[some], heads.two[some], ".", ms=3, color="tab:blue", label="two heads")
    left.axvline(0, color="grey", lw=0.8)
    left.set(xlabel="epsilon, the length of $k_a$ along $\\mu_a$", ylabel="weight of $v_a$", title=f"S = {S:g}")
    left.legend()
    bins = torch.linspace(0, 1, 41).tolist()
    middle.hist(heads.one.numpy(), bins=bins, color="tab:red", alpha=0.6, label="one head")
    middle.hist(heads.two[epsilon > 0].numpy(), bins=bins, color="tab:blue", alpha=0.6, label="two, epsilon > 0")
    middle.set(xlabel="weight of $v_a$", ylabel="draws", title="one head flips, two do not", yscale="log")
    middle.legend(loc="upper center")
    sizes = [2.0**i for i in range(1, 11)]
    one, two = [], []
    for size in sizes:
        heads = attend_with_both(key, size)
        one.append(mean_square(heads.rivals))
        two.append(mean_square(heads.two[epsilon > 0]))
    right.loglog(sizes, one, "o-", color="tab:red", label="one head")
    right.loglog(sizes, two, "o-", color="tab:blue", label="two heads, epsilon > 0")
    right.loglog(sizes, [bounds(s)[0] or math.nan for s in sizes], "--", color="tab:red", label="lower bound")
    right.loglog(sizes, [bounds(s)[1] for s in sizes], "--", color="tab:blue", label="upper bound")
    right.axhline(0.25, color="grey", lw=0.8)
    right.set(xlabel="S", ylabel="variance of the weight", title="1/4 against O(1/S)")
    right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Parse the options, print the tables and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000, help="draws of the keys")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to write the picture")
    options = parser.parse_args()
    print_tables(options.samples)
    draw_picture(options.samples, options.picture)


if __name__ == "__main__":
    main()
