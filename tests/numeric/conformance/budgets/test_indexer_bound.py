"""The budget of an indexer's scores: no correct order of roundings is further off, and it is not much wider."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.indexer_bound import score_errors
from attention_core.conformance.subjects.indexer_subject import true_scores


@pytest.mark.parametrize(("dtype", "least"), [("float32", 0.02), ("bfloat16", 0.05), ("float16", 0.05)])
def test_scores_rounded_at_every_step_stay_within_the_budget(dtype: str, least: float) -> None:
    """Heads are added up one by one, and every intermediate is rounded to the dtype of the inputs."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(40):
        H, d = int(rng.integers(1, 9)), int(rng.integers(1, 17))
        q, k, w = (round_to(rng.standard_normal(s), dtype) for s in ((1, 3, H, d), (1, 20, d), (1, 3, H)))
        total = np.zeros((1, 3, 20))
        for h in range(H):
            product = round_to(np.einsum("bqd,bkd->bqk", q[:, :, h], k), dtype)
            total = round_to(total + round_to(w[:, :, h, None] * np.maximum(product, 0), dtype), dtype)
        errors = score_errors(q, k, w, dtype=dtype, accumulate="input")
        worst = max(worst, float((np.abs(total - true_scores(q, k, w)) / errors).max()))
    assert least < worst < 1


def test_what_stays_in_float32_has_a_narrower_budget() -> None:
    q, k, w = np.ones((1, 1, 2, 4)), np.ones((1, 3, 4)), np.ones((1, 1, 2))
    wide, narrow = (score_errors(q, k, w, dtype="bfloat16", accumulate=a) for a in ("input", "float32"))
    assert (narrow < wide / 1000).all()
    with pytest.raises(ValueError, match="accumulate must be"):
        score_errors(q, k, w, dtype="float32", accumulate="float64")
