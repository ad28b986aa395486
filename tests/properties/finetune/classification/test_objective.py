"""What is trained on: smoothed cross-entropy against torch's own, and weights that keep the size of the loss."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.classification.objective import class_weights, training_losses
from finetune.errors import BadInput

U = torch.finfo(torch.float64).eps


@given(st.integers(0, 10_000), st.integers(2, 7), st.floats(0, 0.9))
def test_smoothing_is_that_of_torch(seed: int, classes: int, smoothing: float) -> None:
    torch.manual_seed(seed)
    logits, labels = 5 * torch.randn(11, classes, dtype=torch.float64), torch.randint(classes, (11,))
    want = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    # Sums of `classes` terms, each at most the largest loss.
    bound = 8 * classes * U * (logits.max() - logits.min() + torch.log(torch.tensor(float(classes))))
    assert (training_losses(logits, labels, smoothing) - want).abs().max() <= bound


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6))
def test_balanced_weights_give_each_class_the_same_total_and_mean_one(counts: list[int]) -> None:
    weights = class_weights("balanced", counts)
    assert weights is not None
    totals = [w * n for w, n in zip(weights, counts, strict=True)]
    assert sum(totals) == pytest.approx(sum(counts), rel=8 * len(counts) * U)
    assert max(totals) == pytest.approx(min(totals), rel=8 * len(counts) * U)


def test_weights_are_those_of_an_examples_own_class() -> None:
    logits, labels = torch.zeros(2, 2, dtype=torch.float64), torch.tensor([0, 1])
    plain = training_losses(logits, labels)
    assert torch.equal(training_losses(logits, labels, weights=[1.0, 3.0]), plain * torch.tensor([1.0, 3.0]))
    assert class_weights("2,2", [5, 7]) == [1.0, 1.0] and class_weights("none", [1, 2]) is None


@pytest.mark.parametrize(
    ("wish", "words"),
    [("1", "names 1 weights for 2"), ("1,0", "positive numbers"), ("1,x", "positive numbers"), ("1,inf", "positive")],
)
def test_weights_that_cannot_be_are_one_line(wish: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        class_weights(wish, [3, 4])
    with pytest.raises(BadInput, match="no training example"):
        class_weights("balanced", [3, 0])
