"""Importance of heads: both measures against their definitions, and pruning against gates at 0; each check refuses a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from finetune.classification.head_importance import (
    NoHeads,
    ablation_losses,
    agreement,
    attentions,
    example_losses,
    gate_gradients,
    gate_heads,
    importance_of,
    least_important,
    rank_correlation,
    without_heads,
)
from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderConfig

LAYERS, HEADS, WIDTH = 2, 4, 16


def make_classifier(seed: int = 0) -> Classifier:
    torch.manual_seed(seed)
    config = EncoderConfig(31, 12, LAYERS, HEADS, WIDTH, 24)
    classifier = Classifier(Encoder(config), 3, pool="first", dropout=0.1).double()
    with torch.no_grad():
        for parameter in classifier.parameters():
            parameter.normal_(std=0.5)
    return classifier


def make_batches(sizes: Sequence[int], seed: int = 0) -> list[dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    count = sum(sizes)
    ids, labels = torch.randint(31, (count, 9), generator=generator), torch.randint(3, (count,), generator=generator)
    mask = (torch.arange(9)[None] < torch.randint(3, 10, (count, 1), generator=generator)).long()
    parts = pairwise(np.cumsum([0, *sizes]))
    return [{"input_ids": ids[a:b], "attention_mask": mask[a:b], "labels": labels[a:b]} for a, b in parts]


def summed_over_batches(classifier: Classifier, batches: Sequence[Any]) -> Any:
    """The fault of a well-known script: gates of the model whose gradients are not zeroed between batches."""
    gates = torch.ones(1, LAYERS, HEADS, requires_grad=True)
    found = []
    for batch in batches:
        with gate_heads(classifier.eval(), gates):
            example_losses(classifier, batch).mean().backward()
        assert gates.grad is not None
        found += [gates.grad[0].abs().double().numpy()] * len(batch["labels"])
    return np.stack(found)


def with_dropout(classifier: Classifier, batches: Sequence[Any]) -> Any:
    """A fault: training mode, so that the slopes are those of drawn masks."""
    found = []
    classifier.train()
    for batch in batches:
        gates = torch.ones(len(batch["labels"]), LAYERS, HEADS, requires_grad=True)
        with gate_heads(classifier, gates):
            (slope,) = torch.autograd.grad(example_losses(classifier, batch).sum(), gates)
        found.append(slope.abs().double().numpy())
    return np.concatenate(found)


def slopes_differ(measure: Callable[..., Any], seed: int = 0) -> float:
    """How far the slopes of a measure are from difference quotients, and from themselves in other batches."""
    classifier = make_classifier(seed)
    whole = measure(classifier, make_batches([7], seed))
    (batch,) = make_batches([7], seed)
    step, worst = 1e-5, 0.0
    classifier.eval()
    for layer, head in np.ndindex(LAYERS, HEADS):
        losses = []
        for sign in (1, -1):
            gates = torch.ones(1, LAYERS, HEADS, dtype=torch.float64)
            gates[0, layer, head] += sign * step
            with gate_heads(classifier, gates), torch.no_grad():
                losses.append(example_losses(classifier, batch))
        quotient = ((losses[0] - losses[1]) / (2 * step)).abs().numpy()
        worst = max(worst, float(np.abs(quotient - whole[:, layer, head]).max()))
    parts = measure(make_classifier(seed), make_batches([3, 1, 3], seed))
    return max(worst, float(np.abs(parts - whole).max()))


# A central quotient errs by step^2 / 6 of the third derivative and u / step of the losses: both far below this.
BOUND = 1e-5


@settings(max_examples=8)
@given(st.integers(0, 1000))
def test_slopes_are_difference_quotients_in_any_batches(seed: int) -> None:
    assert slopes_differ(gate_gradients, seed) < BOUND


@pytest.mark.parametrize("fault", [summed_over_batches, with_dropout])
def test_a_fault_of_slopes_is_refused(fault: Callable[..., Any]) -> None:
    assert slopes_differ(fault) > 100 * BOUND


def test_gates_of_one_change_no_bit_and_leave_nothing_behind() -> None:
    classifier, (batch,) = make_classifier().eval(), make_batches([5])
    before = example_losses(classifier, batch)
    with gate_heads(classifier, torch.ones(1, LAYERS, HEADS, dtype=torch.float64)):
        assert torch.equal(example_losses(classifier, batch), before)
    with gate_heads(classifier, torch.zeros(1, LAYERS, HEADS, dtype=torch.float64)):
        assert not torch.equal(example_losses(classifier, batch), before)
    assert torch.equal(example_losses(classifier, batch), before)


def pruned_differs(prune: Callable[..., Classifier], heads: list[tuple[int, int]]) -> float:
    """How far the losses of a pruned model are from those with gates at 0."""
    classifier, (batch,) = make_classifier().eval(), make_batches([6])
    gates = torch.ones(1, LAYERS, HEADS, dtype=torch.float64)
    for layer, head in heads:
        gates[0, layer, head] = 0
    with torch.no_grad(), gate_heads(classifier, gates):
        want = example_losses(classifier, batch)
    with torch.no_grad():
        return float((example_losses(prune(classifier, heads).eval(), batch) - want).abs().max())


# Rounding of products over 16 features, layer norms and a loss, in float64.
ROUNDING = 1e-11


@pytest.mark.parametrize("heads", [[(0, 1)], [(0, 0), (0, 3), (1, 2)], [(1, h) for h in range(HEADS)]])
def test_a_pruned_model_is_the_one_with_gates_at_zero(heads: list[tuple[int, int]]) -> None:
    assert pruned_differs(without_heads, heads) < ROUNDING
    neighbours = [(layer, (head + 1) % HEADS) for layer, head in heads]
    if set(neighbours) != set(heads):
        assert pruned_differs(lambda model, _: without_heads(model, neighbours), heads) > 1e6 * ROUNDING
    small = without_heads(make_classifier(), heads)
    assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in make_classifier().parameters())


def test_a_head_that_gives_nothing_is_of_no_importance() -> None:
    classifier = make_classifier()
    with torch.no_grad():
        attentions(classifier)[1].value.weight[4:8] = 0
        attentions(classifier)[1].value.bias[4:8] = 0
    found = importance_of(classifier, make_batches([4, 4]))
    assert found.rises[1, 1] == 0 and found.slopes[1, 1] == 0 and found.examples == 8
    assert (1, 1) in least_important(np.abs(found.rises), 1) and (1, 1) in least_important(found.slopes, 1)


def test_the_rise_is_that_of_the_loss() -> None:
    classifier, batches = make_classifier(), make_batches([4, 3])
    rises = ablation_losses(classifier, batches)
    without = without_heads(classifier, [(1, 2)]).eval()
    classifier.eval()
    with torch.no_grad():
        want = torch.cat([example_losses(without, b) - example_losses(classifier, b) for b in batches])
    assert float(np.abs(rises[:, 1, 2] - want.numpy()).max()) < ROUNDING


@given(st.lists(st.integers(0, 5), min_size=3, max_size=9), st.randoms())
def test_rank_correlation_is_that_of_scipy(values: list[int], random: Any) -> None:
    from scipy.stats import spearmanr

    others = [random.randint(0, 5) for _ in values]
    mine = rank_correlation(np.array(values, float), np.array(others, float))
    if len(set(values)) == 1 or len(set(others)) == 1:
        assert np.isnan(mine)
    else:
        assert mine == pytest.approx(spearmanr(values, others).statistic, abs=1e-12)


def test_the_interval_of_the_agreement_narrows_with_examples() -> None:
    generator = np.random.default_rng(0)
    true = generator.normal(size=(1, 2, 6))
    few, many = (
        agreement(*(true + 2 * generator.normal(size=(n, 2, 6)) for _ in range(2)), resamples=400) for n in (20, 2000)
    )
    assert many[1][1] - many[1][0] < few[1][1] - few[1][0] and many[0] > 0.9 and many[1][0] > 0.8


def test_what_has_no_gates_is_refused(tmp_path: Path) -> None:
    classifier = make_classifier()
    with pytest.raises(BadInput, match=r"layer 2 has no heads \[0\]"):
        without_heads(classifier, [(2, 0)])
    bare = without_heads(classifier, [(0, h) for h in range(HEADS)])
    assert isinstance(bare.encoder.blocks[0].attn, NoHeads)
    with pytest.raises(BadInput, match="a layer without heads has no gates"):
        attentions(bare)
    classifier.encoder = torch.nn.Linear(2, 2)
    with pytest.raises(BadInput, match="train with --backend own"):
        attentions(classifier)
