"""Power and false alarms of the law of the process, on the contracts of training code.

Training code leaves its process as it was, in every contract: what is right holds, what changes a setting is refuted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from judging import held, refuted

from attention_core.conformance.laws.process_state import SEEDED_BY_CONTRACT
from finetune.contract_adapters import training as graded
from finetune.faults import adapters, checkpoints, masked_lm, training_steps, vocabulary
from finetune.faults.bases import causal_lm, classifiers, head_measures, trainers

LAW = "a_call_leaves_the_process_as_it_was"
TARGETS: list[tuple[str, Any, str]] = [
    # contract, a correct target, its method that is spoiled ("" for a function)
    ("vocabulary", vocabulary.correct, ""),
    ("causal-lm", causal_lm.Plain, "forward"),
    ("classifier", classifiers.Plain, "forward"),
    ("checkpoint", checkpoints.Run, "train"),
    ("trainer", trainers.CORRECT[0], ""),
    ("training-step", training_steps.CORRECT[0], ""),
    ("peft", adapters.LowRank, "forward"),
    ("masked-lm", masked_lm.Plain, "run"),
    ("head-importance", head_measures.CORRECT[0], ""),
]


@pytest.fixture(autouse=True)
def own_filters() -> Iterator[None]:
    with warnings.catch_warnings():
        yield


def spoiled(target: Any, method: str, change: Callable[[], object]) -> Any:
    """The target, with something done at each call of it, or of one of its methods."""

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def changing(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            finally:
                change()

        return changing

    return type("Spoiled", (target,), {method: wrapped(getattr(target, method))}) if method else wrapped(target)


@pytest.mark.parametrize(("contract", "target", "method"), TARGETS, ids=[contract for contract, _, _ in TARGETS])
def test_what_changes_a_setting_is_refuted_and_what_is_right_holds(contract: str, target: Any, method: str) -> None:
    held(LAW, target, contract=contract)
    dtype = spoiled(target, method, lambda: torch.set_default_dtype(torch.bfloat16))
    assert "got torch.bfloat16" in refuted(LAW, dtype, "quick", contract=contract).message
    assert torch.get_default_dtype() == torch.float32
    seeding = spoiled(target, method, lambda: torch.manual_seed(0))
    if contract in SEEDED_BY_CONTRACT:  # given a seed, and free to put it there
        held(LAW, seeding, contract=contract)
    else:
        assert "generator of torch" in refuted(LAW, seeding, "quick", contract=contract).message


def test_our_training_step_leaves_its_process_as_it_was() -> None:
    held(LAW, graded.training_step, contract="training-step")
