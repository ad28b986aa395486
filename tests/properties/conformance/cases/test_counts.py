"""Groups, counts and single tokens are drawn often enough, and only where a space has them."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.counts import count_many, share_heads, single_tokens


def test_groups_of_three_and_four_come_with_several_key_heads() -> None:
    rng, draw = np.random.default_rng(0), share_heads(share=0.5)
    drawn = [draw({"H_kv": 1, "group": 1}, rng) for _ in range(200)]
    assert {2, 3, 4, 8} <= {sizes["group"] for sizes in drawn}
    assert sum(sizes["group"] == 1 for sizes in drawn) in range(70, 131)
    assert all(sizes["H_kv"] > 1 for sizes in drawn if sizes["group"] > 1)


def test_many_heads_and_sequences_have_little_beside_them() -> None:
    rng, draw = np.random.default_rng(0), count_many(share=1.0)
    drawn = [draw({"B": 2, "H": 3, "n": 60, "d": 64, "d_v": 64, "page": 2}, rng) for _ in range(100)]
    assert all(max(sizes["B"], sizes["H"]) > 8 and min(sizes["B"], sizes["H"]) < 3 for sizes in drawn)
    assert max(sizes["B"] for sizes in drawn) > 64 and max(sizes["H"] for sizes in drawn) > 128
    assert all(sizes["n"] < 5 and sizes["d"] == sizes["d_v"] < 5 and sizes["page"] == 2 for sizes in drawn)


def test_single_tokens_leave_other_sizes() -> None:
    drawn = single_tokens(share=1.0)({"n_q": 4, "n_kv": 5, "d": 6}, np.random.default_rng(0))
    assert drawn == {"n_q": 1, "n_kv": 1, "d": 6}
    assert single_tokens(share=0.0)({"n": 4}, np.random.default_rng(0)) == {"n": 4}
