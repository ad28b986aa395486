# finetune.graded: our own model behind the face of its contract conforms to it, in each form of attention.
"""Our own implementations, graded."""

from __future__ import annotations

from typing import Any

import pytest
from mutants.judging_contracts import conforming

from finetune import graded


@pytest.mark.parametrize("model", [graded.Vanilla, graded.Synthesizer, graded.Rotary])
def test_our_models_conform(model: Any) -> None:
    results = conforming(model, "causal-lm", parameters={"ignore_index": 0})
    assert {law for law, r in results.items() if r.status != "held"} == {"tied_weights_are_one"}
