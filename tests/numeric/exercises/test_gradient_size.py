"""The gradient that reaches the scores, against the head size h, with and without the factor 1/sqrt(h).

For two keys it is p (1 - p): unscaled it vanishes, in the mean like 1/sqrt(h) and for most draws like e^{-c
sqrt(h)}; scaled it keeps a mean of at least 1/8 at every h. Saturation makes gradients vanish, it does not
make them explode.
"""

from __future__ import annotations

import functools
import math

import pytest
import torch
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention

SAMPLES = 5000
FALSE_ALARM = 1e-11  # of each statistical statement; there are fewer than 30, so the file's is below 1e-9
SIZES = [4, 16, 64, 256, 1024]


def hoeffding(width: float) -> float:
    """Return t with P(|mean - expectation| > t) <= FALSE_ALARM for samples in an interval of this width."""
    return width * math.sqrt(math.log(2 / FALSE_ALARM) / (2 * SAMPLES))


@functools.cache  # the draws are shared by the tests; nothing writes to them
def score_gradients(h: int, scale: float | None) -> tuple[Tensor, Tensor]:
    """Return dc/ds_1 = p (1 - p) by autograd for independent q, k_1, k_2 ~ N(0, I_h), and s_1 - s_2 unscaled.

    The values are 1 and 0, so c is the first weight; the gradient is taken at a bias added to the scaled
    scores.
    """
    generator = torch.Generator().manual_seed(h)
    query = torch.randn((SAMPLES, 1, 1, h), generator=generator, dtype=torch.float64)
    key = torch.randn((SAMPLES, 1, 2, h), generator=generator, dtype=torch.float64)
    value = torch.tensor([[1.0], [0.0]], dtype=torch.float64).expand(SAMPLES, 1, 2, 1)
    bias = torch.zeros((SAMPLES, 1, 1, 2), dtype=torch.float64, requires_grad=True)
    output = dot_product_attention(query, key, value, attn_mask=bias, scale=scale)
    (gradient,) = torch.autograd.grad(output.sum(), bias)
    # The scores' gradients sum to zero: what one key gains the other loses. Equal but for the last rounding
    # of g (p_j - p_j sum p): three roundings of numbers below 1.
    assert float(gradient.sum(dim=-1).abs().max()) <= 4 * 2.0**-53
    difference = (query @ (key[:, :, :1] - key[:, :, 1:]).transpose(-1, -2)).flatten()
    return gradient[..., 0].flatten(), difference


def inverse_norm_moment(h: int, power: int) -> float:
    """Return E[|q|^-r] = 2^{-r/2} Gamma((h - r) / 2) / Gamma(h / 2) for q ~ N(0, I_h) and r = power < h."""
    return 2 ** (-power / 2) * math.exp(math.lgamma((h - power) / 2) - math.lgamma(h / 2))


@pytest.mark.parametrize("h", SIZES)
def test_unscaled_mean_gradient_falls_like_one_over_the_root_of_h(h: int) -> None:
    # Given q, X = s_1 - s_2 ~ N(0, 2 |q|^2), whose density lies between f (1 - x^2 / (4 |q|^2)) and
    # f = 1 / (2 sqrt(pi) |q|). With p (1 - p) = sech^2(X / 2) / 4, of integral 1 and second moment pi^2 / 3:
    # E <= E[1 / |q|] / (2 sqrt(pi)), and the lower bound subtracts E[|q|^-3] pi^2 / 12 of the same.
    upper = inverse_norm_moment(h, 1) / (2 * math.sqrt(math.pi))
    lower = upper - math.pi**2 / 12 * inverse_norm_moment(h, 3) / (2 * math.sqrt(math.pi))
    gradient, _ = score_gradients(h, scale=1.0)
    # p (1 - p) lies in [0, 1/4]: false alarm 1e-11.
    assert lower - hoeffding(0.25) <= float(gradient.mean()) <= upper + hoeffding(0.25)
    # E[1 / |q|] <= 1 / sqrt(h - 2): that is the rate.
    assert upper <= 1 / (2 * math.sqrt(math.pi * (h - 2)))


@pytest.mark.parametrize("h", SIZES)
def test_scaled_mean_gradient_is_at_least_an_eighth_at_every_h(h: int) -> None:
    # sech^2 y >= 1 - y^2, so p (1 - p) >= (1 - X^2 / 4) / 4, and E[X^2] = 2 after scaling: E >= 1/8.
    gradient, _ = score_gradients(h, scale=None)
    assert float(gradient.mean()) >= 1 / 8 - hoeffding(0.25)
    # Where the unscaled mean is proved below an eighth, h >= 8, the two are told apart by the bounds
    # themselves.
    if h >= 64:
        unscaled, _ = score_gradients(h, scale=1.0)
        upper = inverse_norm_moment(h, 1) / (2 * math.sqrt(math.pi))
        assert upper + hoeffding(0.25) < 1 / 8 - hoeffding(0.25)
        assert float(unscaled.mean()) < float(gradient.mean())


@pytest.mark.parametrize("h", [64, 256, 1024])
def test_most_unscaled_gradients_are_exponentially_small(h: int) -> None:
    # p (1 - p) <= e^{-|X|}, and |X| < t has probability at most 2 t f <= t E[1 / |q|] / sqrt(pi). With t =
    # sqrt(h) / 2 at most 28.5 % (h = 64) of the draws have more than e^{-sqrt(h) / 2}; so the median has
    # less.
    threshold = math.sqrt(h) / 2
    unlikely = threshold * inverse_norm_moment(h, 1) / math.sqrt(math.pi)
    gradient, difference = score_gradients(h, scale=1.0)
    larger = float((gradient > math.exp(-threshold)).to(torch.float64).mean())
    assert larger <= unlikely + hoeffding(1.0) < 0.5
    assert float(gradient.median()) <= math.exp(-threshold)
    # Draw by draw. The backward pass of softmax forms p (g - sum p g), for p near 1 a difference of numbers
    # near 1: a few units of absolute rounding, beside the relative one of scores of size |X| + h, within
    # 2^-30.
    assert bool((gradient <= torch.exp(-difference.abs()) * (1 + 2.0**-30) + 8 * 2.0**-53).all())
    # Scaled, given q, X ~ N(0, 2 |q|^2 / h), and p (1 - p) > 1/8 where cosh^2(X / 2) < 2. |q|^2 / h has
    # mean 1 and variance 2 / h, so it passes 3/2 with probability 8 / h at most (Chebyshev), and below it X
    # deviates by sqrt(3).
    scaled, _ = score_gradients(h, scale=None)
    likely = (1 - 8 / h) * math.erf(2 * math.acosh(math.sqrt(2)) / math.sqrt(3) / math.sqrt(2))
    assert float((scaled > 1 / 8).to(torch.float64).mean()) >= likely - hoeffding(1.0) > 0.5


@pytest.mark.parametrize("h", SIZES)
def test_no_gradient_explodes_and_the_largest_stands_at_a_tie(h: int) -> None:
    """dc/dq = scale p (1 - p) (k_1 - k_2): at most scale |k_1 - k_2| / 4, reached where the scores tie.

    So what the factor bounds in the query's gradient is this rare maximum, sqrt(h) / 2 here against 1/2.
    """
    key = torch.stack([torch.ones(h), -torch.ones(h)]).to(torch.float64)[None, None]
    value = torch.tensor([[1.0], [0.0]], dtype=torch.float64)[None, None]
    tie = torch.tensor([1.0, -1.0] * (h // 2), dtype=torch.float64)[None, None, None]
    for scale, largest in ((1.0, math.sqrt(h) / 2), (None, 0.5)):
        for query, expected in ((tie, largest), (tie + 1, 0.0)):
            leaf = query.clone().requires_grad_()
            output = dot_product_attention(leaf, key, value, scale=scale)
            (gradient,) = torch.autograd.grad(output.sum(), leaf)
            # At the tie all is powers of two, so the norm is exact (h is a power of four). At q = (2, 0, 2,
            # 0, ...) the scores are +-h: p (1 - p) <= e^{-2 h} unscaled, e^{-2 sqrt(h)} scaled, times 2
            # sqrt(h) scale.
            factor = 1.0 if scale else 1 / math.sqrt(h)
            bound = 2 * math.sqrt(h) * factor * math.exp(-2 * h * factor) * (1 + 2.0**-40)
            norm = float(gradient.norm())
            assert norm == expected if expected else norm <= bound
