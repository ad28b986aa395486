"""What relations between values draw, and which of two calls they show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from judging import judged

from attention_core.conformance.laws.value_relations import orthogonal
from attention_core.faults import value as faults
from attention_core.faults.bases.reference import correct


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 16, 17, 65])
def test_drawn_matrices_are_orthogonal_and_of_all_kinds(d: int) -> None:
    exact = 0
    for seed in range(12):
        u = orthogonal(d, np.random.default_rng(seed))
        # Householder QR: ||U^T U - 1|| is below d^2 roundoffs per entry; the exact kinds have none at all.
        assert np.abs(u.T @ u - np.eye(d)).max() <= 4 * d * d * 2.0**-53
        exact += bool(np.array_equal(u.T @ u, np.eye(d)))
    assert 0 < exact < 12 or d == 1


def test_of_two_calls_that_do_not_agree_the_wrong_one_is_shown() -> None:
    """Late values have no gradient: of [v; v] the second half is lost, and the single v is right."""
    result = judged("gradients_of_doubled_keys_add_up", faults.FAULTS["late_values_detached"](), shrink=True)
    assert result.counterexample is not None
    assert "two calls do not agree, and this one is wrong: got 0 at" in result.message
    space: dict[str, Any] = {}
    program = result.counterexample.snippet.replace("# put your implementation here:  attention = ...", "")
    exec(program, {"attention": correct, "__name__": "snippet"}, space)  # the same lines hold for what is right
    assert space["want"] != 0.0
