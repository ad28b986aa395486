"""Noisy keys: the noise is what it says, and hand-made queries behave as source 003 derives."""

from __future__ import annotations

import pytest
import torch

from finetune.experiments.noisy_key_heads import KEYS, VARIANTS, mixture, noisy_keys


def test_keys_keep_their_direction() -> None:
    means = torch.eye(KEYS)
    keys = noisy_keys(means, 20_000, 0.5, torch.Generator().manual_seed(0))
    along = keys.diagonal(dim1=1, dim2=2)
    assert (keys - along[..., None] * means).abs().max() == 0
    # five standard errors of a standard deviation of 0.5 over 160,000 draws
    assert float(along.std()) == pytest.approx(0.5, abs=5 * 0.5 / (2 * along.numel()) ** 0.5)
    assert torch.equal(noisy_keys(means, 2, 0.0, torch.Generator()), means.expand(2, -1, -1))


def test_two_made_heads_vary_less_than_one() -> None:
    means, values = torch.eye(KEYS), torch.eye(KEYS)
    keys = noisy_keys(means, 4000, 0.1, torch.Generator().manual_seed(1))
    one = mixture(40 * (means[:1] + means[1:2]), keys, values)
    two = mixture(40 * means[:2], keys, values)
    assert one.var(0).sum() > 100 * two.var(0).sum()
    assert torch.allclose(two.mean(0)[:2], torch.tensor([0.5, 0.5]), atol=1e-3)


def test_the_variants_cross_heads_and_noise() -> None:
    assert set(VARIANTS.values()) == {(heads, size) for heads in (1, 2, 4) for size in (0.0, 0.5)}
