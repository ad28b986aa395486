"""Features of a case as a plain problem: the sets of keys, and the key that is a sink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import (
    NULLS,
    Features,
    draw_lengths,
    draw_sinks,
    draw_slopes,
    draw_softcap,
    draw_window,
    pose,
    visible,
)
from attention_core.declaration.features import FEATURES, PAIRS, WINDOW_KINDS, sides_of


def a_case(n_q: int = 3, n_kv: int = 5, **changes: Any) -> Case:
    """Two sequences of two heads."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-3, 4, (2, 2, n, 2)).astype(float) for n in (n_q, n_kv, n_kv))
    return Case("float32", q, k, v).with_(**changes)


def test_positions_of_short_sequences_are_counted_from_their_own_last_key() -> None:
    features = Features(window=(1, 0), key_lengths=np.array([5, 4]))
    first, second = visible(a_case(), features, "bottom_right")[:, 0].astype(int).tolist()
    assert first == [[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    assert second == [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]]
    top = visible(a_case(), features, "top_left")[:, 0].astype(int).tolist()
    assert top == 2 * [[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0]]]


def test_mask_causality_and_window_mean_all_of_them() -> None:
    case = a_case(mask=np.array([True, False, True, True, True]), is_causal=True)
    seen = visible(case, Features(window=(1, 3)), "top_left").reshape(-1, 5).astype(int).tolist()
    assert seen == [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]


def test_a_sink_is_a_key_of_its_score_without_a_value() -> None:
    posed = pose(a_case(), Features(sinks=np.array([1.0, -2.0])), "top_left")
    assert (
        posed.case.key.shape[-2] == 6
        and not posed.case.key[..., -1, :].any()
        and not posed.case.value[..., -1, :].any()
    )
    assert posed.case.mask is not None
    np.testing.assert_array_equal(posed.case.mask[..., -1], np.broadcast_to([[[1.0], [-2.0]]], (2, 2, 3)))


def test_distances_are_a_bias_that_the_target_computes() -> None:
    posed = pose(a_case(2, 3), Features(alibi_slopes=np.array([1.0, 0.5])), "top_left")
    assert posed.computed_bias and posed.case.mask is not None
    np.testing.assert_array_equal(posed.case.mask[0, 0], [[0, -1, -2], [-1, 0, -1]])
    np.testing.assert_array_equal(posed.case.mask[1, 1], [[0, -0.5, -1], [-0.5, 0, -0.5]])


@pytest.mark.parametrize("kind", WINDOW_KINDS)
def test_drawn_windows_are_of_their_kind(kind: str) -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_window(a_case(9, 9), kind, rng) for _ in range(50)]
    assert all(min(sides) >= 0 for sides in drawn) or kind == "sides" or "later" in kind
    if kind not in PAIRS:
        assert {*drawn} <= {sides_of(kind, width) for width in range(1, 9)}


def test_drawn_values_can_be_got_wrong() -> None:
    case, rng = a_case(), np.random.default_rng(0)
    lse = np.zeros((2, 2, 3))
    given: dict[str, Any] = {
        "window": draw_window(case, "sides", rng), "softcap": draw_softcap(case, rng), "sinks": draw_sinks(case, lse, rng),
        "alibi_slopes": draw_slopes(case, rng), "key_lengths": draw_lengths(case, rng),
    }  # fmt: skip
    assert given.keys() == {*FEATURES} == {*NULLS}
    for name, value in given.items():
        names = [wrong for wrong, _ in NULLS[name](Features(**{name: value}), "sides")]
        assert len(names) >= 2 and names[0].endswith("ignored")
    assert (given["key_lengths"] < 5).any() and given["softcap"] > 0
