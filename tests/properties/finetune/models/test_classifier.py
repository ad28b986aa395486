"""Heads on an encoder.

finetune.models.classifier: pooling over real tokens alone, the tied table, losses as sums with their counts.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.classifier import Classifier, MaskedLM, classification_loss, first_real, masked_lm_loss, mean_real
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.training.optimizer import decayed_parameters

V, E = 23, 12


def encoder() -> Encoder:
    torch.manual_seed(2)
    return Encoder(EncoderConfig(V, 19, 1, 3, E, 7, 2))


def test_pooling_reads_real_tokens_alone() -> None:
    """Numbers by hand; what stands at padding is NaN, so that any use of it shows."""
    nan = torch.nan
    x = torch.tensor([[[1.0], [3.0], [nan]], [[nan], [nan], [7.0]], [[nan], [nan], [nan]]])
    mask = torch.tensor([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert mean_real(mask, x).tolist() == [[2.0], [7.0], [0.0]]
    assert first_real(mask[:2], x[:2]).tolist() == [[1.0], [7.0]]
    whole = torch.tensor([[[1.0], [3.0], [8.0]]])
    assert mean_real(None, whole).tolist() == [[4.0]]
    assert first_real(None, whole).tolist() == [[1.0]]


def test_padding_gets_no_gradient_from_the_mean() -> None:
    x = torch.randn(2, 3, E, requires_grad=True)
    mean_real(torch.tensor([[1, 0, 0], [0, 1, 1]]), x).sum().backward()
    assert x.grad is not None
    assert x.grad[:, :, 0].tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]


@pytest.mark.parametrize("pool", ["first", "mean"])
@pytest.mark.parametrize("classes", [2, 5])
def test_the_head_has_as_many_parameters_as_the_formula_says(pool: Any, classes: int) -> None:
    model = Classifier(encoder(), classes, pool=pool)
    assert sum(p.numel() for p in model.head.parameters()) == classes * (E + 1)
    assert model(torch.ones(3, 4).long()).shape == (3, classes)


def test_dropout_lies_between_the_pooled_vector_and_the_head() -> None:
    """With the encoder in evaluation mode, half of the pooled features are off, and the others doubled."""
    model = Classifier(encoder().eval(), 2, dropout=0.5)
    ids = torch.ones(400, 4).long()
    model.drop.train()
    seen: list[Tensor] = []
    model.head.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    model(ids)
    model.eval()
    model(ids)
    ratio = seen[0] / seen[1]
    assert set(ratio.round(decimals=4).unique().tolist()) == {0.0, 2.0}
    # 4800 fair coins: beyond 5 standard deviations with probability below 1e-6, and the seed is fixed.
    assert abs(float((ratio == 0).float().mean()) - 0.5) < 5 * 0.5 / 4800**0.5


def test_the_masked_lm_has_one_table() -> None:
    model = MaskedLM(encoder())
    own = sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in model.encoder.parameters())
    assert own == E * E + E + 2 * E + V
    assert not any(name.startswith("decoder") for name in model.state_dict())
    assert "encoder.tok_emb.weight" not in decayed_parameters(model)
    ids = torch.ones(1, 3).long()
    before = model.eval()(ids)
    with torch.no_grad():
        model.encoder.tok_emb.weight[9] += 1.0  # type: ignore[union-attr]  # an Encoder
    assert set((model(ids) - before).abs().amax((0, 1)).nonzero().flatten().tolist()) == {9}


@torch.no_grad()
def test_losses_are_sums_with_their_counts() -> None:
    """So that parts of a batch add up to the whole, however it is cut."""
    torch.manual_seed(0)
    ids, mask = torch.randint(1, V, (5, 6)), torch.ones(5, 6).long()
    labels = torch.where(torch.rand(5, 6) < 0.4, ids, -100)
    for model, loss, given, total in (
        (Classifier(encoder(), 3), classification_loss, torch.tensor([0, 2, 1, 1, 0]), 5),
        (MaskedLM(encoder()), masked_lm_loss, labels, int((labels != -100).sum())),
    ):
        model = model.double().eval()
        whole = {"input_ids": ids, "attention_mask": mask, "labels": given}
        parts = [loss(model, {k: v[piece] for k, v in whole.items()}) for piece in (slice(0, 2), slice(2, 5))]
        one = loss(model, whole)
        assert int(one[1]) == sum(int(count) for _, count in parts) == total
        # 5 to 30 logarithms of size log V or so, added in two orders.
        assert abs(float(one[0] - parts[0][0] - parts[1][0])) <= 100 * 2.0**-53 * float(one[0]) * V
        whole_mean = nn.functional.cross_entropy(model(ids, mask).flatten(0, -2), given.flatten())
        assert abs(float(one[0] / one[1] - whole_mean)) <= 100 * 2.0**-53 * float(whole_mean) * V


def test_a_batch_without_a_target_costs_nothing() -> None:
    batch = {"input_ids": torch.ones(2, 3).long(), "labels": torch.full((2, 3), -100)}
    loss, count = masked_lm_loss(MaskedLM(encoder()), batch)
    assert (float(loss.detach()), int(count)) == (0.0, 0)
    loss.backward()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Classifier(encoder(), 1), "at least 2 classes, got 1"),
        (lambda: Classifier(encoder(), 2, pool="last"), "pool 'last' is not one of first, mean"),  # type: ignore[arg-type]
        (lambda: Classifier(encoder(), 2, dropout=1.0), "dropout must be at least 0 and below 1"),
        (lambda: Classifier(nn.Linear(2, 2), 2), "Linear has neither n_embd nor hidden_size"),
    ],
)
def test_heads_that_cannot_be_are_refused(made: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made()
