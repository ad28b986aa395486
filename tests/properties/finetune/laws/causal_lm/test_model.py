"""The bound of a loss."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import Result
from attention_core.conformance.worker.exchange import Request
from finetune.laws.causal_lm.model import loss_bound, mean_loss


def test_the_bound_of_a_loss_holds_in_single_precision_and_is_below_any_fault() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        z = rng.normal(size=(2, 9, 17)).astype(np.float32) * rng.choice([0.1, 1, 30])
        y = rng.integers(0, 17, (2, 9))
        one = z - z.max(-1, keepdims=True)
        logs = one - np.log(np.exp(one).sum(-1, keepdims=True))
        got = -np.take_along_axis(logs, y[..., None], -1).mean(dtype=np.float32)
        result = Result(z.astype(float), Request(), extra={"dtype": "float32"})
        bound = loss_bound(result, result, y, -100)
        assert abs(float(got) - mean_loss(z.astype(float), y, -100)) < bound < 2e-3 * (1 + np.abs(z).max())
