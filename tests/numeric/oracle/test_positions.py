"""The oracle's position formulas against balls and published numbers."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest

from attention_core import oracle
from tests.numeric import ball_attention as balls
from tests.numeric.oracle_cases import U, gamma


def test_rotary_pairs_neighbours_by_default_and_takes_whole_numbers() -> None:
    x = np.arange(8).reshape(1, 2, 4)
    turned = oracle.rotary(x, [0, 3])
    assert turned.dtype == np.float64
    np.testing.assert_array_equal(turned, oracle.rotary(x * 1.0, [0, 3], pairing="interleaved"))
    np.testing.assert_array_equal(turned[0, 0], x[0, 0])
    assert not np.array_equal(turned, oracle.rotary(x, [0, 3], pairing="half"))
    assert oracle.rotary(np.ones((1, 1, 0)), [5]).shape == (1, 1, 0)
    np.testing.assert_array_equal(oracle.rotary(x * 1.0, np.float32([0, 3])), turned)
    assert oracle.rotary(np.ones((1, 1, 2), np.float32), [1]).dtype == np.float64


def test_slopes_beyond_a_power_of_two_are_every_second_of_twice_as_many_heads() -> None:
    for heads in (3, 5, 7, 15):
        power = 2 ** (heads.bit_length() - 1)
        wanted = [*oracle.alibi_slopes(power), *oracle.alibi_slopes(2 * power)[::2][: heads - power]]
        assert oracle.alibi_slopes(heads).tolist() == wanted


def test_alibi_slopes_are_the_published_ones() -> None:
    assert oracle.alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]  # 1/2 ... 1/256
    assert oracle.alibi_slopes(16)[::2].tolist() == [2.0 ** (-h - 0.5) for h in range(8)]
    # Twelve heads: those of eight, then every second of sixteen, as the paper's authors have it.
    assert oracle.alibi_slopes(12).tolist() == [*oracle.alibi_slopes(8), *oracle.alibi_slopes(16)[:8:2]]
    assert oracle.alibi_slopes(0).shape == (0,) and oracle.alibi_slopes(1).tolist() == [2.0**-8]


@pytest.mark.parametrize("position", [0, 1, 7, 1000, 2**20])
def test_position_formulas_lie_in_the_balls(position: int) -> None:
    flint.ctx.prec, d = balls.BITS, 6
    x = np.arange(1.0, 7.0)
    turned = {p: oracle.rotary(x[None, None], [position], pairing=p)[0, 0] for p in ("interleaved", "half")}
    table = oracle.sinusoidal(min(position, 1000) + 1, d)[-1]
    for pair in range(d // 2):
        frequency = flint.arb(10000) ** (flint.arb(-2 * pair) / d)
        for at, got in ((position, None), (min(position, 1000), table)):
            t = flint.arb(at) * frequency
            # The exponent -2c/d, the power and the product round: the angle is off by (log(base) + 3)u.
            slack = at * 10000.0 ** (-2 * pair / d) * gamma(math.log(10000.0) + 4) + 2 * U
            if got is not None:
                assert balls.distance(got[2 * pair], t.sin()) <= slack
                assert balls.distance(got[2 * pair + 1], t.cos()) <= slack
                continue
            for name, (a, b) in {"interleaved": (2 * pair, 2 * pair + 1), "half": (pair, pair + 3)}.items():
                u, w = flint.arb(x[a]), flint.arb(x[b])
                limit = (slack + 3 * U) * (x[a] + x[b])
                assert balls.distance(turned[name][a], u * t.cos() - w * t.sin()) <= limit
                assert balls.distance(turned[name][b], u * t.sin() + w * t.cos()) <= limit
    assert oracle.sinusoidal(3, 5).shape == (3, 5)
    np.testing.assert_array_equal(oracle.sinusoidal(1, 5)[0], [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="even head size"):
        oracle.rotary(np.ones((1, 2, 3)), [0, 1])
    with pytest.raises(ValueError, match="pairing must be"):
        oracle.rotary(np.ones((1, 2, 4)), [0, 1], pairing="other")
