"""The document of chosen keys and the truths that laws compare with hold together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core import oracle
from attention_core.conformance.budgets.indexer_bound import score_errors
from attention_core.conformance.subjects.indexed_subject import IndexedCall, find_pairs
from attention_core.conformance.subjects.indexer_subject import true_scores
from attention_core.conformance.subjects.tree_subject import TreeCall, find_ancestors, join_pairs
from tests.numeric.document_values import sides_of

DOCUMENT = "chosen_keys.md"


def problem(n_q: int, n_kv: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Query and key of size 2, value of width 1, one sequence and head."""
    rng = np.random.default_rng(n_q + n_kv)
    q, k, v = (rng.integers(-8, 9, (1, 1, n, d)) / 8 for n, d in ((n_q, 2), (n_kv, 2), (n_kv, 1)))
    return q, k, v


def require_sides(name: str, sizes: dict[str, int], given: dict[str, Any], want: float) -> None:
    """Both sides of a step are a number."""
    left, right = sides_of(DOCUMENT, name, sizes, given)
    np.testing.assert_allclose([left.item(), right.item()], want, rtol=1e-13)


def test_a_token_attends_to_the_context_and_its_ancestors() -> None:
    q, k, v = problem(4, 6)
    call = TreeCall(q, k, v, np.array([[-1, 0, 1, 0]]), np.array([2]))
    truth = oracle.attention(q, k, v, join_pairs(call, call.ancestors), scale=1.0)
    row, scores, values = 2, (q @ k.swapaxes(-1, -2))[0, 0, 2], v[0, 0, :, 0]
    others = np.array([j for j in range(4) if j != row])
    given = {"r": scores[:2], "x": values[:2], "t": scores[2 + row], "w": values[2 + row]}
    given |= {"s": scores[2 + others], "v": values[2 + others], "f": find_ancestors(call.parents)[0, row, others] * 1.0}
    require_sides("tree-path", {"m": 2, "n": 3}, given, float(truth.out[0, 0, row, 0]))


def test_a_chain_is_causal_attention() -> None:
    q, k, v = problem(3, 5)
    call = TreeCall(q, k, v, np.array([[-1, 0, 1]]), np.array([2]))
    out = oracle.attention(q, k, v, join_pairs(call, call.ancestors), scale=1.0).out
    causal = oracle.attention(q, k, v, oracle.causal_mask(3, 5, "bottom_right"), scale=1.0).out
    np.testing.assert_array_equal(out, causal)
    scores, values = (q @ k.swapaxes(-1, -2))[0, 0, 2], v[0, 0, :, 0]
    given = {"r": scores[:2], "x": values[:2], "s": scores[2:], "v": values[2:]}
    require_sides("chain", {"m": 2, "n": 3}, given, float(out[0, 0, 2, 0]))


def indexed(rows: list[int], n_kv: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], float]:
    """Scores and values of all keys, and the output of one query that names some of them."""
    q, k, v = problem(1, n_kv)
    call = IndexedCall(q, k, v, np.array(rows).reshape(1, 1, 1, -1))
    out = oracle.attention(q, k, v, find_pairs(call), scale=1.0).out
    return (q @ k.swapaxes(-1, -2))[0, 0, 0], v[0, 0, :, 0], float(out[0, 0, 0, 0])


def test_gathered_keys_are_those_of_a_mask_in_any_order() -> None:
    rows = [4, 0, 3]
    scores, values, out = indexed(rows, 6)
    others = [j for j in range(6) if j not in rows]
    named = {"r": scores[rows], "x": values[rows]}
    require_sides("gathered", {"m": 3, "n": 3}, {**named, "s": scores[others], "v": values[others]}, out)
    require_sides("any-order", {"m": 3}, named, out)


def test_a_key_that_is_named_twice_has_a_bias_of_log_2() -> None:
    scores, values, _ = indexed([0, 1], 2)
    q, k, v = problem(1, 2)
    bias = np.log([2.0, 3.0]).reshape(1, 1, 1, 2)
    out = float(oracle.attention(q, k, v, bias, scale=1.0).out[0, 0, 0, 0])
    given = {"r": scores[0], "x": values[0], "s": scores[1], "v": values[1]}
    require_sides("named-twice", {"c": 2, "d": 3}, given, out)


def test_a_pair_is_a_tie_where_errors_may_have_turned_it_round() -> None:
    q, k, w = np.array([[[[1.0], [-2.0]]]]), np.array([[[3.0], [-1.0]]]), np.array([[[0.5, 2.0]]])
    scores = true_scores(q, k, w)[0, 0]
    np.testing.assert_array_equal(scores, [1.5, 4.0])
    errors = score_errors(q, k, w, dtype="float32", accumulate="float32")[0, 0]
    given = {"s": scores[0], "t": scores[1], "e": errors[0], "f": -errors[1], "E": errors[0], "F": errors[1]}
    left, right = sides_of(DOCUMENT, "pairs", {}, given)
    assert left.item() == 2.5 > right.item() == errors.sum()  # so far apart that only one order is right
    left, right = sides_of(DOCUMENT, "explained", {}, given)
    assert (left.item(), right.item()) == (scores[1] - errors[1], scores[0] + errors[0])
    sizes = np.array([0.5 * 3.0, 2.0 * 6.0])
    given = {"m": sizes, "r": np.array([1.0, -1.0]) * 2.0**-20, "g": np.float64(2.0**-20)}
    left, right = sides_of(DOCUMENT, "score-error", {"H": 2}, given)
    assert left.item() <= right.item() == 2.0**-20 * sizes.sum()


def test_a_text_behind_the_last_one_lies_between_both() -> None:
    q, k, v = problem(1, 5)
    scores, values = (q @ k.swapaxes(-1, -2))[0, 0, 0], v[0, 0, :, 0]
    both, new = (
        float(oracle.attention(q, *x, scale=1.0).out[0, 0, 0, 0]) for x in ((k, v), (k[:, :, 2:], v[:, :, 2:]))
    )
    given = {"r": scores[:2], "x": values[:2], "s": scores[2:], "v": values[2:]}
    require_sides("appended", {"m": 2, "n": 3}, given, both - new)
