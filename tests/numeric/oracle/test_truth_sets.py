"""Tests of masks and positions of attention_core.oracle.

The oracle's masks against their sets, pair by pair; its position formulas against balls.
Slopes and frequencies are compared with the published ones.
"""

from __future__ import annotations

import itertools
import math

import flint
import numpy as np
import pytest

from attention_core import oracle
from tests.numeric import ball_attention as balls
from tests.numeric.oracle_cases import U, gamma


@pytest.mark.parametrize(("n_q", "n_kv"), [(3, 5), (5, 3), (4, 4), (1, 4), (0, 2), (2, 0)])
def test_masks_are_the_sets_they_say(n_q: int, n_kv: int) -> None:
    pairs = list(itertools.product(range(n_q), range(n_kv)))

    def listed(mask: np.ndarray) -> list[tuple[int, int]]:
        assert mask.shape == (n_q, n_kv) and mask.dtype == bool
        return [(i, j) for i, j in pairs if mask[i, j]]

    for alignment, o in (("top_left", 0), ("bottom_right", n_kv - n_q)):
        assert listed(oracle.causal_mask(n_q, n_kv, alignment)) == [(i, j) for i, j in pairs if j <= i + o]
        for W in (0, 1, 2, 9):
            window = [(i, j) for i, j in pairs if i + o - W < j <= i + o]
            assert listed(oracle.sliding_window(n_q, n_kv, W, alignment)) == window
        for P in (0, 2, 9):
            wanted = [(i, j) for i, j in pairs if j < P or j <= i + o]
            assert listed(oracle.prefix(n_q, n_kv, P, alignment)) == wanted
        causal = oracle.allowed(n_q, n_kv, None, True, alignment)
        np.testing.assert_array_equal(causal, oracle.causal_mask(n_q, n_kv, alignment))
    lengths = [0, 2, n_kv]
    real = oracle.padding(n_q, n_kv, lengths)
    assert real.shape == (3, 1, n_q, n_kv)
    for b, length in enumerate(lengths):
        assert listed(real[b, 0]) == [(i, j) for i, j in pairs if j < length]
    ids = np.array([[0, 0, 1, 1, 2], [3, 4, 4, 4, 4]])
    same = oracle.segments(n_q, n_kv, ids)
    assert same.shape == (2, 1, n_q, n_kv)
    for b in range(2):
        assert listed(same[b, 0]) == [(i, j) for i, j in pairs if ids[b, i] == ids[b, j]]
    with pytest.raises(ValueError, match="alignment must be"):
        oracle.causal_mask(n_q, n_kv, "middle")


@pytest.mark.parametrize(("n_q", "n_kv"), [(2, 5), (5, 2)])
def test_the_first_query_faces_the_first_key_unless_told_otherwise(n_q: int, n_kv: int) -> None:
    first = "top_left"
    np.testing.assert_array_equal(oracle.causal_mask(n_q, n_kv), oracle.causal_mask(n_q, n_kv, first))
    np.testing.assert_array_equal(oracle.sliding_window(n_q, n_kv, 2), oracle.sliding_window(n_q, n_kv, 2, first))
    np.testing.assert_array_equal(oracle.prefix(n_q, n_kv, 1), oracle.prefix(n_q, n_kv, 1, first))
    np.testing.assert_array_equal(
        oracle.allowed(n_q, n_kv, is_causal=True), oracle.allowed(n_q, n_kv, None, True, first)
    )


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_the_allowed_pairs_are_those_of_mask_and_causality_together(alignment: str) -> None:
    n_q, n_kv, o = 2, 4, 2 if alignment == "bottom_right" else 0
    pairs = list(itertools.product(range(n_q), range(n_kv)))
    keep = np.array([[True, False, True, True], [False, True, True, False]])
    bias = np.where(keep, [[0.0, 0.0, -1e9, 3.0], [0.0, -1.0, 0.0, 0.0]], -np.inf)
    for mask, forbids in ((None, np.zeros_like(keep)), (keep, ~keep), (bias, ~keep), (keep.tolist(), ~keep)):
        for is_causal in (False, True):
            got = oracle.allowed(n_q, n_kv, mask, is_causal, alignment)
            assert got.dtype == bool and got.shape == (n_q, n_kv)
            assert all(got[i, j] == (not forbids[i, j] and (not is_causal or j <= i + o)) for i, j in pairs)
    assert oracle.allowed(2, 3).shape == (2, 3) and oracle.allowed(2, 3).all()  # all of them, causal only if asked
    # A mask that forbids nothing is no mask at all to the sums, which spares them a pass.
    assert oracle.masks.allowed_or_none(2, 4, np.ones((2, 4), dtype=bool), False, alignment) is None


def test_segments_take_the_query_at_its_position() -> None:
    ids = np.array([[0, 0, 1, 1, 2]])
    last = oracle.segments(2, 5, ids, "bottom_right")[0, 0]
    assert last.tolist() == [[False, False, True, True, False], [False, False, False, False, True]]
    assert oracle.segments(2, 4, ids)[0, 0].tolist() == [[True, True, False, False]] * 2


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
