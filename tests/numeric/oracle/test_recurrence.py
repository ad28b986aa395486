"""The truth of linear attention agrees with sums written out: over earlier tokens, and over products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle

RNG = np.random.default_rng(0)
Q, K = RNG.standard_normal((2, 1, 2, 5, 3))
V = RNG.standard_normal((1, 2, 5, 4))
G = -RNG.random((1, 2, 5, 3))
START = RNG.standard_normal((1, 2, 3, 4))


def test_every_token_is_a_sum_over_the_earlier_ones() -> None:
    out, state = oracle.linear_attention(Q, K, V, G, initial_state=START, scale=0.7)
    total = G.cumsum(axis=2)
    for t in range(5):
        fades = np.exp(total[:, :, t : t + 1] - total[:, :, : t + 1])
        scores = np.einsum("bhc,bhjc->bhj", Q[:, :, t], fades * K[:, :, : t + 1])
        want = np.einsum("bhj,bhje->bhe", scores, V[:, :, : t + 1])
        want += np.einsum("bhc,bhce->bhe", Q[:, :, t] * np.exp(total[:, :, t]), START)
        assert out[:, :, t] == pytest.approx(0.7 * want, abs=1e-12)
    assert state == pytest.approx(
        np.exp(total[:, :, -1])[..., None] * START
        + np.einsum("bhjc,bhje->bhce", np.exp(total[:, :, -1:] - total) * K, V),
        abs=1e-12,
    )


def test_the_delta_rule_is_a_product_of_matrices() -> None:
    beta, g = RNG.random((1, 2, 5)), G[..., :1]
    _, state = oracle.linear_attention(Q, K, V, g, beta, START)
    for h in range(2):
        want = START[0, h]
        for t in range(5):
            k = K[0, h, t][:, None]
            want = np.exp(g[0, h, t]) * (np.eye(3) - beta[0, h, t] * k @ k.T) @ want
            want = want + beta[0, h, t] * k @ V[0, h, t][None]
        assert state[0, h] == pytest.approx(want, abs=1e-12)


def test_a_key_of_norm_one_and_beta_one_is_replaced() -> None:
    """What the delta rule is for: the value under a key is overwritten."""
    k = np.array([1.0, 0.0, 0.0])[None, None, None]
    start = START[:, :1]
    out, _ = oracle.linear_attention(k, k, V[:, :1, :1], None, np.ones((1, 1, 1)), start, scale=1.0)
    assert out == pytest.approx(V[:, :1, :1])


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("of", ["out", "state"])
def test_gradients_are_differences(delta: bool, of: str) -> None:
    beta = RNG.random((1, 2, 5)) if delta else None
    down = RNG.standard_normal(V.shape if of == "out" else START.shape)
    arrays = {"query": Q, "key": K, "value": V, "log_decay": G, "beta": beta, "state": START}
    found = oracle.linear_attention_gradients(Q, K, V, G, beta, START, scale=0.7, **{of: down})

    def loss(changed: dict[str, np.ndarray]) -> float:
        given = {**arrays, **changed}
        start = given.pop("state")
        out, state = oracle.linear_attention(*given.values(), start, scale=0.7)
        return float((down * (out if of == "out" else state)).sum())

    for name, x in arrays.items():
        if x is None:
            assert found.beta is None
            continue
        direction = RNG.standard_normal(x.shape)
        step = 1e-5 * direction
        along = (loss({name: x + step}) - loss({name: x - step})) / 2e-5
        assert (getattr(found, name) * direction).sum() == pytest.approx(along, rel=1e-7, abs=1e-7), name
