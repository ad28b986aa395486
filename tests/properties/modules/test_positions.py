"""attention_core.modules.positions: what each encoding promises, and its formula where numbers are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.modules.positions import LearnedPositions, alibi_bias, alibi_slopes, rotary, sinusoidal

SETTINGS = settings(deadline=None, max_examples=30)
U64, U32, U16 = (torch.finfo(t).eps / 2 for t in (torch.float64, torch.float32, torch.bfloat16))
PAIRING = st.sampled_from(["half", "interleaved"])


def angle_error(position: float) -> float:
    """Two float64 computations of position * base^(-2c/d) and its sine: the angle is off by a few roundings.

    The power has a relative error of at most 4 u times the size of its exponent's logarithm (ln 10^6 < 14),
    the product adds one, the sine of an angle off by e is off by at most e, plus its own rounding.
    """
    return 2 * (4 * 14 + 4) * U64 * (abs(position) + 1)


@SETTINGS
@given(st.integers(0, 7), st.integers(0, 7), st.sampled_from([10000.0, 500000.0]))
def test_sinusoidal_is_its_formula_entry_by_entry(n: int, d: int, base: float) -> None:
    table = sinusoidal(n, d, base, dtype=torch.float64)
    assert table.shape == (n, d)
    for t, c in np.ndindex(n, d):
        phase = t / math.pow(base, 2 * (c // 2) / d)
        expected = math.cos(phase) if c % 2 else math.sin(phase)
        assert abs(float(table[t, c]) - expected) <= angle_error(t), (t, c)
    rounded = sinusoidal(n, d, base)
    assert rounded.dtype == torch.float32
    assert torch.equal(rounded, table.float())
    assert torch.equal(rounded, sinusoidal(n + 3, d, base)[:n])  # a longer table begins with the shorter one


@SETTINGS
@given(st.integers(1, 5), st.integers(0, 50), st.integers(0, 50), st.integers(0, 1000))
def test_inner_products_of_the_table_depend_on_the_offset_alone(pairs: int, s: int, t: int, shift: int) -> None:
    """sum_c cos((s - t) w_c), whatever the shift: d terms, each off by the errors of two entries up to 1."""
    table = sinusoidal(s + t + shift + 1, 2 * pairs, dtype=torch.float64)
    here, there = table[s] @ table[t], table[s + shift] @ table[t + shift]
    assert abs(here - there) <= 2 * 2 * pairs * (2 * angle_error(s + t + shift) + 2 * pairs * U64)


def drawn_rotary(data: st.DataObject) -> tuple[torch.Tensor, torch.Tensor, Any]:
    H, n, pairs = data.draw(st.permutations([1, 2, 3, 5]))[:3]
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    x = torch.randn(2, H, n, 2 * pairs, generator=generator, dtype=torch.float64)
    positions = torch.randint(0, 200_000, (n,), generator=generator)
    return x, positions, data.draw(PAIRING)


@SETTINGS
@given(st.data(), st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_rotary_turns_each_pair_by_its_angle(data: st.DataObject, dtype: torch.dtype) -> None:
    """Against complex numbers: x_a + i x_b times e^(i t). Positions up to 200 000, in every dtype.

    Error: that of the angle, one rounding of cosine and sine and three of the rotation in the computing
    dtype, one of the result; each relative to |x_a| + |x_b|.
    """
    x, positions, pairing = drawn_rotary(data)
    x = x.to(dtype)
    y = rotary(x, positions, base=500.0, pairing=pairing)
    assert (y.dtype, y.shape) == (dtype, x.shape)
    d, u = x.shape[-1], U64 if dtype == torch.float64 else U32
    last = U16 if dtype == torch.bfloat16 else 0.0
    X, Y = x.double().numpy(), y.double().numpy()
    for i, t in enumerate(positions.tolist()):
        for c in range(d // 2):
            a, b = (2 * c, 2 * c + 1) if pairing == "interleaved" else (c, c + d // 2)
            phase = t / math.pow(500.0, 2 * c / d)
            turned = (X[..., i, a] + 1j * X[..., i, b]) * complex(math.cos(phase), math.sin(phase))
            size = np.abs(X[..., i, a]) + np.abs(X[..., i, b])
            limit = size * (angle_error(t) + 4 * u + last) * (1 + last)
            assert (np.abs(Y[..., i, a] - turned.real) <= limit).all()
            assert (np.abs(Y[..., i, b] - turned.imag) <= limit).all()


@SETTINGS
@given(st.data(), st.integers(0, 100_000))
def test_rotated_products_depend_on_the_offset_alone(data: st.DataObject, shift: int) -> None:
    """|q|.|k| times the errors of two angles and their roundings, for both sides of the comparison."""
    x, positions, pairing = drawn_rotary(data)
    q, k = x[:, :, :1], x.flip(0)[:, :, :1]
    s, t = positions[:1], positions[-1:] // 3
    here = (rotary(q, s, pairing=pairing) * rotary(k, t, pairing=pairing)).sum(-1)
    there = (rotary(q, s + shift, pairing=pairing) * rotary(k, t + shift, pairing=pairing)).sum(-1)
    far = float(s + t + 2 * shift)
    limit = 2 * (2 * angle_error(far) + (x.shape[-1] + 8) * U64)
    sizes = (q.abs() * k.abs()).sum(-1) + q.norm(dim=-1) * k.norm(dim=-1) * math.sqrt(x.shape[-1])
    assert ((here - there).abs() <= limit * 2 * sizes).all()


def test_rotary_at_zero_is_the_identity_and_the_input_stays() -> None:
    x = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
    before, positions = x.clone(), torch.zeros(5, dtype=torch.int64)
    for pairing in ("half", "interleaved"):
        assert torch.equal(rotary(x, positions, pairing=pairing), x)  # type: ignore[arg-type]
        rotary(x, positions + 7, pairing=pairing)  # type: ignore[arg-type]
    assert torch.equal(x, before)
    assert positions.tolist() == [0] * 5
    assert torch.equal(rotary(x, torch.arange(5))[..., :1, :], x[..., :1, :])
    batched = rotary(x, torch.stack([torch.arange(5), torch.arange(5) + 2])[:, None])
    assert torch.equal(batched[1], rotary(x[1], torch.arange(5) + 2))


def test_slopes_of_powers_of_two_and_between() -> None:
    """H = 8 from the paper's text; other numbers of heads: those of P heads, then every second of 2P."""
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert alibi_slopes(1).tolist() == [2.0**-8]
    assert alibi_slopes(2).tolist() == [2.0**-4, 2.0**-8]
    assert alibi_slopes(3).tolist() == [2.0**-4, 2.0**-8, 2.0**-2]
    assert alibi_slopes(6).tolist() == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    # 16 heads have the ratio 2^(-1/2); those of 12 = 8 + 4 are odd members of it, rounded once to float32.
    halves = [2.0**-h for h in range(1, 9)] + [2.0 ** (-h / 2) for h in (1, 3, 5, 7)]
    error = np.abs(alibi_slopes(12).double().numpy() - np.array(halves))
    assert (error <= U32 * np.array(halves) * (1 + 4 * U32)).all()


@SETTINGS
@given(st.integers(1, 9), st.integers(0, 6), st.integers(0, 6))
def test_alibi_penalises_distance_from_the_last_key(H: int, n_q: int, n_kv: int) -> None:
    """The slopes are float32 and distances are small whole numbers: one rounded product, compared exactly."""
    bias, slopes = alibi_bias(H, n_q, n_kv), alibi_slopes(H)
    assert bias.shape == (H, n_q, n_kv)
    for h, i, j in np.ndindex(H, n_q, n_kv):
        assert bias[h, i, j] == -slopes[h] * abs(i + n_kv - n_q - j)
    if 0 < n_q <= n_kv:
        assert torch.equal(bias, alibi_bias(H, n_kv, n_kv)[:, n_kv - n_q :])


def test_learned_positions_are_rows_of_the_table_and_learn() -> None:
    layer = LearnedPositions(7, 3)
    assert torch.equal(layer(2, start=4), layer.table[4:6])
    (gradient,) = torch.autograd.grad(layer(2, start=4).sum(), layer.table)
    assert gradient.sum(-1).tolist() == [0, 0, 0, 0, 3, 3, 0]


BAD_CALLS = [
    (lambda: LearnedPositions(7, 3)(8), "outside the table of 7"),
    (lambda: LearnedPositions(7, 3)(1, start=7), "outside the table of 7"),
    (lambda: LearnedPositions(7, 3)(1, start=-1), "outside the table"),
    (lambda: LearnedPositions(-1, 3), "must not be negative"),
    (lambda: sinusoidal(-1, 2), "must not be negative"),
    (lambda: sinusoidal(1, 2, base=0.0), "base must be positive"),
    (lambda: rotary(torch.zeros(2, 3), torch.arange(2)), "must be even, got 3"),
    (lambda: rotary(torch.zeros(2, 4), torch.arange(3)), "do not fit 2 tokens"),
    (lambda: rotary(torch.zeros(2, 4), torch.arange(2), pairing="pairs"), "pairing must be"),  # type: ignore[arg-type]
    (lambda: alibi_slopes(0), "at least one head"),
    (lambda: alibi_bias(1, -1, 2), "must not be negative"),
]


@pytest.mark.parametrize(("call", "words"), BAD_CALLS)
def test_bad_calls_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
