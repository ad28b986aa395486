"""The budget of linear attention: right arithmetic of three orders stays within it, wrong by little does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.recurrence_bound import recurrence_bound
from attention_core.conformance.budgets.recurrence_terms import Tokens
from attention_core.kernels.linear_attention import chunked_linear_attention, recurrent_linear_attention

KINDS = ("linear", "retention", "gla", "gated-delta", "kda")
DELTA = ("gated-delta", "kda")


def draw(kind: str, seed: int, dtype: str = "float32") -> tuple[Tokens, np.ndarray, np.ndarray | None]:
    """Tokens, a state to begin with, and the log decays as a kernel is given them."""
    rng = np.random.default_rng(seed)
    B, H, n, d = 2, 2, int(rng.integers(1, 70)), int(rng.integers(1, 20))
    q, k = round_to(rng.standard_normal((2, B, H, n, d)), dtype)
    v = round_to(rng.standard_normal((B, H, n, 5)), dtype)
    shape = {"linear": None, "retention": (H,), "gla": (B, H, n, d), "gated-delta": (B, H, n), "kda": (B, H, n, d)}[
        kind
    ]
    g = None if shape is None else round_to(-np.exp(rng.standard_normal(shape) - 2), dtype)
    full, beta = g, None
    if g is not None and g.ndim < 4:
        full = np.broadcast_to(g[:, None, None] if g.ndim == 1 else g[..., None], k.shape)
    if kind in DELTA:
        beta = round_to(rng.random((B, H, n)), dtype)
        k = round_to(k / np.linalg.norm(k, axis=-1, keepdims=True), dtype)
    return Tokens(q, k, v, full, beta), round_to(rng.standard_normal((B, H, d, 5)), "float32"), g


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [recurrent_linear_attention, chunked_linear_attention])
def test_right_arithmetic_stays_within_it(kind: str, kernel: object) -> None:
    worst = 0.0
    for seed in range(6):
        tokens, start, g = draw(kind, seed)
        out, state = oracle.linear_attention(*tokens.recur(), start)
        scale = tokens.key.shape[-1] ** -0.5
        bounds = recurrence_bound(tokens, start, out, scale=scale, dtype="float32", accumulate="input")
        q, k, v, s, gates, beta = (
            None if x is None else torch.tensor(x).float() for x in (*tokens[:3], start, g, tokens.beta)
        )
        got = kernel(q, k, v, log_decay=gates, beta=beta, initial_state=s, output_final_state=True)  # type: ignore[operator]
        off = [np.abs(x.double().numpy() - y) for x, y in zip(got, (out, state), strict=True)]
        worst = max(worst, (off[0] / bounds.out).max(), (off[1] / bounds.state).max())
    assert (0.01 if kind in DELTA else 0.08) < worst <= 1, worst


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_a_thousandth_leaves_it(kind: str) -> None:
    tokens, start, _ = draw(kind, 1)
    out, state = oracle.linear_attention(*tokens.recur(), start)
    scale = tokens.key.shape[-1] ** -0.5
    bounds = recurrence_bound(tokens, start, out, scale=scale, dtype="float32", accumulate="input")
    other = oracle.linear_attention(*tokens._replace(key=1.001 * tokens.key).recur(), start)
    assert (np.abs(other[0] - out) > bounds.out).any() and (np.abs(other[1] - state) > bounds.state).any()


def test_new_values_of_an_explicit_inverse_stay_within_it() -> None:
    """The inverse of the whole system in float32, which no block is as large as."""
    for seed in range(6):
        tokens, start, _ = draw("gated-delta", seed)
        out, _ = oracle.linear_attention(*tokens.recur(), start)
        q, k, v, g, beta, s = (x.astype(np.float32) for x in (*tokens[:5], start))  # type: ignore[union-attr]
        total = g[..., :1].cumsum(axis=2)
        n = k.shape[2]
        between = np.exp(np.where(np.tri(n, dtype=bool), total - total.swapaxes(-1, -2), -np.inf))
        met = np.tril(beta[..., None] * (k @ k.swapaxes(-1, -2)) * between, -1)
        inverse = np.linalg.inv(np.eye(n, dtype=np.float32) + met)
        new = inverse @ (beta[..., None] * (v - np.exp(total) * (k @ s)))
        scale = np.float32(k.shape[-1] ** -0.5)
        got = scale * ((q @ k.swapaxes(-1, -2) * between) @ new + np.exp(total) * (q @ s))
        bounds = recurrence_bound(tokens, start, out, scale=float(scale), dtype="float32", accumulate="input")
        assert (np.abs(got - out) <= bounds.out).all()


def doubling_sums(g: np.ndarray) -> np.ndarray:
    """Sums along the tokens as a parallel scan makes them."""
    step = 1
    while step < g.shape[-2]:
        g = np.concatenate([g[..., :step, :], g[..., step:, :] + g[..., :-step, :]], axis=-2)
        step *= 2
    return g


@pytest.mark.parametrize("sums", [doubling_sums, lambda g: g.cumsum(axis=-2, dtype=np.float32)])
@pytest.mark.parametrize("pace", [1.0, 8.0])
def test_one_block_of_all_tokens_stays_within_it(sums: Callable[[np.ndarray], np.ndarray], pace: float) -> None:
    """Every pair of tokens by the exponential of a difference of float32 sums, which are up to some hundred."""
    for seed in range(6):
        tokens, start, _ = draw("gla", seed)
        tokens = tokens._replace(log_decay=round_to(pace * np.asarray(tokens.log_decay), "float32"))
        out, _ = oracle.linear_attention(*tokens.recur(), start)
        q, k, v, g, s = (np.asarray(x, dtype=np.float32) for x in (*tokens[:4], start))
        total = sums(g)
        seen = np.tri(q.shape[2], dtype=bool)[..., None]
        gaps = np.where(seen, total[:, :, :, None] - total[:, :, None], -np.inf).astype(np.float32)
        scores = np.einsum("bhic,bhjc,bhijc->bhij", q, k, np.exp(gaps))
        scale = np.float32(q.shape[-1] ** -0.5)
        got = scale * (scores @ v + (q * np.exp(total)) @ s)
        bounds = recurrence_bound(tokens, start, out, scale=float(scale), dtype="float32", accumulate="input")
        assert (np.abs(got - out) <= bounds.out).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_in_bfloat16_after_every_operation_stays_within_it(kind: str) -> None:
    for seed in range(4):
        tokens, start, _ = draw(kind, seed, "bfloat16")
        decay = None if tokens.log_decay is None else torch.tensor(tokens.log_decay).bfloat16()
        tokens = tokens._replace(log_decay=None if decay is None else decay.double().numpy())
        out, _ = oracle.linear_attention(*tokens.recur(), start)
        scale = tokens.key.shape[-1] ** -0.5
        q, k, v, state = (torch.tensor(x).bfloat16() for x in (*tokens[:3], start))
        for t in range(q.shape[2]):
            state = state if decay is None else decay[:, :, t].exp()[..., None] * state
            new = v[:, :, t]
            if tokens.beta is not None:
                weight = torch.tensor(tokens.beta[:, :, t]).bfloat16()[..., None]
                new = weight * (new - (k[:, :, t, None] @ state)[:, :, 0])
            state = state + k[:, :, t, :, None] * new[:, :, None]
            got = (scale * (q[:, :, t, None] @ state))[:, :, 0].double().numpy()
            bounds = recurrence_bound(tokens, start, out, scale=scale, dtype="bfloat16", accumulate="input")
            assert (np.abs(got - out[:, :, t]) <= bounds.out[:, :, t]).all()


def test_roundings_that_leave_no_digit_charge_zeros_nothing() -> None:
    tokens = Tokens(np.ones((1, 1, 300, 2)), np.zeros((1, 1, 300, 2)), np.ones((1, 1, 300, 2)))
    out = np.zeros((1, 1, 300, 2))
    bounds = recurrence_bound(tokens, None, out, scale=1.0, dtype="bfloat16", accumulate="input")
    assert bounds.out.max() < 1e-30 and bounds.state.max() < 1e-30


def test_parts_and_length_widen_it() -> None:
    tokens, start, _ = draw("gla", 2)
    out, _ = oracle.linear_attention(*tokens.recur(), start)
    one, two = (
        recurrence_bound(tokens, start, out, scale=1.0, dtype="float32", accumulate="input", parts=parts)
        for parts in (1, 2)
    )
    assert (one.out <= two.out).all() and (one.state < two.state).all()
