"""The truths of the laws of attention heads, against difference quotients and torch, and their budgets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.faults.bases.head_measures import CORRECT
from finetune.laws.head_importance import head_probe
from finetune.laws.head_importance.laws import CONTRACT
from finetune.laws.head_importance.measured import grid, kept_gates, mean_ranks, spearman, split

LOSSES = ParameterCase({"N": 5, "L": 2, "H": 3, "B": 1, "n": 1, "d": 1}, dtype="float64", seed=4)
LAYER = ParameterCase({"B": 2, "n": 4, "H": 3, "d": 2, "N": 1, "L": 1}, dtype="float64", seed=4)


def test_importances_are_those_of_the_losses() -> None:
    """A loss is quadratic in a gate, so a central difference is its slope but for rounding."""
    with Session(Implementation(CORRECT[0], "under test", CONTRACT), effort="quick") as session:
        losses = session.subject.losses(LOSSES)
    model = head_probe.KnownLosses(*(torch.from_numpy(a) for a in losses.arrays()))

    def computed(gates: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return model({"text": torch.arange(5)}, gates).numpy()

    ones = torch.ones(2, 3, dtype=torch.float64)
    for place in np.ndindex(2, 3):
        up, down, out = ones.clone(), ones.clone(), ones.clone()
        up[place], down[place], out[place] = 1.25, 0.75, 0.0
        slopes, rises = (computed(up) - computed(down)) / 0.5, computed(out) - computed(ones)
        for kind, want in (("gradient", np.abs(slopes).mean()), ("ablation", rises.mean())):
            truth, bound = losses.truth(kind, range(5))
            assert abs(truth[place] - want) < 1e-12 and 0 < bound[place] < 1e-3


def test_a_layer_under_gates_is_torch_s_attention_with_scaled_columns() -> None:
    gates = np.array([0.0, 1.5, 1.0])
    with Session(Implementation(CORRECT[0], "under test", CONTRACT), effort="quick") as session:
        want, bound = session.subject.layer_truth(LAYER, gates)
        x, weights = session.subject.x(LAYER), session.subject.weights(LAYER)
    scaled = [*weights[:6], weights[6] * np.repeat(gates, 2), weights[7]]
    with torch.no_grad():
        got = head_probe.layer_of([torch.from_numpy(w) for w in scaled], 3)(torch.from_numpy(x)).numpy()
    assert (np.abs(got - want) <= bound).all() and bound.max() < 1e-12


@pytest.mark.parametrize(("values", "ranks"), [([3.0, 1.0, 2.0], [3, 1, 2]), ([1.0, 0.0, 1.0, 1.0], [3, 1, 3, 3])])
def test_ranks_are_shared_by_ties(values: list[float], ranks: list[int]) -> None:
    assert mean_ranks(np.array(values)).tolist() == ranks


def test_the_correlation_is_one_for_one_order_and_minus_one_for_its_reverse() -> None:
    values = np.array([0.5, 3.0, -2.0, 9.0])
    assert spearman(values, np.exp(values)) == pytest.approx(1) and spearman(values, -values) == pytest.approx(-1)


def test_drawn_numbers_are_never_zero_and_batches_hold_each_text_once() -> None:
    drawn = grid(np.random.default_rng(0), 1000)
    assert (drawn != 0).all() and (np.abs(drawn) <= 2).all() and (drawn * 8 == np.rint(drawn * 8)).all()
    uneven = split(LOSSES, even=False)
    assert sorted(n for batch in uneven for n in batch) == list(range(5)) and len({len(batch) for batch in uneven}) == 2
    assert split(LOSSES, even=True) == [[0, 1], [2, 3]]
    assert kept_gates(3, [1]).tolist() == [1, 0, 1]
