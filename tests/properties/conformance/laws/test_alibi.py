"""Power and false alarms of the laws of ALiBi: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import alibi
from attention_core.declaration.implementation import Implementation
from attention_core.faults import features as faults
from attention_core.faults.variant_attention import change_gradient

WIDE: dict[str, Any] = {"accumulate": "float32"}
GRADIENT = "the_slopes_gradient_is_true"
SEEN_BY = {
    "slope_of_zero_is_the_usual_one": "slopes_of_zero_change_nothing",
    "backward_without_slopes": "gradients_with_slopes_are_true",
    "gradient_of_slopes_of_the_other_sign": GRADIENT,
    "gradient_of_slopes_of_all_heads": GRADIENT,
    "gradient_of_slopes_of_the_first_sequence": GRADIENT,
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", alibi.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: alibi.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.SLOPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "scores_fall_with_distance"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in alibi.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


def constants(query: Tensor, key: Tensor, value: Tensor, alibi_slopes: Tensor | None = None) -> Tensor:
    """Slopes as a list of numbers, which have no gradient."""
    slopes = None if alibi_slopes is None else torch.from_numpy(alibi_slopes.numpy())
    return faults.build()(query, key, value, alibi_slopes=slopes)


def test_slopes_are_constants_unless_a_gradient_comes_or_is_declared() -> None:
    """Most libraries have none for them; what is declared is held to."""
    learned = {"parameters": {"learned": "alibi_slopes"}, **WIDE}
    for target in (faults.gradient_of_slopes_dropped(), constants):
        with Session(Implementation(target, "under test", **WIDE), effort="quick") as session:
            (law,) = [law for law in session.laws if law.name == GRADIENT]
            assert session.run(law).status == "not_applicable"
    refuted(GRADIENT, faults.gradient_of_slopes_dropped(), "quick", **learned)
    held(GRADIENT, faults.build(), **learned)


def biased(change: Any) -> Any:
    """Attention with a position bias that passes through a function first."""

    def attention(query: Tensor, key: Tensor, value: Tensor, position_bias: Tensor | None = None) -> Tensor:
        scores = query @ key.mT * query.shape[-1] ** -0.5
        if position_bias is not None:
            scores = scores + change(position_bias, scores)
        dead = scores.isneginf().all(-1, keepdim=True)
        return scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) @ value

    return attention


def first_sequence_alone(bias: Tensor, scores: Tensor) -> Tensor:
    """The bias of all sequences, whose gradient is that of the first."""
    if bias.ndim < 4 and scores.ndim > 3 and len(scores) > 1:
        return torch.cat([bias.expand(scores[:1].shape), bias.detach().expand(scores[1:].shape)])
    return bias


@pytest.mark.parametrize(
    "change",
    [
        lambda bias, scores: bias.detach(),
        lambda bias, scores: 2 * bias.detach() - bias if torch.isfinite(bias).all() else bias,
        lambda bias, scores: change_gradient(bias, lambda g: g.sum(-1, keepdim=True).expand_as(g)),
        first_sequence_alone,
    ],
    ids=["dropped", "other sign", "summed over keys", "first sequence"],
)
def test_a_wrong_gradient_of_a_position_bias_is_refuted(change: Any) -> None:
    record = {"masks": "additive", "mask_gradient": True, "dtypes": ("float32",)}
    refuted("mask_gradient_is_true", biased(change), "quick", **record)


def test_the_gradient_of_a_position_bias_is_held_to_the_truth() -> None:
    record = {"masks": "additive", "mask_gradient": True, "dtypes": ("float32",)}
    held("mask_gradient_is_true", biased(lambda bias, scores: bias), **record)
