"""Self-attention of x_1, x_2, x_3 made of orthogonal u_a .. u_d: v = q = k = x, and with K, Q, V.

x_1 = u_d + u_b, x_2 = u_a, x_3 = u_c + u_b, norms beta. Without matrices c_2 ~ u_a whatever is added to
x_2; with them c_2 ~ u_b and c_1 ~ u_b - u_c. Every distance is computed in closed form.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows, rounding_bound

# Powers of two, so that with rows of entries +-1/4 every input, projection and score is exact in float64.
BETAS = [1.0, 2.0, 4.0]
# (beta, d): the axes of R^5, or rows of a Hadamard matrix in R^16.
FRAMES = [(beta, name) for beta in BETAS for name in ("axes", "hadamard")]


def frame(beta: float, name: str) -> Tensor:
    """Return u_a, u_b, u_c, u_d as rows of norm beta, exactly orthogonal."""
    rows = torch.eye(5, dtype=torch.float64)[1:] if name == "axes" else orthonormal_rows(16)[[3, 5, 6, 15]]
    return beta * rows


def inputs(u: Tensor) -> Tensor:
    """Return x_1, x_2, x_3 as rows."""
    u_a, u_b, u_c, u_d = u
    return torch.stack([u_d + u_b, u_a, u_c + u_b])


def self_attention(x: Tensor) -> Tensor:
    """Return c with v = q = k = x."""
    return attend(x, x, x)[0]


def distance(c: Tensor, target: Tensor) -> float:
    """Return the Euclidean distance."""
    return float((c - target).norm())


def norm_bound(query: Tensor, key: Tensor, value: Tensor) -> float:
    """Bound the rounding of one output in the Euclidean norm: the bound of an entry times sqrt(d_v)."""
    return math.sqrt(value.shape[-1]) * rounding_bound(query, key, value)


@pytest.mark.parametrize(("beta", "name"), FRAMES)
def test_c_2_is_u_a_within_the_gap(beta: float, name: str) -> None:
    u = frame(beta, name)
    x = inputs(u)
    # x_2 is orthogonal to x_1 and x_3, its own score is beta^2:
    # c_2 - u_a = e^{-beta^2} / (1 + 2 e^{-beta^2}) ((x_1 - u_a) + (x_3 - u_a)), and the bracket is
    # u_d + 2 u_b + u_c - 2 u_a, of norm sqrt(10) beta.
    share = math.exp(-(beta**2)) / (1 + 2 * math.exp(-(beta**2)))
    found = distance(self_attention(x)[1], u[0])
    assert abs(found - share * math.sqrt(10) * beta) <= 2 * norm_bound(x, x, x)
    # The bound of copying, (n - 1) e^{-gap} times the largest distance of a value, sqrt(3) beta.
    assert found <= 2 * math.exp(-(beta**2)) * math.sqrt(3) * beta


@pytest.mark.parametrize("added", ["u_d", "u_c"])
@pytest.mark.parametrize(("beta", "name"), FRAMES)
def test_adding_u_d_or_u_c_to_x_2_does_not_make_c_2_u_b(beta: float, name: str, added: str) -> None:
    u = frame(beta, name)
    x = inputs(u)
    x[1] = u[0] + (u[3] if added == "u_d" else u[2])
    # Scores of the new x_2: beta^2 with the input that shares a direction, 2 beta^2 with itself, 0 with the
    # other.
    near, far = math.exp(-(beta**2)), math.exp(-2 * beta**2)
    c = self_attention(x)[1]
    # c_2 copies the new x_2: the others hold at most this much weight, and lie 2 beta away at most
    # (x_2 - x_1 = u_a - u_b when u_d is added, x_2 - x_3 = u_a + u_d - u_c - u_b).
    assert distance(c, x[1]) <= (near + far) * 2 * beta + norm_bound(x, x, x)
    # Its coordinate along u_b is the weight of x_1 and x_3, (near + far) / (1 + near + far) < 0.34 at beta
    # = 1 and e^{-beta^2} for large beta: where u_b has 1.
    coordinate = float(c @ u[1]) / beta**2
    weight = (near + far) / (1 + near + far)
    assert abs(coordinate - weight) <= norm_bound(x, x, x) / beta
    assert distance(c, u[1]) >= math.sqrt(3) * beta * (1 - weight) - weight * 2 * beta - norm_bound(x, x, x)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("t", [-8.0, -1.0, 0.25, 0.5, 1.0, 2.0, 8.0])
def test_no_multiple_of_u_d_helps_either(t: float, beta: float) -> None:
    # With x_2 = u_a + t u_d the own score is (1 + t^2) beta^2 and that of x_1 is t beta^2; the gap
    # 1 + t^2 - t = (t - 1/2)^2 + 3/4 is never below 3/4, so x_2 always attends to itself most.
    u = frame(beta, "axes")
    x = inputs(u)
    x[1] = u[0] + t * u[3]
    _, weights = attend(x, x, x)
    ratio = float(weights[1, 0] / weights[1, 1])
    gap = ((t - 0.5) ** 2 + 0.75) * beta**2
    allowed = 2 * rounding_bound(x, x, torch.ones(3, 1, dtype=torch.float64)) / float(weights[1, 1])
    assert abs(ratio - math.exp(-gap)) <= allowed and ratio <= math.exp(-0.75 * beta**2) + allowed


def construction(u: Tensor, beta: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return Q, K, V: v_1 = u_b, v_3 = u_b - u_c, q_2 = u_d (in x_1 alone), q_1 = u_c (in x_3 alone)."""
    u_a, u_b, u_c, u_d = u
    query_map = (torch.outer(u_d, u_a) + torch.outer(u_c, u_d)) / beta**2
    value_map = (torch.outer(u_b, u_b) - torch.outer(u_c, u_c)) / beta**2
    return query_map, torch.eye(u.shape[1], dtype=torch.float64), value_map


@pytest.mark.parametrize(("beta", "name"), FRAMES)
def test_key_query_value_construction(beta: float, name: str) -> None:
    u = frame(beta, name)
    _, u_b, u_c, u_d = u
    x = inputs(u)
    query_map, key_map, value_map = construction(u, beta)
    query, key, value = x @ query_map.T, x @ key_map.T, x @ value_map.T
    # Dyadic numbers of few bits: the projections are exact, so is the comparison.
    assert torch.equal(value, torch.stack([u_b, 0 * u_b, u_b - u_c]))
    assert torch.equal(query, torch.stack([u_c, u_d, 0 * u_b]))

    c, _ = attend(query, key, value)
    slack = 2 * norm_bound(query, key, value)
    share = math.exp(-(beta**2)) / (1 + 2 * math.exp(-(beta**2)))
    # c_2 - u_b = share ((0 - u_b) + (u_b - u_c - u_b)) = -share (u_b + u_c), of norm sqrt(2) beta share.
    assert abs(distance(c[1], u_b) - share * math.sqrt(2) * beta) <= slack
    # c_1 - (u_b - u_c) = share (u_c + (u_c - u_b)), of norm sqrt(5) beta share.
    assert abs(distance(c[0], u_b - u_c) - share * math.sqrt(5) * beta) <= slack
    # Within the bound of copying: gap beta^2, values at most sqrt(2) beta apart.
    bound = 2 * math.exp(-(beta**2)) * math.sqrt(2) * beta
    assert distance(c[1], u_b) <= bound and distance(c[0], u_b - u_c) <= bound
    # Position 3 asks for nothing (q_3 = 0) and gets the mean of the values.
    assert distance(c[2], (2 * u_b - u_c) / 3) <= slack


def test_the_construction_uses_the_query_map_and_the_value_map_both() -> None:
    """Without Q position 2 keeps to itself, whose value is 0; without V it returns all of x_1."""
    beta = 4.0
    u = frame(beta, "hadamard")
    x = inputs(u)
    query_map, _, value_map = construction(u, beta)
    without_query, _ = attend(x, x, x @ value_map.T)
    without_value, _ = attend(x @ query_map.T, x, x)
    # All weights but one are below e^{-16} in both, and all rows are at most 4 beta apart.
    near = 2 * math.exp(-(beta**2)) * 4 * beta
    assert distance(without_query[1], torch.zeros(16, dtype=torch.float64)) <= near < beta / 2
    assert distance(without_value[1], x[0]) <= near
