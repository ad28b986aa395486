"""The late mask: renormalised it is the causal softmax; shrunk rows leak nothing; random tokens are read by it alone."""

from __future__ import annotations

import math

import torch

from finetune.experiments.attention import causal_softmax
from finetune.experiments.experiment import Setting
from finetune.experiments.late_mask import KINDS, ShrunkSoftmax, loss_on_random, mask_after, renormalise_after


def test_the_weights_are_what_their_docstrings_say() -> None:
    scores = torch.randn(2, 3, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(renormalise_after(scores), causal_softmax(scores), atol=1e-14)
    assert torch.allclose(mask_after(scores)[..., -1, :], causal_softmax(scores)[..., -1, :], atol=1e-14)
    assert (mask_after(scores)[..., 0, :].sum(-1) < 1).all()
    sums = ShrunkSoftmax(5)(scores).sum(-1)
    assert torch.allclose(sums, torch.arange(1, 6).double().expand(2, 3, 5) / 5, atol=1e-6)
    changed = scores.clone()
    changed[..., 4] += 1  # scores of the last key
    assert torch.equal(ShrunkSoftmax(5)(changed)[..., :4, :], ShrunkSoftmax(5)(scores)[..., :4, :])
    assert not torch.equal(mask_after(changed)[..., :4, :], mask_after(scores)[..., :4, :])


def test_only_the_late_mask_reads_random_tokens() -> None:
    """A hundred steps get below the entropy that no honest model can reach."""
    setting = Setting(steps=150, n_layer=1, n_head=2)
    assert loss_on_random("after", 0, setting) < math.log(KINDS) - 0.05
    # an honest model is above the entropy of the draws, up to the noise of 16,384 of them
    assert loss_on_random("before", 0, setting) > math.log(KINDS) - 0.01
