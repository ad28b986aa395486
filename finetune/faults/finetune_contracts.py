"""Rows of the contracts that `finetune` adds: faults of its data, models, trainers, checkpoints, training
steps, measures of heads and adapters, and correct ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from attention_core.faults.row import Row, row
from finetune.faults import (
    adapter_faults,
    adapter_state_faults,
    adapters,
    causal_lm,
    checkpoints,
    measured_heads,
    pruned_heads,
    span_corruption,
    trainers,
    training_steps,
    vocabulary,
)
from finetune.faults.bases import causal_lm as language_models
from finetune.faults.bases import head_measures
from finetune.faults.bases import trainers as loops

DECLARED: Mapping[Any, dict[str, Any]] = {
    **causal_lm.DECLARED,
    **{target: loops.DECLARED.get(target.__name__, {}) for target in loops.CORRECT},
    span_corruption.InTheBlock: {"variant": "block"},
    span_corruption.WithAThirdMask: {"trailing_mask": True},
}
"""What some of them declare with `--parameter`."""


def of(target: Any, contract: str, *tags: str, expected: str = "refuted", prefix: str = "") -> Row:
    """A row of a class or function that is the target itself."""
    found = row(
        target, *tags, direct=True, expected=expected, prefix=prefix, contract=contract,
        parameters=DECLARED.get(target, {}),
    )  # fmt: skip
    return replace(found, make=repeatable(target))


def repeatable(target: Any) -> Callable[[], Any]:
    """The target, with Python's generator put back: the data sets draw from it, and no engine seeds it."""

    def make() -> Any:
        random.seed(0)
        return target

    return make


ROWS: tuple[Row, ...] = (
    *(of(made, "span-corruption", "law") for made in span_corruption.FAULTY),
    *(of(made, "vocabulary", "law") for made in vocabulary.FAULTY),
    *(of(made, "causal-lm", "law") for made in causal_lm.FAULTY),
    *(of(made, "trainer", "law") for made in trainers.FAULTY),
    *(of(made, "checkpoint", "law") for made in checkpoints.FAULTY),
    *(of(made, "training-step", "law") for made in training_steps.FAULTY),
    *(of(made, "head-importance", "law") for made in (*measured_heads.FAULTY, *pruned_heads.FAULTY)),
    *(of(made, "peft", "law") for made in adapter_faults.FAULTY),
    *(of(made, "peft", "law", prefix="adapter_faults") for made in adapter_state_faults.FAULTY),
)
CORRECT: tuple[Row, ...] = (
    *(of(made, "span-corruption", "odd", expected="conforms") for made in span_corruption.CORRECT),
    of(vocabulary.correct, "vocabulary", "odd", expected="conforms"),
    of(vocabulary.correct_with_a_dict, "vocabulary", "odd", expected="conforms"),
    *(of(made, "causal-lm", "odd", expected="conforms") for made in language_models.CORRECT),
    *(of(made, "trainer", "odd", expected="conforms") for made in loops.CORRECT),
    *(of(made, "checkpoint", "odd", expected="conforms") for made in checkpoints.CORRECT),
    *(of(made, "training-step", "odd", expected="conforms") for made in training_steps.CORRECT),
    *(of(made, "head-importance", "odd", expected="conforms") for made in head_measures.CORRECT),
    *(of(made, "peft", "odd", expected="conforms") for made in adapters.CORRECT),
)
