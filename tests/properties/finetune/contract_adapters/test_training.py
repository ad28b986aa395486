"""Our own implementations, graded.

finetune.contract_adapters.training: our own models, trainer, checkpoints and masking conform to their contracts.
"""

from __future__ import annotations

from typing import Any

import pytest
from judging_contracts import conforming

from finetune.contract_adapters import training as graded


@pytest.mark.thorough(keep=("Vanilla",))
@pytest.mark.parametrize("model", [graded.Vanilla, graded.Synthesizer, graded.Rotary])
def test_our_models_conform(model: Any) -> None:
    results = conforming(model, "causal-lm", parameters={"ignore_index": 0})
    assert {law for law, r in results.items() if r.status != "held"} == {"tied_weights_are_one"}


def test_our_trainer_conforms() -> None:
    results = conforming(graded.trainer, "trainer")
    assert {r.status for r in results.values()} == {"held"}


def test_our_checkpoints_conform() -> None:
    results = conforming(graded.Interrupted, "checkpoint")
    silent = {"a_kill_in_the_midst_keeps_a_whole_one", "a_new_process_goes_on"}  # they need a process of its own
    assert {law for law, r in results.items() if r.status != "held"} == silent


def test_our_masking_conforms() -> None:
    results = conforming(graded.masking, "masked-lm")
    assert {law for law, r in results.items() if r.status != "held"} == {"the_attention_mask_is_that_of_the_text"}


@pytest.mark.parametrize(("model", "pool"), [(graded.first_token, "first"), (graded.mean_of_tokens, "mean")])
def test_our_classifiers_conform(model: Any, pool: str) -> None:
    results = conforming(model, "classifier", parameters={"pool": pool, "token_types": True, "dropout": True})
    silent = {"a_text_said_twice_has_the_same_mean"} if pool == "first" else set()
    assert {law for law, r in results.items() if r.status != "held"} == silent
