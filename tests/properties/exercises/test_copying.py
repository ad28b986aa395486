"""The claim "attention copies": one score ahead by a gap g gives v_j within (n - 1) e^-g times the
diameter.

Also where the written arguments for it fail: keys of unequal length, and "larger than each, so than their
sum".
"""

from __future__ import annotations

import math

import torch
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.numeric.exercise_truth import attend, rounding_bound

# Quarters of small integers: products and sums of a few of them are exact in float64, so gaps are exact too.
QUARTERS = st.integers(-12, 12).map(lambda i: i / 4)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Draw one query (1, d), keys (n, d) and values (n, d_v)."""
    n, d, d_v = draw(st.integers(2, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rows = [(1, d), (n, d), (n, d_v)]
    query, key, value = (
        torch.tensor(draw(st.lists(QUARTERS, min_size=r * c, max_size=r * c)), dtype=torch.float64).reshape(r, c)
        for r, c in rows
    )
    return query, key, value


@given(problems(), st.sampled_from([0.25, 1.0, 4.0]))
def test_copying_within_the_gap(problem: tuple[Tensor, Tensor, Tensor], scale: float) -> None:
    query, key, value = problem
    scores = scale * (query @ key.T)[0]
    winner = int(scores.argmax())
    others = torch.cat([scores[:winner], scores[winner + 1 :]])
    gap = float(scores[winner] - others.max())
    diameter = float((value[:, None] - value[None]).abs().max())
    output, weights = attend(query, key, value, scale=scale)
    error = float((output[0] - value[winner]).abs().max())
    # alpha_i <= e^{-g} alpha_j for each of the n - 1 others, so they hold at most (n - 1) e^{-g} together;
    # the sharper form divides by 1 + (n - 1) e^{-g}, and never lets the error pass the diameter.
    small = len(others) * math.exp(-gap)
    slack = rounding_bound(query, key, value, scale)
    assert error <= small / (1 + small) * diameter + slack
    unit = rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64), scale)
    assert 1 - float(weights[0, winner]) <= small / (1 + small) + unit
    event("the bound is below a tenth" if small < 0.1 else "the bound says little")


@given(st.integers(2, 9), st.integers(0, 36).map(lambda i: i / 4), st.integers(1, 8))
def test_the_bound_is_reached_when_the_others_tie_at_the_far_end(n: int, gap: float, diameter: int) -> None:
    # One key of score 0 and n - 1 of score -g, values 0 and D: the error is the sharper bound itself.
    key = torch.tensor([[0.0]] + [[-gap]] * (n - 1), dtype=torch.float64)
    value = torch.tensor([[0.0]] + [[float(diameter)]] * (n - 1), dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    small = (n - 1) * math.exp(-gap)
    error = float(attend(one, key, value)[0][0, 0])
    assert abs(error - small / (1 + small) * diameter) <= 2 * rounding_bound(one, key, value)


@given(st.integers(2, 40), st.integers(1, 60).map(lambda i: i / 8))
@example(n=9, gap=2.0)  # 8 e^{-2} = 1.08: larger than each, not than the sum
@example(n=9, gap=2.125)  # 8 e^{-2.125} = 0.96
def test_larger_than_each_other_weight_is_larger_than_their_sum_only_beyond_log_n(n: int, gap: float) -> None:
    key = torch.tensor([[gap]] + [[0.0]] * (n - 1), dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    _, weights = attend(one, key, key)
    ratio = float(weights[0, 0] / weights[0, 1:].sum())
    assert weights[0, 0] > weights[0, 1:].max()  # g >= 1/8
    # alpha_j / sum of the others = e^g / (n - 1): above 1 exactly when g > log(n - 1).
    expected = math.exp(gap) / (n - 1)
    relative = 4 * rounding_bound(one, key, one) * (1 + n)
    assert abs(ratio - expected) <= expected * relative
    assume(abs(gap - math.log(n - 1)) > relative)
    assert (ratio > 1) is (gap > math.log(n - 1))
    event(f"larger than their sum: {ratio > 1}")


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8), st.integers(1, 20))
def test_larger_than_each_score_says_nothing_about_the_sum_of_scores(others: list[int], ahead: int) -> None:
    # The written step q.k_j >> q.k_i for all i => q.k_j >> sum_i q.k_i is about scores, and false as it
    # stands; softmax looks at differences of scores, never at their sum: what it gives for v_j depends on
    # the gap alone.
    best = max(others) + ahead
    scores = torch.tensor([[float(best)], *([float(s)] for s in others)], dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    moved = scores - 100  # every sum of scores changes, no weight does
    _, weights = attend(one, scores, scores)
    _, same = attend(one, moved, moved)
    unit = 2 * rounding_bound(one, moved, one) + 2 * rounding_bound(one, scores, one)
    assert float((weights - same).abs().max()) <= unit
    assert 1 - float(weights[0, 0]) <= len(others) * math.exp(-ahead) + unit
    event(f"best score above the sum of the others: {best > sum(others)}")


@given(
    st.lists(st.integers(-8, 8), min_size=3, max_size=3).filter(any),
    st.integers(5, 16).map(lambda i: i / 4),
    st.integers(1, 16),
)
def test_a_longer_key_in_the_same_direction_takes_what_s_k_0_asks_for(first: list[int], stretch: float, S: int) -> None:
    """q = S k_0 selects v_0 for keys of equal length; with k_1 = t k_0, t > 1, it selects v_1."""
    key = torch.tensor([first, [stretch * x for x in first]], dtype=torch.float64)
    value = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    query = S * key[:1]
    output, _ = attend(query, key, value)
    # The gap is S (t - 1) |k_0|^2 >= 1/4, in favour of key 1: its rival keeps 1 / (1 + e^gap), below 0.44.
    gap = S * (stretch - 1) * sum(x * x for x in first)
    exact = math.exp(-gap) / (1 + math.exp(-gap))
    slack = 2 * rounding_bound(query, key, value)
    assert abs(float(output[0, 0]) - exact) <= slack
    assert exact < 0.44 and slack < 0.01


# Vectors of the common squared length 9 (and integer coordinates): (+-3, 0, 0), (+-1, +-2, +-2), permuted.
LENGTH_3 = [(a, b, c) for a in range(-3, 4) for b in range(-3, 4) for c in range(-3, 4) if a * a + b * b + c * c == 9]


@given(st.lists(st.sampled_from(LENGTH_3), min_size=2, max_size=6, unique=True), st.sampled_from([0.5, 1.0, 2.0]))
def test_s_k_0_selects_among_distinct_keys_of_equal_length(keys: list[tuple[int, ...]], S: float) -> None:
    key = torch.tensor(keys, dtype=torch.float64)
    value = torch.eye(len(keys), dtype=torch.float64)
    output, _ = attend(S * key, key, value)
    # Cauchy-Schwarz: |k|^2 - k.k' = |k - k'|^2 / 2 > 0 for k' != k of the same length; integers, so exact.
    gram = key @ key.T
    rival = (gram - 18 * value).amax(dim=1)  # the diagonal, 9, falls to -9: the least a product can be
    gap = S * (9 - rival)
    assert bool((gap > 0).all())
    small = (len(keys) - 1) * torch.exp(-gap)
    error = (output - value).abs().amax(dim=1)
    assert bool((error <= small / (1 + small) + rounding_bound(S * key, key, value)).all())
    # Strictly ahead, whatever S > 0: the own value weighs most.
    assert output.argmax(dim=1).tolist() == list(range(len(keys)))
