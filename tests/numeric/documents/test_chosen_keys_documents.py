"""The document of chosen keys and the truths that laws compare with hold together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core import oracle
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
