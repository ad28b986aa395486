"""The truth of packed texts against attention under one dense mask of all texts."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle

LENGTHS = [(3, 3), (0, 2), (2, 5), (4, 1), (1, 0)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sides", [None, (1, 0), (0, 2), (-1, 1), (2, -1)])
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_texts_are_blocks_of_a_dense_mask(causal: bool, sides: tuple[int, int] | None, alignment: str) -> None:
    rng = np.random.default_rng(0)
    T_q, T_k = (sum(pair[i] for pair in LENGTHS) for i in (0, 1))
    q, k, v = rng.standard_normal((T_q, 4, 3)), rng.standard_normal((T_k, 2, 3)), rng.standard_normal((T_k, 2, 5))
    mask, row, column = np.zeros((T_q, T_k), dtype=bool), 0, 0
    for n_q, n_kv in LENGTHS:
        offset = n_kv - n_q if alignment == "bottom_right" else 0
        for i in range(n_q):
            for j in range(n_kv):
                gap = j - i - offset
                inside = sides is None or ((sides[0] < 0 or gap >= -sides[0]) and (sides[1] < 0 or gap <= sides[1]))
                mask[row + i, column + j] = inside and (gap <= 0 or not causal)
        row, column = row + n_q, column + n_kv
    dense = oracle.attention(*(x.swapaxes(0, 1)[None] for x in (q, k, v)), mask, scale=0.7)
    found = [
        oracle.attention(*one, oracle.text_mask(*sizes, is_causal=causal, sides=sides, alignment=alignment), scale=0.7)
        for one, sizes in zip(oracle.split_texts(q, k, v, LENGTHS), LENGTHS, strict=True)
    ]
    out = np.concatenate([t.out for t in found], axis=2)
    np.testing.assert_allclose(out, dense.out, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(np.concatenate([t.lse for t in found], axis=2), dense.lse, rtol=1e-13)


def test_rows_behind_the_last_text_are_not_read() -> None:
    x = np.full((3, 1, 1), np.nan)
    x[0] = 1.0
    (one,) = oracle.split_texts(x, x, x, [(1, 1)])
    assert oracle.attention(*one).out.tolist() == [[[[1.0]]]]


def test_no_mask_is_none() -> None:
    assert oracle.text_mask(2, 3) is None
    assert oracle.text_mask(1, 3, sides=(1, 0)).tolist() == [[False, True, True]]  # type: ignore[union-attr]
